/** The 3-D view itself: camera, controls, floor and the frame loop. It draws only when something changed. */

import { type Box3, DirectionalLight, HemisphereLight, PerspectiveCamera, Scene, Vector2, Vector3, WebGLRenderer } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

import type { Vec3 } from "../model";
import type { Palette } from "../theme";
import { Floor } from "./floor";
import { directionAt, frameAll, type Framing } from "./framing";

export interface Insets {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Called before a frame with the seconds since the last one; answers whether it wants another frame after it. */
type Ticker = (seconds: number) => boolean;

const FLIGHT_SECONDS = 0.9;
/** radians above the floor: steep enough to see over walls, flat enough to see heights */
const UPRIGHT_ELEVATION = 1.12;
const HOME_ELEVATION = 0.98;
const ABOVE = Math.PI / 2 - 0.001;
/** sides to look from, as angles around the home: a little askew, so that corners show; the first is the usual one */
const SIDES = [-0.4, -0.6, -0.1, -0.9].map((turns) => turns * Math.PI);
const FLIGHT_ELEVATION = 0.75;
const NEAREST_FLIGHT = 4.2;
const FLIGHT_TURNS = [0, 0.25, -0.25, 0.5, -0.5, 0.75, -0.75, 1];
const SOUTH = -0.5 * Math.PI;
/** seconds a frame may take before motion is drawn coarser, and how much coarser; what rests is always drawn fully */
const SLOW_FRAME = 0.05;
const COARSE = 0.55;
/** how many times its own length a slow frame is rested after, and the longest rest in seconds */
const REST = 4;
const LONGEST_REST = 2;
const UP = new Vector3(0, 0, 1);

interface Flight {
  readonly fromEye: Vector3;
  readonly toEye: Vector3;
  readonly fromTarget: Vector3;
  readonly toTarget: Vector3;
  /** when its first frame was drawn: one that is drawn slowly takes no longer */
  began: number | null;
}

export class Stage {
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(42, 1, 0.05, 400);
  readonly size = new Vector2(1, 1);
  readonly controls: OrbitControls;
  /** whether the person has taken the camera; until then it keeps the whole home in view */
  taken = false;
  /** whether panels came or went since the home was framed */
  insetsChanged = false;

