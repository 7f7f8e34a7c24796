/** The surface of the home: a fixed array of slots on the GPU, of which a message changes some. Each is drawn as a square
 * that covers its cube, so that walls stay closed up close. Points above the cut are not drawn, so that one looks into
 * rooms from above instead of onto ceilings; nor, in the past, are those that were first seen later. */

import { Box3, BufferAttribute, BufferGeometry, DynamicDrawUsage, Points, ShaderMaterial, Vector2, Vector3 } from "three";

import type { CloudPart } from "../net/cloud_message";

const VERTEX = /* glsl */ `
attribute vec4 paint;
attribute float first;
uniform float asOf;
uniform float voxel;
uniform float cut;
uniform float pixelsPerUnit;
varying vec3 ink;
void main() {
  vec4 seen = viewMatrix * vec4(position, 1.0);
  ink = paint.rgb;
  gl_Position = projectionMatrix * seen;
  gl_PointSize = clamp(voxel * 1.25 * pixelsPerUnit / -seen.z, 1.6, 96.0);
  if (paint.a == 0.0 || position.z > cut || first > asOf) gl_Position = vec4(2.0, 2.0, 2.0, 0.0);
}`;

const FRAGMENT = /* glsl */ `
varying vec3 ink;
void main() {
  // lit from above left: a square looks like the face of its cube and not like a sticker
  vec2 off = gl_PointCoord - 0.5;
  gl_FragColor = vec4(ink * (1.0 - 0.05 * (off.x + off.y)), 1.0);
}`;

/** later than any memory time */
const NOW = 1e30;
const SAMPLED = 8000;
const OUTLINE = 1500;
/** a line of sight: its radius in metres, how far before its end it stops, and which part of the points is asked */
const SIGHT_RADIUS = 0.22;
const SIGHT_END = 0.35;
const SIGHT_STRIDE = 3;

export class CloudLayer {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  /** height above the floor, in metres, over which nothing is drawn */
  cutHeight = 1.8;
  count = 0;

  private capacity = 0;
  private highest = 0;
  private positions = new Float32Array(0);
  private paints = new Uint8Array(0);
  private firsts = new Float32Array(0);
  private readonly uniforms = {
    voxel: { value: 0.04 },
    cut: { value: 100 },
    asOf: { value: NOW },
    pixelsPerUnit: { value: 800 },
  };

