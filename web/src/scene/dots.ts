/** Things that are a few pixels large from where one looks, each a dot of its state's colour: a box of a hundred thousand
 * is twelve triangles that nobody can tell apart. */

import { BufferAttribute, BufferGeometry, type Color, DynamicDrawUsage, Points, ShaderMaterial } from "three";

/** pixels across from which a thing is drawn as a box */
export const DOT_PIXELS = 4;

/** All things as columns; ``spans`` is the longest side of each, and ``chosen`` the rows that are drawn as boxes. */
export interface Rows {
  readonly room: number;
  readonly centres: Float32Array;
  readonly sizes: Float32Array;
  readonly yaws: Float32Array;
  readonly looks: Float32Array;
  readonly spans: Float32Array;
  readonly chosen: Uint32Array;
}

export function rowsFor(count: number): Rows {
  const room = Math.max(64, 2 ** Math.ceil(Math.log2(Math.max(count, 1))));
  const fresh = (size: number): Float32Array => new Float32Array(room * size);
  return { room, centres: fresh(3), sizes: fresh(3), yaws: fresh(1), looks: fresh(3), spans: fresh(1), chosen: new Uint32Array(room) };
}

const VERTEX = /* glsl */ `
attribute vec3 look; // state, emphasis, presence
attribute float span;
uniform vec3 inks[4];
uniform float pixelsPerUnit;
uniform float boxPixels;
varying vec4 ink;
void main() {
  float pixels = span * pixelsPerUnit / max(distance(cameraPosition, position), 1e-3);
  ink = vec4(inks[int(look.x + 0.5)], 0.85 * look.z);
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  gl_PointSize = max(pixels, 1.5);
  // what is drawn as a box is no dot
  if (pixels >= boxPixels || look.y > 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 0.0);
}`;

const FRAGMENT = /* glsl */ `
varying vec4 ink;
void main() {
  gl_FragColor = ink;
  #include <colorspace_fragment>
}`;

export class Dots {
  readonly points: Points<BufferGeometry, ShaderMaterial>;

  constructor(inks: readonly Color[]) {
    const uniforms = { inks: { value: inks }, pixelsPerUnit: { value: 800 }, boxPixels: { value: DOT_PIXELS } };
    this.points = new Points(
      new BufferGeometry(),
      new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms, transparent: true, depthWrite: false }),
    );
    this.points.frustumCulled = false;
    this.points.visible = false;
  }

  set pixelsPerUnit(value: number) {
    const uniform = this.points.material.uniforms["pixelsPerUnit"];
    if (uniform) uniform.value = value;
  }

  /** Take the columns of so many things; null: none is a dot. */
  show(rows: Rows | null, count: number): void {
    this.points.visible = rows !== null;
    if (!rows) return;
    const { geometry } = this.points;
    if (geometry.getAttribute("position")?.array !== rows.centres) {
      geometry.dispose();
      for (const [name, array, size] of [["position", rows.centres, 3], ["look", rows.looks, 3], ["span", rows.spans, 1]] as const) {
        geometry.setAttribute(name, new BufferAttribute(array, size).setUsage(DynamicDrawUsage));
      }
    }
    for (const name of ["position", "span"]) this.renew(name);
    geometry.setDrawRange(0, count);
  }

  /** Take the looks that the columns have now. */
  repaint(): void {
    if (this.points.visible) this.renew("look");
  }

  private renew(name: string): void {
    (this.points.geometry.getAttribute(name) as BufferAttribute).needsUpdate = true;
  }
}
