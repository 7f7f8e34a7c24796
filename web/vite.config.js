// The build is part of the Python package, so that installing it needs no node. Relative addresses let the server
// mount it anywhere; no source maps and no inlined assets, so that the page's content policy stays strict.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  publicDir: "public",
  build: {
    outDir: "../src/lastseen/server/viewer",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: "three", test: /node_modules[\\/]three/ }] },
      },
    },
  },
});
