/** The surface of the home: a fixed array of slots on the GPU, of which a message changes some. It is drawn as a shaded mesh
 * (surface_mesh.ts), and what is too sparse for one as small discs that lie as the surface does. What is above the cut is
 * not drawn, so that one looks into rooms from above instead of onto ceilings; nor, in the past, what was first seen later. */

import { Box3, BufferAttribute, BufferGeometry, DoubleSide, DynamicDrawUsage, Group, Mesh, Points, ShaderMaterial, Vector2, Vector3 } from "three";

import type { CloudPart } from "../net/cloud_message";
import { OWNED, SurfaceMesh } from "./surface_mesh";

const LIGHT = /* glsl */ `
// cameras see colours that are lit already: light from one side and from above only tells faces apart
vec3 lit(vec3 ink, vec3 normal, vec3 eye) {
  // how a point lies is known once it is joined to its neighbours: until then it is lit like a floor
  vec3 n = dot(normal, normal) > 0.0 ? normalize(normal) : vec3(0.0, 0.0, 1.0);
  if (dot(n, eye) < 0.0) n = -n;
  float light = 0.80 + 0.14 * dot(n, normalize(vec3(0.35, -0.55, 0.75))) + 0.12 * max(n.z, 0.0);
  return ink * light;
}`;

const MESH_VERTEX = /* glsl */ `
attribute vec4 paint;
attribute vec3 direction;
attribute float first;
uniform float asOf;
varying vec3 ink;
varying vec3 facing;
varying vec3 at;
varying float shown;
void main() {
  ink = paint.rgb;
  facing = direction;
  at = position;
  shown = paint.a == 0.0 || first > asOf ? 0.0 : 1.0;
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
}`;

const MESH_FRAGMENT = /* glsl */ `
uniform float cut;
varying vec3 ink;
varying vec3 facing;
varying vec3 at;
varying float shown;
${LIGHT}
void main() {
  if (shown < 0.99 || at.z > cut) discard;
  gl_FragColor = vec4(lit(ink, facing, cameraPosition - at), 1.0);
}`;

const DISC_VERTEX = /* glsl */ `
attribute vec4 paint;
attribute vec3 direction;
attribute float first;
attribute float bare;
uniform float asOf;
uniform float voxel;
uniform float cut;
uniform float pixelsPerUnit;
varying vec3 ink;
varying vec3 lies;
${LIGHT}
void main() {
  vec4 seen = viewMatrix * vec4(position, 1.0);
  ink = lit(paint.rgb, direction, cameraPosition - position);
  lies = dot(direction, direction) > 0.0 ? mat3(viewMatrix) * direction : vec3(0.0, 0.0, 1.0);
  gl_Position = projectionMatrix * seen;
  gl_PointSize = clamp(voxel * 1.5 * pixelsPerUnit / -seen.z, 1.6, 96.0);
  if (bare == 0.0 || paint.a == 0.0 || position.z > cut || first > asOf) gl_Position = vec4(2.0, 2.0, 2.0, 0.0);
}`;

const DISC_FRAGMENT = /* glsl */ `
varying vec3 ink;
varying vec3 lies;
void main() {
  vec2 off = vec2(gl_PointCoord.x - 0.5, 0.5 - gl_PointCoord.y) * 2.0;
  float deep = dot(lies.xy, off) / max(abs(lies.z), 0.35);
  if (dot(off, off) + deep * deep > 1.0) discard;
  gl_FragColor = vec4(ink, 1.0);
}`;

/** later than any memory time */
const NOW = 1e30;
const SAMPLED = 8000;
const OUTLINE = 1500;
/** a line of sight: its radius in metres, how far before its end it stops, and which part of the points is asked */
const SIGHT_RADIUS = 0.22;
const SIGHT_END = 0.35;
const SIGHT_STRIDE = 3;
/** cubes on a line of sight from which it is blocked: one alone may be a stray point */
const SOLID = 2;
/** milliseconds in which patches are made between two frames: at least the first, and where frames are slow as long as
 * a frame takes, but never so long that a hand waits for it; a first load is done in seconds there too */
const MESHING = { least: 10, most: 150 } as const;

