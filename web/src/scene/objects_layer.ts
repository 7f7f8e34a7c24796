/** Every object's box in one draw call. A state shows by colour and by form: the fragment shader draws solid edges
 * and a fill for confirmed, dashed edges for tentative, hatching for stale, corners with a cross for missing. */

import {
  BoxGeometry,
  Color,
  DoubleSide,
  DynamicDrawUsage,
  FrontSide,
  GreaterDepth,
  Group,
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  LessEqualDepth,
  Mesh,
  Ray,
  ShaderMaterial,
} from "three";
import { Box3, Vector3 } from "three";

import type { Thing } from "../model";
import { STATES } from "../model";
import type { Palette } from "../theme";
import { DOT_PIXELS, Dots, type Rows, rowsFor } from "./dots";

const VERTEX = /* glsl */ `
attribute vec3 boxCentre;
attribute vec3 boxSize;
attribute vec3 look; // state, emphasis, presence
attribute float boxYaw;
varying vec2 onFace;
varying vec2 faceSize;
varying vec3 how;
void main() {
  vec3 n = abs(normal);
  faceSize = n.x > 0.5 ? boxSize.zy : (n.y > 0.5 ? boxSize.xz : boxSize.xy);
  onFace = uv * faceSize;
  how = look;
  vec3 corner = position * boxSize;
  float c = cos(boxYaw), s = sin(boxYaw);
  corner.xy = mat2(c, s, -s, c) * corner.xy;
  gl_Position = projectionMatrix * viewMatrix * vec4(boxCentre + corner, 1.0);
}`;

const FRAGMENT = /* glsl */ `
uniform vec3 inks[4];
uniform vec3 chosen;
uniform float veil;
uniform float unplaced;
varying vec2 onFace;
varying vec2 faceSize;
varying vec3 how;

float stripes(float along, float period, float share) {
  float cell = along / period;
  float soft = fwidth(cell);
  float saw = abs(fract(cell) - 0.5) * 2.0;
  return 1.0 - smoothstep(share - soft, share + soft, saw);
}

void main() {
  int state = int(how.x + 0.5);
  float emphasis = how.y;
  vec2 texel = max(fwidth(onFace), vec2(1e-6));
  vec2 inward = min(onFace, faceSize - onFace);
  vec2 pixels = inward / texel;
  float edgeAt = min(pixels.x, pixels.y);
  float width = mix(1.15, 2.4, emphasis);
  float edge = 1.0 - smoothstep(width - 0.5, width + 0.5, edgeAt);
  // dashes and hatching keep their size on the screen, in powers of two so that they do not swim
  float unit = exp2(floor(log2(max(texel.x, texel.y) * 11.0)));
  float along = pixels.x < pixels.y ? onFace.y : onFace.x;
  float fill = 0.0;
  if (state == 0) {
    fill = 0.09;
  } else if (state == 1) {
    edge *= stripes(along, unit, 0.55);
    fill = 0.02;
  } else if (state == 2) {
    fill = 0.05 + 0.26 * stripes(onFace.x + onFace.y, unit, 0.3);
    edge *= 0.85;
  } else {
    vec2 part = inward / faceSize;
    float alongPart = pixels.x < pixels.y ? part.y : part.x;
    edge *= 1.0 - smoothstep(0.26, 0.28, alongPart);
    vec2 unitFace = onFace / faceSize - 0.5;
    float slope = min(abs(unitFace.x - unitFace.y), abs(unitFace.x + unitFace.y));
    float cross = 1.0 - smoothstep(0.8, 1.8, slope / max(fwidth(unitFace.x) + fwidth(unitFace.y), 1e-5) * 1.6);
    fill = 0.03 + 0.5 * cross * step(max(abs(unitFace.x), abs(unitFace.y)), 0.3);
  }
  // where it is from here is not known: broken, faded edges that a box of a few pixels keeps too, hardly a fill
  edge *= mix(1.0, 0.3 + 0.7 * stripes(along, unit, 0.5), unplaced);
  fill *= mix(1.0, 0.35, unplaced);
  vec3 ink = mix(inks[state], chosen, emphasis * 0.75);
  fill *= mix(1.0, 1.7, emphasis);
  float alpha = max(edge * 0.95, fill) * how.z * veil * mix(1.0, 0.7, unplaced);
  if (alpha < 0.01) discard;
  gl_FragColor = vec4(ink, alpha);
  #include <colorspace_fragment>
}`;

