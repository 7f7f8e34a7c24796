/** The floor plan under the home: the floor of each room, walls up to the cut, and the thresholds of doors. It closes what
 * cameras have not seen of a wall or a floor. A wall of which little was seen may be the side of a table: it is drawn as a low
 * edge. In the past only walls are shown of which something had been seen by then. */

import {
  BoxGeometry,
  Color,
  Group,
  InstancedMesh,
  LinearSRGBColorSpace,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  ShaderMaterial,
  Shape,
  ShapeGeometry,
  Vector2,
  Vector3,
} from "three";

import type { FloorPlan, Place, Segment } from "../model";
import type { Palette } from "../theme";

// drawn as if it stood a little farther away: the seen surface of a wall, in its own colours, always lies before it
const WALL_VERTEX = /* glsl */ `
varying vec3 facing;
void main() {
  facing = normalize(mat3(instanceMatrix) * normal);
  vec4 seen = viewMatrix * modelMatrix * instanceMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * seen;
  vec4 farther = projectionMatrix * vec4(seen.xyz * (1.0 + 0.3 / length(seen.xyz)), 1.0);
  gl_Position.z = farther.z / farther.w * gl_Position.w;
}`;

const WALL_FRAGMENT = /* glsl */ `
uniform vec3 ink;
varying vec3 facing;
void main() {
  gl_FragColor = vec4(ink * (0.72 + 0.12 * dot(facing, normalize(vec3(0.35, -0.55, 0.75))) + 0.2 * max(facing.z, 0.0)), 1.0);
  #include <colorspace_fragment>
}`;

/** walls are cut into pieces this long, in metres, so that the past can show those that had been seen */
const PIECE = 0.5;
const THRESHOLD = 0.1;
/** metres above the floor between which a wall must have been seen, which share of it, and how high anything else is drawn */
const SEEN_FROM = 0.7;
const SEEN_TO = 1.7;
const SEEN_SHARE = 0.3;
const EDGE = 0.08;
/** metres below the home's lowest points, so that what was seen lies on top */
const UNDER = 0.015;
/** how much of its place's colour a floor has */
const TINT = 0.1;
const UP = new Vector3(0, 0, 1);

interface Piece {
  readonly middle: Vector2;
  readonly length: number;
  readonly across: number;
  readonly angle: number;
  readonly base: number;
  first: number;
  /** whether enough of it was seen to draw it to its full height */
  tall: boolean;
}

export class PlanLayer {
  readonly group = new Group();

  private readonly wall = new ShaderMaterial({ vertexShader: WALL_VERTEX, fragmentShader: WALL_FRAGMENT, uniforms: { ink: { value: new Color() } } });
  private readonly door = new MeshBasicMaterial();
  private readonly box = new BoxGeometry(1, 1, 1).translate(0, 0, 0.5);
  private readonly floors = new Group();
  private readonly doors = new Group();
  private walls: InstancedMesh | null = null;
  private pieces: Piece[] = [];
  private plans: readonly FloorPlan[] = [];
  private rooms: readonly Place[] = [];
  private palette: Palette | null = null;
  private height = 1.8;
  private asOf: number | null = null;

  constructor() {
    this.group.add(this.floors, this.doors);
  }

  /** How many pieces of wall are drawn. */
  get count(): number {
    return this.walls?.count ?? 0;
  }

  show(plans: readonly FloorPlan[], rooms: readonly Place[]): void {
    this.plans = plans;
    this.rooms = rooms;
    this.rebuild();
  }

  paint(palette: Palette): void {
    this.palette = palette;
    (this.wall.uniforms["ink"]?.value as Color).set(palette.wall);
    this.door.color = new Color(palette.door);
    this.rebuild();
  }

  lieAt(floor: number): void {
    this.group.position.z = floor - UNDER;
  }

  cut(height: number): void {
    this.height = Math.min(height, 2.4);
    this.placeWalls();
  }

  /** Which walls stand to their full height: asked anew when much more of the home was seen. */
  support(shareSeen: (from: Vector2, to: Vector2, across: number, low: number, high: number) => number): void {
    for (const piece of this.pieces) {
      const half = new Vector2(piece.length / 2, 0).rotateAround(new Vector2(), piece.angle);
      const floor = this.group.position.z + piece.base;
      const [from, to] = [piece.middle.clone().sub(half), piece.middle.clone().add(half)];
      piece.tall = shareSeen(from, to, piece.across, floor + SEEN_FROM, floor + SEEN_TO) >= SEEN_SHARE;
    }
    this.placeWalls();
  }