export class CloudLayer {
  readonly group = new Group();
  /** height above the floor, in metres, over which nothing is drawn */
  cutHeight = 1.8;
  count = 0;

  private capacity = 0;
  private highest = 0;
  private positions = new Float32Array(0);
  private paints = new Uint8Array(0);
  private firsts = new Float32Array(0);
  private surface = new SurfaceMesh(0, this.positions);
  private loading = false;
  private readonly mesh: Mesh<BufferGeometry, ShaderMaterial>;
  private readonly discs: Points<BufferGeometry, ShaderMaterial>;
  private readonly uniforms = {
    voxel: { value: 0.04 },
    cut: { value: 100 },
    asOf: { value: NOW },
    pixelsPerUnit: { value: 800 },
  };

  constructor() {
    const { uniforms } = this;
    this.mesh = new Mesh(new BufferGeometry(), new ShaderMaterial({ vertexShader: MESH_VERTEX, fragmentShader: MESH_FRAGMENT, uniforms, side: DoubleSide }));
    this.discs = new Points(new BufferGeometry(), new ShaderMaterial({ vertexShader: DISC_VERTEX, fragmentShader: DISC_FRAGMENT, uniforms }));
    for (const part of [this.mesh, this.discs]) part.frustumCulled = false;
    this.group.add(this.mesh, this.discs);
  }

  /** How many points still wait to be joined. */
  get waiting(): number {
    return this.surface.waiting;
  }