  private readonly renderer: WebGLRenderer;
  private readonly floor = new Floor();
  private readonly tickers: Ticker[] = [];
  private readonly afterwards: (() => void)[] = [];
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");
  private insets: Insets = { left: 0, right: 0, top: 0, bottom: 0 };
  private flight: Flight | null = null;
  private side = SIDES[0] ?? 0;
  /** seconds that the last frame kept the page busy */
  cost = 0;
  private resting = 0;
  private slowFrames = 0;
  private coarse = false;
  private waiting = false;
  private last = 0;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, powerPreference: "high-performance" });
    this.camera.up.copy(UP);
    this.camera.position.set(-6, -8, 9);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = Math.PI * 0.495;
    this.controls.minDistance = 0.4;
    this.controls.maxDistance = 120;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.invalidate());
    this.controls.addEventListener("start", () => {
      this.taken = true;
      this.flight = null;
    });
    // the ground behind the scene is the style sheet's
    this.renderer.setClearColor(0x000000, 0);
    const sun = new DirectionalLight(0xffffff, 1.6);
    sun.position.set(-2, -3, 6);
    this.scene.add(this.floor.mesh, new HemisphereLight(0xffffff, 0x8090a0, 1.6), sun);
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement ?? canvas);
    this.resize();
  }

  get pixelRatio(): number {
    return this.renderer.getPixelRatio();
  }

  onFrame(ticker: Ticker): void {
    this.tickers.push(ticker);
  }

  /** Call after each drawn frame: what lies over the canvas follows the camera here. */
  afterFrame(follow: () => void): void {
    this.afterwards.push(follow);
  }

  /** Whether frames come fast enough for motion that nobody asked for. */
  get fluent(): boolean {
    return this.cost < SLOW_FRAME;
  }

  /** What the newest frame took: calls to the GPU and triangles. */
  get drawn(): { readonly calls: number; readonly triangles: number } {
    return this.renderer.info.render;
  }

  invalidate(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => this.draw(now));
  }

  /** Draw for new data, not for a hand: where frames are dear, such frames leave time for everything else. */
  refresh(): void {
    if (this.fluent) {
      this.invalidate();
    } else if (!this.resting) {
      this.resting = window.setTimeout(() => {
        this.resting = 0;
        this.invalidate();
      }, Math.min(this.cost * REST, LONGEST_REST) * 1000);
    }
  }

  paint(palette: Palette): void {
    this.floor.paint(palette);
    this.invalidate();
  }

  /** The parts of the canvas that panels cover: the view is centred in what is left. */
  cover(insets: Insets): void {
    this.insetsChanged ||= JSON.stringify(insets) !== JSON.stringify(this.insets);
    this.insets = insets;
    this.project();
    this.invalidate();
  }

  /** Show a whole home from above at an angle, as one looks into a doll's house; ``turn`` may choose the best side. */
  frame(outline: readonly Vector3[], options: { fly: boolean; turn: boolean; above?: boolean }): void {
    if (!outline.length) return;
    this.insetsChanged = false;
    const free = this.freeSize();
    const tan = Math.tan((this.camera.fov * Math.PI) / 360) / this.size.y;
    // on an upright screen one looks down more steeply: the home fills its height too
    const usual = free.y > free.x * 1.2 ? UPRIGHT_ELEVATION : HOME_ELEVATION;
    const fit = (angle: number, elevation = usual): Framing =>
      frameAll(outline, directionAt(angle, elevation), tan * free.x, tan * free.y);
    let best = options.above ? fit(SOUTH, ABOVE) : fit(this.side);
    for (const side of options.turn ? SIDES : []) {
      const other = fit(side);
      if (other.distance < best.distance * 0.94) {
        best = other;
        this.side = side;
      }
    }
    this.move(best.eye, best.target, options.fly);
  }

  stand(home: Box3): void {
    this.floor.lieUnder(home);
  }

  /** Fly to a thing, near enough to see it and what it stands on; ``hidden`` counts what an eye would look through. */
  flyTo(at: Vec3, size: Vec3, hidden: (eye: Vector3, target: Vector3) => number): void {
    this.taken = true;
    const target = new Vector3(...at);
    const away = this.camera.position.clone().sub(this.controls.target);
    const angle = Math.atan2(away.y, away.x);
    const distance = Math.max(NEAREST_FLIGHT, Math.hypot(...size) * 3);
    let best = target;
    let bestCost = Infinity;
    // the way one looks already is best, unless walls are in between
    for (const turn of FLIGHT_TURNS) {
      const eye = target.clone().addScaledVector(directionAt(angle + turn * Math.PI, FLIGHT_ELEVATION), distance);
      const cost = hidden(eye, target) + Math.abs(turn) * 12;
      if (cost < bestCost) {
        best = eye;
        bestCost = cost;
      }
    }
    this.move(best, target, true);
  }

  /** Keep a moving point in the middle without turning or zooming. */
  glideTo(at: Vec3): void {
    const target = new Vector3(...at);
    const offset = this.camera.position.clone().sub(this.controls.target);
    this.move(target.clone().add(offset), target, true);
  }

  /** Where a world point falls on the canvas in CSS pixels, and how far it is; null behind the camera. */
  onScreen(point: Vector3, out: Vector3): Vector3 | null {
    out.copy(point).project(this.camera);
    if (out.z > 1 || out.z < -1) return null;
    out.set((out.x * 0.5 + 0.5) * this.size.x, (0.5 - out.y * 0.5) * this.size.y, point.distanceTo(this.camera.position));
    return out;
  }

  private move(eye: Vector3, target: Vector3, fly: boolean): void {
    if (!fly || this.calm.matches) {
      this.flight = null;
      this.camera.position.copy(eye);
      this.controls.target.copy(target);
      this.controls.update();
    } else {
      this.flight = {
        fromEye: this.camera.position.clone(),
        toEye: eye,
        fromTarget: this.controls.target.clone(),
        toTarget: target,
        began: null,
      };
    }
    this.invalidate();
  }

  private freeSize(): Vector2 {
    const { left, right, top, bottom } = this.insets;
    return new Vector2(Math.max(this.size.x - left - right, 120), Math.max(this.size.y - top - bottom, 120));
  }

  private resize(): void {
    const host = this.canvas.parentElement ?? this.canvas;
    this.size.set(Math.max(host.clientWidth, 1), Math.max(host.clientHeight, 1));
    this.refine();
    this.project();
    this.invalidate();
  }

  private refine(): void {
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2) * (this.coarse ? COARSE : 1));
    this.renderer.setSize(this.size.x, this.size.y, false);
  }

  /** Motion that stutters is drawn coarser; the last frame of it is drawn again in full. */
  private pace(seconds: number, moving: boolean): void {
    this.slowFrames = moving && seconds > SLOW_FRAME ? this.slowFrames + 1 : 0;
    const coarse = moving && (this.coarse || this.slowFrames > 3);
    if (coarse === this.coarse) return;
    this.coarse = coarse;
    this.refine();
    this.invalidate();
  }

  private project(): void {
    const { x: width, y: height } = this.size;
    const { left, right, top, bottom } = this.insets;
    this.camera.aspect = width / height;
    this.camera.setViewOffset(width, height, (right - left) / 2, (bottom - top) / 2, width, height);
    this.camera.updateProjectionMatrix();
  }

  private draw(now: number): void {
    this.waiting = false;
    const seconds = Math.min(Math.max((now - this.last) / 1000, 0), 0.1);
    this.last = now;
    let more = this.advanceFlight(now / 1000);
    if (this.controls.update(seconds)) more = true;
    for (const ticker of this.tickers) if (ticker(seconds)) more = true;
    this.renderer.render(this.scene, this.camera);
    for (const follow of this.afterwards) follow();
    if (more) this.invalidate();
    this.pace(seconds, more);
    // the next turn comes when the frame is truly done
    requestAnimationFrame(() => (this.cost = Math.max((performance.now() - now) / 1000 - 1 / 60, 0)));
  }

  private advanceFlight(now: number): boolean {
    const flight = this.flight;
    if (!flight) return false;
    flight.began ??= now;
    const part = Math.min((now - flight.began) / FLIGHT_SECONDS, 1);
    const eased = part < 0.5 ? 4 * part ** 3 : 1 - (-2 * part + 2) ** 3 / 2;
    this.camera.position.lerpVectors(flight.fromEye, flight.toEye, eased);
    this.controls.target.lerpVectors(flight.fromTarget, flight.toTarget, eased);
    if (part >= 1) this.flight = null;
    return this.flight !== null;
  }
}