  /** ``seenFirst`` tells when something was first seen in a box; it is asked anew with every look back. */
  travel(asOf: number | null, seenFirst: (low: Vector3, high: Vector3) => number | null): void {
    if (asOf !== null) {
      for (const piece of this.pieces) {
        const reach = piece.length / 2 + piece.across;
        const low = new Vector3(piece.middle.x - reach, piece.middle.y - reach, this.group.position.z + piece.base + 0.1);
        const high = new Vector3(piece.middle.x + reach, piece.middle.y + reach, low.z + this.height);
        piece.first = seenFirst(low, high) ?? Infinity;
      }
    }
    this.asOf = asOf;
    // how much of a floor was known then is not known now
    this.floors.visible = this.doors.visible = asOf === null;
    this.placeWalls();
  }

  private rebuild(): void {
    if (!this.palette) return;
    const ground = this.plans[0]?.height ?? 0;
    const base = new Map(this.plans.map((plan) => [plan.storey, plan.height - ground]));
    this.pieces = this.plans.flatMap((plan) => plan.walls.flatMap((wall) => piecesOf(wall, plan.height - ground)));
    this.walls?.dispose();
    if (this.walls) this.group.remove(this.walls);
    this.walls = this.pieces.length ? new InstancedMesh(this.box, this.wall, this.pieces.length) : null;
    if (this.walls) {
      this.walls.frustumCulled = false;
      this.group.add(this.walls);
    }
    this.placeWalls();
    this.layFloors(this.palette, base);
    this.layDoors(base);
  }

  private placeWalls(): void {
    const { walls } = this;
    if (!walls) return;
    const shown = this.pieces.filter(({ first }) => this.asOf === null || first <= this.asOf);
    const matrix = new Matrix4();
    shown.forEach(({ middle, length, across, angle, base, tall }, row) => {
      matrix.compose(
        new Vector3(middle.x, middle.y, base),
        new Quaternion().setFromAxisAngle(UP, angle),
        new Vector3(length, across, tall ? this.height : Math.min(this.height, EDGE)),
      );
      walls.setMatrixAt(row, matrix);
    });
    walls.count = shown.length;
    walls.instanceMatrix.needsUpdate = true;
  }

  private layFloors(palette: Palette, base: ReadonlyMap<number, number>): void {
    for (const child of this.floors.children as Mesh[]) {
      child.geometry.dispose();
      (child.material as MeshBasicMaterial).dispose();
    }
    this.floors.clear();
    for (const room of this.rooms) {
      if (room.outline.length < 3) continue;
      const shape = new ShapeGeometry(new Shape(room.outline.map(([x, y]) => new Vector2(x, y))));
      // mixed as the eye sees them: in light itself a dark floor would turn into the colour of its place
      const tint = new Color().setStyle(palette.floor, LinearSRGBColorSpace).lerp(new Color().setStyle(palette.places[room.id % palette.places.length] ?? palette.floor, LinearSRGBColorSpace), TINT).convertSRGBToLinear();
      const floor = new Mesh(shape, new MeshBasicMaterial({ color: tint }));
      floor.position.z = base.get(room.storey) ?? 0;
      floor.renderOrder = -5;
      this.floors.add(floor);
    }
  }

  private layDoors(base: ReadonlyMap<number, number>): void {
    this.doors.clear();
    for (const plan of this.plans) {
      for (const { start, end } of plan.doors) {
        const [from, to] = [new Vector2(...start), new Vector2(...end)];
        const door = new Mesh(this.box, this.door);
        door.position.set((from.x + to.x) / 2, (from.y + to.y) / 2, (base.get(plan.storey) ?? 0) + UNDER);
        door.rotation.z = to.clone().sub(from).angle();
        door.scale.set(from.distanceTo(to), THRESHOLD, 0.1);
        this.doors.add(door);
      }
    }
  }
}

function piecesOf(wall: Segment & { readonly thickness: number }, base: number): Piece[] {
  const [from, to] = [new Vector2(...wall.start), new Vector2(...wall.end)];
  const whole = from.distanceTo(to);
  const count = Math.max(1, Math.ceil(whole / PIECE));
  const angle = to.clone().sub(from).angle();
  const across = wall.thickness;
  return Array.from({ length: count }, (_, at) => ({
    middle: from.clone().lerp(to, (at + 0.5) / count),
    length: whole / count,
    across,
    angle,
    base,
    first: 0,
    tall: false,
  }));
}
