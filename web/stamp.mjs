// Writes down which sources the build was made from: a Python test compares, so that a stale build is noticed
// without node. The recipe must stay the same as in tests/server/test_viewer_build.py.
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;
const target = join(here, "../src/lastseen/server/viewer");
const ignored = new Set(["node_modules"]);

function sources(folder, prefix = "") {
  return readdirSync(folder)
    .filter((name) => !ignored.has(name))
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? sources(path, `${prefix}${name}/`) : [`${prefix}${name}`];
    });
}

const digest = createHash("sha256");
for (const name of sources(here).sort()) {
  digest.update(`${name}\0`);
  digest.update(createHash("sha256").update(readFileSync(join(here, name))).digest());
}
writeFileSync(join(target, "BUILD"), `${digest.digest("hex")}\n`);
copyFileSync(join(here, "node_modules/three/LICENSE"), join(target, "THREE-LICENSE.txt"));