  take(part: CloudPart): void {
    if (part.capacity !== this.capacity) this.reserve(part.capacity);
    this.uniforms.voxel.value = part.voxel * Math.cbrt(part.decimation);
    if (part.reset) {
      this.clear();
      this.loading = true;
    }
    let low = Infinity;
    let high = -1;
    part.slots.forEach((slot, index) => {
      this.positions.set(part.positions.subarray(index * 3, index * 3 + 3), slot * 3);
      const alpha = part.paints[index * 4 + 3] ?? 0;
      const before = this.paints[slot * 4 + 3] ?? 0;
      this.count += (alpha > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
      this.paints.set(part.paints.subarray(index * 4, index * 4 + 4), slot * 4);
      this.firsts[slot] = part.firsts[index] ?? 0;
      this.surface.change(slot, alpha > 0, this.loading);
      low = Math.min(low, slot);
      high = Math.max(high, slot);
    });
    if (high >= 0) {
      this.highest = Math.max(this.highest, high + 1);
      this.send("position", low * 3, (high - low + 1) * 3);
      this.send("paint", low * 4, (high - low + 1) * 4);
      this.send("first", low, high - low + 1);
    }
    this.loading &&= part.more;
    const torn = this.surface.tearMoved(this.highest);
    if (torn) this.sendIndex(...torn);
    this.drawUpTo(this.highest);
  }

  /** Join some of the points that changed, ``cost`` being the seconds of a frame; answers whether more are to be joined. */
  advance(cost: number): boolean {
    // a first load is joined once it is whole: half of it would be joined twice
    if (this.loading) return false;
    const changed = this.surface.advance(Math.min(Math.max(cost * 1000, MESHING.least), MESHING.most));
    if (!changed) return false;
    const [low, high] = changed;
    this.send("position", low * 3, (high - low + 1) * 3);
    this.send("direction", low * 3, (high - low + 1) * 3);
    this.send("bare", low, high - low + 1);
    this.sendIndex(low, high);
    return this.surface.waiting > 0;
  }

  /** When something was first seen in a box from low to high; null where nothing is. */
  firstSeenWithin(low: Vector3, high: Vector3): number | null {
    const step = this.uniforms.voxel.value;
    let earliest: number | null = null;
    for (let x = low.x; x <= high.x; x += step) {
      for (let y = low.y; y <= high.y; y += step) {
        for (let z = low.z; z <= high.z; z += 2 * step) {
          const slot = this.surface.slotAt(x, y, z);
          if (slot >= 0) earliest = Math.min(earliest ?? Infinity, this.firsts[slot] ?? 0);
        }
      }
    }
    return earliest;
  }

  /** How much of a standing face was seen, 0 to 1: the face goes from one spot on the floor to another, ``across`` is how
   * thick it may be, and it reaches from one height to another. */
  shareSeen(from: Vector2, to: Vector2, across: number, low: number, high: number): number {
    const step = this.uniforms.voxel.value;
    const along = to.clone().sub(from);
    const side = new Vector2(-along.y, along.x).setLength(1);
    const steps = Math.max(1, Math.round(along.length() / step));
    const aside = Math.ceil((across / 2 + step) / step);
    let cells = 0;
    let filled = 0;
    for (let at = 0.5; at < steps; at++) {
      const x = from.x + (along.x * at) / steps;
      const y = from.y + (along.y * at) / steps;
      for (let z = low; z < high; z += 2 * step) {
        cells++;
        for (let off = -aside; off <= aside; off++) {
          if (this.surface.slotAt(x + side.x * off * step, y + side.y * off * step, z) < 0) continue;
          filled++;
          break;
        }
      }
    }
    return cells ? filled / cells : 0;
  }

  clear(): void {
    this.paints.fill(0);
    this.count = 0;
    this.highest = 0;
    this.surface.clear(this.uniforms.voxel.value);
    this.send("paint", 0, this.paints.length);
    this.drawUpTo(0);
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

  /** Whether something that is drawn stands between an eye and a spot; what is within ``near`` of the spot is its own. */
  hides(eye: Vector3, spot: Vector3, near: number): boolean {
    const way = spot.clone().sub(eye);
    const length = way.length();
    way.divideScalar(length);
    const { cut, asOf, voxel } = this.uniforms;
    // above the cut nothing is drawn
    const begin = eye.z > cut.value && way.z < 0 ? (cut.value - eye.z) / way.z : 0;
    let met = 0;
    for (let along = begin; along < length - near; along += voxel.value) {
      const slot = this.surface.slotAt(eye.x + way.x * along, eye.y + way.y * along, eye.z + way.z * along);
      if (slot >= 0 && (this.firsts[slot] ?? 0) <= asOf.value && ++met >= SOLID) return true;
    }
    return false;
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

  /** How many pixels one metre takes at one metre's distance: taken over, and answered. */
  fit(size: Vector2, fov: number, pixelRatio: number): number {
    const pixels = (size.y * pixelRatio) / (2 * Math.tan((fov * Math.PI) / 360));
    this.uniforms.pixelsPerUnit.value = pixels;
    return pixels;
  }

  private reserve(capacity: number): void {
    this.capacity = capacity;
    this.positions = new Float32Array(capacity * 3);
    this.paints = new Uint8Array(capacity * 4);
    this.firsts = new Float32Array(capacity);
    this.surface = new SurfaceMesh(capacity, this.positions);
    this.surface.clear(this.uniforms.voxel.value);
    this.mesh.geometry.dispose();
    this.discs.geometry.dispose();
    const attributes = {
      position: new BufferAttribute(this.surface.drawn, 3),
      direction: new BufferAttribute(this.surface.normals, 3),
      paint: new BufferAttribute(this.paints, 4, true),
      first: new BufferAttribute(this.firsts, 1),
      bare: new BufferAttribute(this.surface.bare, 1),
    };
    this.mesh.geometry = new BufferGeometry();
    this.discs.geometry = new BufferGeometry();
    for (const [name, attribute] of Object.entries(attributes)) {
      attribute.setUsage(DynamicDrawUsage);
      this.mesh.geometry.setAttribute(name, attribute);
      this.discs.geometry.setAttribute(name, attribute);
    }
    this.mesh.geometry.setIndex(new BufferAttribute(this.surface.index, 1).setUsage(DynamicDrawUsage));
    this.highest = 0;
    this.count = 0;
  }

  private drawUpTo(slots: number): void {
    this.discs.geometry.setDrawRange(0, slots);
    this.mesh.geometry.setDrawRange(0, slots * OWNED);
  }

  private sendIndex(low: number, high: number): void {
    const index = this.mesh.geometry.index;
    if (!index) return;
    index.addUpdateRange(low * OWNED, (high - low + 1) * OWNED);
    index.needsUpdate = true;
  }

  private send(name: string, start: number, length: number): void {
    const attribute = this.mesh.geometry.getAttribute(name) as BufferAttribute | undefined;
    if (!attribute) return;
    attribute.addUpdateRange(start, length);
    attribute.needsUpdate = true;
  }
}