  constructor() {
    const material = new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: this.uniforms });
    this.points = new Points(new BufferGeometry(), material);
    this.points.frustumCulled = false;
  }

  take(part: CloudPart): void {
    if (part.capacity !== this.capacity) this.reserve(part.capacity);
    if (part.reset) this.clear();
    this.uniforms.voxel.value = part.voxel * Math.cbrt(part.decimation);
    let low = Infinity;
    let high = -1;
    part.slots.forEach((slot, index) => {
      this.positions.set(part.positions.subarray(index * 3, index * 3 + 3), slot * 3);
      const alpha = part.paints[index * 4 + 3] ?? 0;
      const before = this.paints[slot * 4 + 3] ?? 0;
      this.count += (alpha > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
      this.paints.set(part.paints.subarray(index * 4, index * 4 + 4), slot * 4);
      this.firsts[slot] = part.firsts[index] ?? 0;
      low = Math.min(low, slot);
      high = Math.max(high, slot);
    });
    if (high >= 0) {
      this.highest = Math.max(this.highest, high + 1);
      this.send("position", low * 3, (high - low + 1) * 3);
      this.send("paint", low * 4, (high - low + 1) * 4);
      this.send("first", low, high - low + 1);
    }
    this.points.geometry.setDrawRange(0, this.highest);
  }

  clear(): void {
    this.paints.fill(0);
    this.count = 0;
    this.highest = 0;
    this.send("paint", 0, this.paints.length);
    this.points.geometry.setDrawRange(0, 0);
  }

  /** The box that holds nearly all drawn points; the outermost hundredth is left out as stray. */
  bounds(): Box3 {
    const axes: number[][] = [[], [], []];
    const step = Math.max(1, Math.floor(this.highest / SAMPLED));
    for (let slot = 0; slot < this.highest; slot += step) {
      if (!this.paints[slot * 4 + 3]) continue;
      for (let axis = 0; axis < 3; axis++) axes[axis]?.push(this.positions[slot * 3 + axis] ?? 0);
    }
    const box = new Box3();
    if (!axes[0]?.length) return box;
    const part = (axis: number, share: number): number => {
      const values = axes[axis] ?? [];
      return values[Math.round(share * (values.length - 1))] ?? 0;
    };
    for (const values of axes) values.sort((a, b) => a - b);
    const floor = part(2, 0.01);
    box.min.set(part(0, 0.01), part(1, 0.01), floor);
    box.max.set(part(0, 0.99), part(1, 0.99), Math.min(part(2, 0.99), floor + this.cutHeight));
    return box;
  }

  /** Some drawn points within a box, spread over the whole cloud. */
  sample(box: Box3): Vector3[] {
    const points: Vector3[] = [];
    const step = Math.max(1, Math.floor(this.highest / OUTLINE));
    for (let slot = 0; slot < this.highest; slot += step) {
      if (!this.paints[slot * 4 + 3]) continue;
      const point = new Vector3().fromArray(this.positions, slot * 3);
      if (box.containsPoint(point)) points.push(point);
    }
    return points;
  }

  /** How many drawn points stand between an eye and what it looks at. */
  between(eye: Vector3, target: Vector3): number {
    const way = target.clone().sub(eye);
    const length = way.length();
    way.divideScalar(length);
    const [ex, ey, ez] = eye.toArray();
    let count = 0;
    for (let slot = 0; slot < this.highest; slot += SIGHT_STRIDE) {
      const z = this.positions[slot * 3 + 2] ?? 0;
      if (!this.paints[slot * 4 + 3] || z > this.uniforms.cut.value) continue;
      const dx = (this.positions[slot * 3] ?? 0) - ex;
      const dy = (this.positions[slot * 3 + 1] ?? 0) - ey;
      const dz = z - ez;
      const along = dx * way.x + dy * way.y + dz * way.z;
      if (along < 0 || along > length - SIGHT_END) continue;
      if (dx * dx + dy * dy + dz * dz - along * along < SIGHT_RADIUS ** 2) count++;
    }
    return count;
  }

  /** Show what had been seen at a memory time; null is now. Answers how many points that are. */
  travel(asOf: number | null): number {
    this.uniforms.asOf.value = asOf ?? NOW;
    if (asOf === null) return this.count;
    let shown = 0;
    for (let slot = 0; slot < this.highest; slot++) if (this.paints[slot * 4 + 3] && (this.firsts[slot] ?? 0) <= asOf) shown++;
    return shown;
  }

  cutAbove(floor: number): void {
    this.uniforms.cut.value = floor + this.cutHeight;
  }

  /** How many pixels one metre takes at one metre's distance. */
  fit(size: Vector2, fov: number, pixelRatio: number): void {
    this.uniforms.pixelsPerUnit.value = (size.y * pixelRatio) / (2 * Math.tan((fov * Math.PI) / 360));
  }

  private reserve(capacity: number): void {
    this.capacity = capacity;
    this.positions = new Float32Array(capacity * 3);
    this.paints = new Uint8Array(capacity * 4);
    this.firsts = new Float32Array(capacity);
    this.points.geometry.dispose();
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(this.positions, 3).setUsage(DynamicDrawUsage));
    geometry.setAttribute("paint", new BufferAttribute(this.paints, 4, true).setUsage(DynamicDrawUsage));
    geometry.setAttribute("first", new BufferAttribute(this.firsts, 1).setUsage(DynamicDrawUsage));
    this.points.geometry = geometry;
    this.highest = 0;
    this.count = 0;
  }

  private send(name: string, start: number, length: number): void {
    const attribute = this.points.geometry.getAttribute(name) as BufferAttribute | undefined;
    if (!attribute) return;
    attribute.addUpdateRange(start, length);
    attribute.needsUpdate = true;
  }
}