const SMALLEST = 0.06;
/** how strongly a box is drawn: what was only glimpsed steps back, and what has no name farther */
const GLIMPSED = 0.6;
const NAMELESS = 0.45;
/** how strongly the rest is drawn where there are answers */
const ASIDE = 0.45;
/** objects up to which each is a box, twice where it stands behind walls; of more, those that are small on the screen are
 * dots */
const MOST_BOXES = 20_000;

export class ObjectsLayer {
  readonly group = new Group();
  things: readonly Thing[] = [];

  private readonly geometry = new InstancedBufferGeometry();
  private readonly front: ShaderMaterial;
  private readonly hidden: ShaderMaterial;
  private readonly inks = STATES.map(() => new Color());
  private readonly chosen = new Color();
  private readonly unplaced = { value: 0 };
  private readonly veiled: Mesh;
  private readonly dots = new Dots(this.inks);
  private rows: Rows = rowsFor(0);
  private room = 0;
  private boxes = 0;
  /** how the things were seen when they were last told apart; null after any of them changed */
  private arranged: { readonly eye: Vector3; readonly pixelsPerUnit: number } | null = null;
  private centres = new InstancedBufferAttribute(new Float32Array(0), 3);
  private sizes = new InstancedBufferAttribute(new Float32Array(0), 3);
  private yaws = new InstancedBufferAttribute(new Float32Array(0), 1);
  private looks = new InstancedBufferAttribute(new Float32Array(0), 3);

