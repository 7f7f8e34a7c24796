/** The robot: a body on the floor, what its camera sees as a frustum, and the way it came. In the past it stands where
 * its path was then; how it looked around then is not known, so the frustum is left out. */

import {
  BufferAttribute,
  BufferGeometry,
  CircleGeometry,
  Color,
  CylinderGeometry,
  DoubleSide,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  Quaternion,
  Vector3,
} from "three";

import type { CameraPose, Vec3 } from "../model";
import type { Palette } from "../theme";
import { ThickLine } from "./line";

export interface CameraShape {
  readonly fx: number;
  readonly fy: number;
  readonly cx: number;
  readonly cy: number;
  readonly width: number;
  readonly height: number;
}

export type PathPoint = readonly [time: number, x: number, y: number, z: number];

const REACH = 0.9;
/** a camera of which only the pose is known: a usual one, drawn short */
const ANY_CAMERA: CameraShape = { fx: 525, fy: 525, cx: 320, cy: 240, width: 640, height: 480 };
const ANY_REACH = 0.35;
/** metres over the floor: clear of its points, which are as thick as the cloud's raster */
const LIFT = 0.09;
const MOST_POINTS = 8000;
/** the way of the last two minutes is drawn clearly, what is older faintly */
const RECENT_SECONDS = 120;
/** metres from its path within which the robot was at a spot */
const NEAR = 0.4;
/** metres between two points of a path that was walked */
const LONGEST_STEP = 1.5;

const NOWHERE = new Vector3();

export class RobotLayer {
  readonly group = new Group();

  private readonly body = new Group();
  private readonly frustum = new Group();
  private readonly mast = new Mesh(new CylinderGeometry(0.022, 0.022, 1, 12), new MeshLambertMaterial({ color: 0x2a3038 }));
  private readonly path = new ThickLine({ width: 2.5, opacity: 0.85 });
  private readonly oldPath = new ThickLine({ width: 1.5, opacity: 0.28 });
  private readonly hull = new MeshLambertMaterial();
  private readonly skirt = new MeshLambertMaterial({ color: 0x2a3038 });
  private readonly rim = new MeshBasicMaterial({ transparent: true, opacity: 0.3, depthWrite: false, side: DoubleSide });
  private readonly rays = new LineBasicMaterial({ transparent: true, opacity: 0.9 });
  private readonly glass = new MeshBasicMaterial({ transparent: true, opacity: 0.1, depthWrite: false, side: DoubleSide });
  private points: PathPoint[] = [];
  private pose: CameraPose | null = null;
  private shape: CameraShape | null = null;
  private built = "";
  private asOf: number | null = null;
  private readonly moved = new Vector3();
  private floor = 0;

  constructor() {
    const halo = new Mesh(new CircleGeometry(0.27, 48).translate(0, 0, LIFT), this.rim);
    const nose = new Mesh(noseGeometry(), this.rim);
    this.body.add(this.disc(0.15, 0.02, 0.07, this.skirt), this.disc(0.14, 0.07, 0.18, this.hull), this.mast, halo, nose);
    this.mast.geometry.rotateX(Math.PI / 2).translate(0, 0, 0.5);
    this.body.visible = false;
    this.frustum.visible = false;
    this.group.add(this.body, this.frustum, this.oldPath.object, this.path.object);
  }

  /** Where a robot whose session is kept apart is drawn, from where its own map says; null in the memory's map. */
  set shift(shift: Vector3 | null) {
    if ((shift ?? NOWHERE).equals(this.moved)) return;
    this.moved.copy(shift ?? NOWHERE);
    this.redraw();
  }

  get at(): Vec3 | null {
    const at = this.pose?.at;
    return at ? [at[0] + this.moved.x, at[1] + this.moved.y, at[2] + this.moved.z] : null;
  }

  walked(points: readonly PathPoint[], reset: boolean): void {
    this.points = reset ? [...points] : [...this.points, ...points];
    if (this.points.length > MOST_POINTS) this.points.splice(0, this.points.length - MOST_POINTS);
    this.redraw();
  }

  stands(pose: CameraPose | null, shape: CameraShape | null): void {
    this.pose = pose;
    this.shape = shape ?? this.shape;
    const look = JSON.stringify(this.shape);
    if (look !== this.built) {
      this.built = look;
      this.buildFrustum(this.shape ?? ANY_CAMERA, this.shape ? REACH : ANY_REACH);
    }
    this.redraw();
  }

