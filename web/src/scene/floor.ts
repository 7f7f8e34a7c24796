/** A floor of fine lines that fades into the distance: it gives scale (one square is one metre) and a horizon. */

import { Box3, Color, Mesh, PlaneGeometry, ShaderMaterial, Vector2, Vector3 } from "three";

import type { Palette } from "../theme";

const VERTEX = /* glsl */ `
varying vec2 at;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  at = world.xy;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const FRAGMENT = /* glsl */ `
uniform vec3 ink;
uniform float strength;
uniform vec2 middle;
varying vec2 at;
float lines(float step) {
  vec2 cell = at / step;
  vec2 near = abs(fract(cell - 0.5) - 0.5) / fwidth(cell);
  float blur = max(fwidth(cell).x, fwidth(cell).y);
  return (1.0 - min(min(near.x, near.y), 1.0)) * (1.0 - smoothstep(0.25, 0.6, blur));
}
void main() {
  float fade = 1.0 - smoothstep(8.0, 36.0, length(at - middle));
  float alpha = max(lines(1.0) * 0.45, lines(5.0)) * fade * strength;
  if (alpha < 0.004) discard;
  gl_FragColor = vec4(ink, alpha);
  #include <colorspace_fragment>
}`;

export class Floor {
  readonly mesh: Mesh<PlaneGeometry, ShaderMaterial>;
  private readonly middle = new Vector2();

  constructor() {
    const material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: { ink: { value: new Color() }, strength: { value: 0.5 }, middle: { value: this.middle } },
      transparent: true,
      depthWrite: false,
    });
    this.mesh = new Mesh(new PlaneGeometry(160, 160), material);
    this.mesh.renderOrder = -10;
    this.lieUnder(new Box3(new Vector3(), new Vector3()));
  }

  /** A finger's breadth of air below the lowest point keeps lines and points from fighting for the same depth. */
  lieUnder(home: Box3): void {
    const centre = home.getCenter(new Vector3());
    this.middle.set(centre.x, centre.y);
    this.mesh.position.set(centre.x, centre.y, home.min.z - 0.04);
  }

  paint(palette: Palette): void {
    const { ink, strength } = this.mesh.material.uniforms;
    if (ink) (ink.value as Color).set(palette.grid);
    if (strength) strength.value = palette.gridStrength;
  }
}