  constructor() {
    const box = new BoxGeometry(1, 1, 1);
    this.geometry.index = box.index;
    for (const name of ["position", "normal", "uv"] as const) this.geometry.setAttribute(name, box.getAttribute(name));
    this.geometry.instanceCount = 0;
    this.front = this.material(1);
    // what stands behind points is seen as through a veil instead of not at all
    this.hidden = this.material(0.14);
    this.hidden.depthFunc = GreaterDepth;
    this.hidden.side = FrontSide;
    this.veiled = new Mesh(this.geometry, this.hidden);
    for (const [order, mesh] of [this.veiled, new Mesh(this.geometry, this.front)].entries()) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 5 + order;
      this.group.add(mesh);
    }
    this.dots.points.renderOrder = 4;
    this.group.add(this.dots.points);
  }

  show(things: readonly Thing[]): void {
    this.things = things;
    if (things.length > this.rows.room) this.rows = rowsFor(things.length);
    const { centres, sizes, yaws, spans } = this.rows;
    things.forEach((thing, row) => {
      centres.set(thing.centre, row * 3);
      yaws[row] = thing.yaw;
      for (let axis = 0; axis < 3; axis++) sizes[row * 3 + axis] = Math.max(thing.size[axis] ?? 0, SMALLEST);
      spans[row] = Math.max(sizes[row * 3] ?? 0, sizes[row * 3 + 1] ?? 0, sizes[row * 3 + 2] ?? 0);
    });
    this.veiled.visible = !this.many;
    this.dots.show(this.many ? this.rows : null, things.length);
    this.draw();
  }

  /** Whether there are so many things that those far away are drawn as dots. */
  get many(): boolean {
    return this.things.length > MOST_BOXES;
  }

  /** The things that are drawn as boxes. */
  *drawn(): Iterable<Thing> {
    if (!this.many) yield* this.things;
    else for (let at = 0; at < this.boxes; at++) yield this.things[this.rows.chosen[at] ?? 0] as Thing;
  }

  /** Of very many things, draw as boxes those that are large enough from here to be seen as one. */
  arrange(eye: Vector3, pixelsPerUnit: number): void {
    if (!this.many || (this.arranged?.pixelsPerUnit === pixelsPerUnit && this.arranged.eye.equals(eye))) return;
    this.arranged = { eye: eye.clone(), pixelsPerUnit };
    this.dots.pixelsPerUnit = pixelsPerUnit;
    const { centres, spans, looks, chosen } = this.rows;
    const [x, y, z] = [eye.x, eye.y, eye.z];
    this.boxes = 0;
    for (let row = 0; row < this.things.length; row++) {
      const dx = (centres[row * 3] ?? 0) - x;
      const dy = (centres[row * 3 + 1] ?? 0) - y;
      const dz = (centres[row * 3 + 2] ?? 0) - z;
      const reach = ((spans[row] ?? 0) * pixelsPerUnit) / DOT_PIXELS;
      if (dx * dx + dy * dy + dz * dz > reach * reach && !looks[row * 3 + 1]) continue;
      chosen[this.boxes++] = row;
    }
    this.send();
  }

  private draw(): void {
    this.arranged = null;
    if (this.many) return;
    for (let row = 0; row < this.things.length; row++) this.rows.chosen[row] = row;
    this.boxes = this.things.length;
    this.send();
  }

  private send(): void {
    this.grow(this.boxes);
    const { chosen } = this.rows;
    for (const [attribute, all] of [
      [this.centres, this.rows.centres],
      [this.sizes, this.rows.sizes],
      [this.looks, this.rows.looks],
      [this.yaws, this.rows.yaws],
    ] as const) {
      const { itemSize } = attribute;
      const target = attribute.array as Float32Array;
      for (let at = 0; at < this.boxes; at++) {
        const from = (chosen[at] ?? 0) * itemSize;
        for (let part = 0; part < itemSize; part++) target[at * itemSize + part] = all[from + part] ?? 0;
      }
      attribute.clearUpdateRanges();
      attribute.addUpdateRange(0, this.boxes * itemSize);
      attribute.needsUpdate = true;
    }
    this.geometry.instanceCount = this.boxes;
  }

  /** Emphasis of one (selected) or some (hovered, answers); where there are answers, the rest steps back. */
  highlight(selected: string | null, hovered: string | null, answers: ReadonlySet<string>): void {
    const { looks } = this.rows;
    this.things.forEach((thing, row) => {
      const marked = thing.id === selected || answers.has(thing.id);
      looks[row * 3] = STATES.indexOf(thing.state);
      looks[row * 3 + 1] = thing.id === selected ? 1 : marked || thing.id === hovered ? 0.6 : 0;
      const seen = marked || thing.id === hovered || thing.state !== "tentative" ? 1 : thing.named ? GLIMPSED : GLIMPSED * NAMELESS;
      looks[row * 3 + 2] = seen * (answers.size > 0 && !marked ? ASIDE : 1);
    });
    this.dots.repaint();
    this.draw();
  }

  /** Whether it is known where these things are from where the robot is. */
  place(known: boolean): void {
    this.unplaced.value = known ? 0 : 1;
  }

  paint(palette: Palette): void {
    STATES.forEach((state, index) => this.inks[index]?.set(palette.states[state]));
    this.chosen.set(palette.chosen);
  }

  /** The thing under a ray; a small one wins over a large one that it stands in or on. */
  pick(ray: Ray): Thing | null {
    const box = new Box3();
    const point = new Vector3();
    const up = new Vector3(0, 0, 1);
    const turned = new Ray();
    let best: Thing | null = null;
    let bestCost = Infinity;
    const { spans } = this.rows;
    for (const [row, thing] of this.things.entries()) {
      const centre = new Vector3(...thing.centre);
      // a box lies within a ball
      if (ray.distanceSqToPoint(centre) > (spans[row] ?? 0) ** 2 * 0.75) continue;
      const size = thing.size.map((length) => Math.max(length, SMALLEST));
      // the ray as the box sees it
      turned.origin.copy(ray.origin).sub(centre).applyAxisAngle(up, -thing.yaw);
      turned.direction.copy(ray.direction).applyAxisAngle(up, -thing.yaw);
      box.setFromCenterAndSize(new Vector3(), new Vector3(...size));
      if (!turned.intersectBox(box, point)) continue;
      const cost = point.distanceTo(turned.origin) + Math.hypot(...size) * 1.5;
      if (cost < bestCost) {
        best = thing;
        bestCost = cost;
      }
    }
    return best;
  }

  private grow(count: number): void {
    if (count <= this.room) return;
    this.room = Math.max(64, 2 ** Math.ceil(Math.log2(count)));
    const fresh = (size: number): InstancedBufferAttribute => {
      const attribute = new InstancedBufferAttribute(new Float32Array(this.room * size), size);
      attribute.setUsage(DynamicDrawUsage);
      return attribute;
    };
    this.centres = fresh(3);
    this.sizes = fresh(3);
    this.yaws = fresh(1);
    this.looks = fresh(3);
    this.geometry.dispose();
    this.geometry.setAttribute("boxCentre", this.centres);
    this.geometry.setAttribute("boxSize", this.sizes);
    this.geometry.setAttribute("boxYaw", this.yaws);
    this.geometry.setAttribute("look", this.looks);
  }

  private material(veil: number): ShaderMaterial {
    return new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: { inks: { value: this.inks }, chosen: { value: this.chosen }, veil: { value: veil }, unplaced: this.unplaced },
      transparent: true,
      depthWrite: false,
      depthFunc: LessEqualDepth,
      side: DoubleSide,
    });
  }
}