  /** Whether the robot had been at a spot by a time. */
  reachedBy(time: number): (at: readonly [number, number]) => boolean {
    const points = this.points.filter(([when]) => when <= time);
    return ([x, y]) => points.some(([, px, py]) => Math.hypot(px - x, py - y) < NEAR);
  }

  travel(asOf: number | null): void {
    this.asOf = asOf;
    this.redraw();
  }

  lieAt(floor: number): void {
    if (Math.abs(floor - this.floor) < 0.02) return;
    this.floor = floor;
    this.redraw();
  }

  paint(palette: Palette): void {
    for (const material of [this.hull, this.rim, this.rays, this.glass]) material.color = new Color(palette.robot);
    this.path.paint(palette.path);
    this.oldPath.paint(palette.path);
  }

  private redraw(): void {
    const known = this.asOf === null ? this.points : this.points.filter(([time]) => time <= (this.asOf ?? 0));
    const end = known.at(-1)?.[0] ?? 0;
    const turn = known.findIndex(([time]) => time > end - RECENT_SECONDS);
    const drawn = known.map(([, x, y]): Vec3 => [x, y, this.floor + LIFT]);
    // a robot that was carried, or begins a session elsewhere, did not walk there
    const jump = known.findLastIndex(([, x, y], index) => {
      const before = known[index - 1];
      return before !== undefined && Math.hypot(x - before[1], y - before[2]) > LONGEST_STEP;
    });
    const recent = Math.max(turn, jump, 0);
    this.path.draw(drawn.slice(recent));
    this.oldPath.draw(jump === recent ? drawn.slice(0, recent) : drawn.slice(0, recent + 1));
    const direction = new Vector3(0, 0, 1);
    let at: Vec3 | null = null;
    if (this.asOf === null && this.pose) {
      at = this.at ?? this.pose.at;
      this.frustum.position.set(...at);
      this.frustum.quaternion.copy(new Quaternion(...this.pose.turn));
      direction.applyQuaternion(this.frustum.quaternion);
    } else {
      const last = known.at(-1);
      const before = known.findLast(([, x, y]) => last && Math.hypot(x - last[1], y - last[2]) > 0.05);
      if (last) at = [last[1], last[2], last[3]];
      if (last && before) direction.set(last[1] - before[1], last[2] - before[2], 0);
    }
    this.frustum.visible = this.asOf === null && this.pose !== null;
    this.body.visible = at !== null;
    if (at) {
      this.mast.scale.z = Math.max(at[2] - this.floor, 0.3);
      this.body.position.set(at[0], at[1], this.floor);
      this.body.rotation.z = Math.atan2(direction.y, direction.x);
    }
  }

  private disc(radius: number, bottom: number, top: number, material: MeshLambertMaterial): Mesh {
    const shape = new CylinderGeometry(radius, radius, top - bottom, 40).rotateX(Math.PI / 2);
    return new Mesh(shape.translate(0, 0, (top + bottom) / 2), material);
  }

  private buildFrustum(shape: CameraShape, reach: number): void {
    this.frustum.clear();
    const corner = (x: number, y: number): number[] => [
      ((x - shape.cx) / shape.fx) * reach,
      ((y - shape.cy) / shape.fy) * reach,
      reach,
    ];
    const corners = [corner(0, 0), corner(shape.width, 0), corner(shape.width, shape.height), corner(0, shape.height)];
    const apex = [0, 0, 0];
    const lines: number[] = [];
    const faces: number[] = [];
    corners.forEach((here, index) => {
      const next = corners[(index + 1) % 4] ?? here;
      lines.push(...apex, ...here, ...here, ...next);
      faces.push(...apex, ...here, ...next);
    });
    this.frustum.add(new LineSegments(geometryOf(lines), this.rays), new Mesh(geometryOf(faces), this.glass));
    for (const child of this.frustum.children) child.renderOrder = 4;
  }
}

function geometryOf(numbers: readonly number[]): BufferGeometry {
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(numbers), 3));
}

/** A wedge before the body, pointing along +x: where the robot faces. */
function noseGeometry(): BufferGeometry {
  return geometryOf([0.3, 0.11, LIFT, 0.3, -0.11, LIFT, 0.46, 0, LIFT]);
}
