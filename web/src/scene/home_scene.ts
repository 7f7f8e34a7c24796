/** The scene of one home: its layers, what is under the pointer, and the view that holds it all. */

import { Box3, Raycaster, Vector2, Vector3 } from "three";

import type { FloorPlan, HistoryStep, Match, Place, RobotSearch, Thing } from "../model";
import type { CloudPart } from "../net/cloud_message";
import type { RobotMessage } from "../net/socket";
import type { LayerName } from "../panels/view_tools";
import type { Palette } from "../theme";
import { ApartLayer } from "./apart_layer";
import { outermost } from "./framing";
import { CloudLayer } from "./cloud_layer";
import { EvidenceLayer } from "./evidence_layer";
import { Labels } from "./labels";
import { ObjectsLayer } from "./objects_layer";
import { PlacesLayer } from "./places_layer";
import { PlanLayer } from "./plan_layer";
import { RobotLayer } from "./robot_layer";
import { SearchLayer } from "./search_layer";
import { Stage, type Insets } from "./stage";
import { TrackLayer } from "./track_layer";

const CLICK_PIXELS = 6;
const SETTLE_SECONDS = 0.5;
/** share of the home's size by which it must grow before the view steps back */
const GROWTH = 0.03;
/** share by which the cloud must grow before walls are looked at again */
const MORE_POINTS = 0.05;

export class HomeScene {
  readonly stage: Stage;
  readonly cloud = new CloudLayer();
  onPick: (thing: Thing | null) => void = () => undefined;
  onHover: (thing: Thing | null) => void = () => undefined;
  following = false;

  private readonly objects = new ObjectsLayer();
  private readonly robot = new RobotLayer();
  private readonly places = new PlacesLayer();
  private readonly plan = new PlanLayer();
  private readonly track = new TrackLayer();
  private readonly search = new SearchLayer();
  private readonly evidence = new EvidenceLayer();
  private readonly apart = new ApartLayer();
  private readonly labels: Labels;
  /** the running session, where it is kept apart */
  private apartNow: number | null = null;
  private insets: Insets = { left: 0, right: 0, top: 0, bottom: 0 };
  private framed = new Box3();
  private settleTimer = 0;
  private joinTimer = 0;
  private supportedBy = -1;

  constructor(canvas: HTMLCanvasElement, private readonly overlay: HTMLElement) {
    this.stage = new Stage(canvas);
    this.stage.scene.add(this.cloud.group, this.plan.group, this.places.group, this.robot.group, this.objects.group, this.track.group, this.search.group, this.evidence.group, this.apart.group);
    this.labels = new Labels(overlay, this.stage, () => this.insets, () => [...(this.places.group.visible ? this.places.names() : []), ...(this.apart.group.visible ? this.apart.names() : [])], (spot, near) =>
      this.cloud.group.visible && this.cloud.hides(this.stage.camera.position, spot, near),
    );
    this.stage.onFrame(() => {
      const pixelsPerUnit = this.cloud.fit(this.stage.size, this.stage.camera.fov, this.stage.pixelRatio);
      this.objects.arrange(this.stage.camera.position, pixelsPerUnit);
      // a name over a dot tells nothing
      if (this.objects.many) this.label();
      return false;
    });
    // what is looked at, for those who measure this page from outside
    this.stage.afterFrame(() => {
      canvas.dataset["frames"] = String(Number(canvas.dataset["frames"] ?? 0) + 1);
      canvas.dataset["points"] = String(this.cloud.count);
      const { calls, triangles } = this.stage.drawn;
      canvas.dataset["calls"] = String(calls);
      canvas.dataset["triangles"] = String(triangles);
      canvas.dataset["walls"] = String(this.plan.count);
      canvas.dataset["apart"] = String(this.apart.group.visible ? this.apart.things.length : 0);
      canvas.dataset["matches"] = String(this.evidence.count);
      canvas.dataset["waiting"] = String(this.cloud.waiting);
      canvas.dataset["lookingAt"] = this.stage.controls.target.toArray().map((value) => value.toFixed(2)).join(" ");
    });
    this.watchPointer(canvas);
  }

  paint(palette: Palette): void {
    for (const layer of [this.objects, this.robot, this.places, this.plan, this.track, this.search, this.evidence, this.apart]) layer.paint(palette);
    this.stage.paint(palette);
  }

  cover(insets: Insets): void {
    this.insets = insets;
    this.stage.cover(insets);
    this.settle();
  }

  showThings(things: readonly Thing[]): void {
    this.objects.show(things);
    this.label();
    this.settle();
  }

  highlight(selected: string | null, hovered: string | null, answers: ReadonlySet<string>): void {
    this.objects.highlight(selected, hovered, answers);
    this.apart.highlight(selected, hovered, answers);
    const byHand = this.labels.selected !== selected || this.labels.hovered !== hovered || answers.size > 0 || this.labels.answers.size > 0;
    Object.assign(this.labels, { selected, hovered, answers });
    // things that only changed by themselves may wait, what a person does may not
    if (byHand) this.stage.invalidate();
    else this.stage.refresh();
  }

  showPlaces(places: readonly Place[], plans: readonly FloorPlan[]): void {
    this.places.show(places);
    this.plan.show(plans, places);
    this.supportedBy = -1;
    this.settle();
    this.stage.refresh();
  }

  showTrack(history: readonly HistoryStep[]): void {
    this.track.show(history);
    this.stage.invalidate();
  }

  showSearch(search: RobotSearch | null): void {
    this.search.show(search);
    this.stage.refresh();
  }

  /** Look at the robot, the path before it and what it goes for; at the whole home where it explores. */
  frameSearch({ path, walked, candidates, givenUp }: RobotSearch): void {
    const floor = this.framed.isEmpty() ? 0 : this.framed.min.z;
    const gone = new Set(givenUp);
    const spots = [...path, ...walked].map(([x, y]) => new Vector3(x, y, floor));
    const goals = candidates.filter(({ id }) => !gone.has(id)).map(({ centre }) => new Vector3(...centre));
    if (!path.length || !goals.length) {
      this.home();
      return;
    }
    this.stage.taken = true;
    // some room around it: a path along one wall would be seen without the room
    const around = new Box3().setFromPoints([...spots, ...goals]).expandByVector(new Vector3(0.7, 0.7, 0.2));
    const { min, max } = around;
    const corners = [min.x, max.x].flatMap((x) => [min.y, max.y].flatMap((y) => [min.z, max.z].map((z) => new Vector3(x, y, z))));
    this.stage.frame(corners, { fly: true, turn: true });
  }

  /** What sessions that are kept apart have seen; ``running`` is the one the robot is in, where it is one of them. */
  showApart(sessions: ReadonlyMap<number, readonly Thing[]>, running: number | null): void {
    this.apart.show(sessions);
    this.apartNow = running;
    this.label();
    this.stage.insetsChanged ||= sessions.size > 0;
    this.settle();
  }

  private label(): void {
    const many = this.objects.many || this.apart.things.length > 0;
    this.labels.things = many ? [...this.objects.drawn(), ...this.apart.things] : this.objects.things;
    this.labels.unplaced = new Set(this.apart.things.map(({ id }) => id));
    this.robot.shift = this.apartNow === null ? null : this.apart.shiftOf(this.apartNow);
  }

  /** Things that cannot be placed from where the robot is look so. */
  place(known: boolean): void {
    this.objects.place(known);
    this.overlay.classList.toggle("unplaced", !known);
    this.stage.invalidate();
  }

  showEvidence(matches: readonly Match[]): void {
    this.evidence.show(matches);
    this.stage.refresh();
  }

  travel(asOf: number | null): void {
    this.robot.travel(asOf);
    this.places.travel(asOf === null ? null : this.robot.reachedBy(asOf));
    this.plan.travel(asOf, (low, high) => this.cloud.firstSeenWithin(low, high));
    this.stage.canvas.dataset["pointsShown"] = String(this.cloud.travel(asOf));
    this.stage.invalidate();
  }

  takeCloud(part: CloudPart): void {
    this.cloud.take(part);
    if (!part.more) this.settle();
    if (!this.joinTimer) this.join();
    this.stage.refresh();
  }

  /** Join new points to the surface between frames: a frame may take long, and must not hold it up. */
  private join(): void {
    this.joinTimer = window.setTimeout(() => {
      this.joinTimer = 0;
      if (this.cloud.advance(this.stage.cost)) this.join();
      this.stage.refresh();
    });
  }

  takeRobot(message: RobotMessage): void {
    const pose = message.robot_pose;
    this.robot.walked(message.path, message.path_reset);
    this.robot.stands(pose && { stamp: pose.timestamp, at: pose.xyz, turn: pose.quaternion_xyzw }, message.camera);
    if (this.following && pose) this.stage.glideTo(pose.xyz);
    this.stage.refresh();
  }

  layer(name: LayerName, on: boolean): void {
    if (name === "surface") this.cloud.group.visible = on;
    else if (name === "plan") this.plan.group.visible = on;
    else if (name === "boxes") this.objects.group.visible = on;
    else if (name === "labels") this.labels.shown = on;
    else if (name === "places") this.places.group.visible = on;
    else this.robot.group.visible = on;
    this.stage.invalidate();
  }

  cut(metres: number): void {
    this.cloud.cutHeight = metres;
    this.plan.cut(metres);
    this.cloud.cutAbove(this.framed.isEmpty() ? 0 : this.framed.min.z);
    this.stage.invalidate();
  }

  home(): void {
    this.stage.taken = false;
    this.framed = this.bounds();
    this.stage.frame(this.outline(this.framed), { fly: true, turn: true });
  }

  above(): void {
    this.stage.taken = true;
    this.stage.frame(this.outline(this.bounds()), { fly: true, turn: false, above: true });
  }

  flyTo(thing: Thing): void {
    const { centre, size } = this.apart.things.find(({ id }) => id === thing.id) ?? thing;
    this.stage.flyTo(centre, size, (eye, target) => this.cloud.between(eye, target));
  }

  /** Look at several things at once, as one looks at a home. */
  flyToAll(things: readonly Thing[]): void {
    this.stage.taken = true;
    const corners = things.flatMap(({ centre: [x, y, z], size: [width, depth, height] }) =>
      [-1, 1].map((side) => new Vector3(x + (side * width) / 2, y + (side * depth) / 2, z + (side * height) / 2)),
    );
    this.stage.frame(corners, { fly: true, turn: true });
  }

  private bounds(): Box3 {
    const box = this.cloud.bounds();
    const point = new Vector3();
    for (const { centre } of this.landmarks()) box.expandByPoint(point.set(...centre));
    const robot = this.robot.at;
    if (robot && this.apartNow === null) box.expandByPoint(point.set(robot[0], robot[1], box.isEmpty() ? 0 : box.min.z));
    // a single mug must not fill the window
    if (!box.isEmpty()) box.expandByVector(new Vector3(0.25, 0.25, 0.05));
    return box;
  }

  /** The objects that tell how far a home reaches; what was only glimpsed may be anywhere, and counts for want of better. */
  private landmarks(): readonly Thing[] {
    const sure = this.objects.things.filter(({ state }) => state !== "tentative");
    return sure.length || this.cloud.count ? sure : this.objects.things;
  }

  /** Points that must be in view: those of the cloud where there is one, for a home is seldom as wide as its box. */
  private outline(box: Box3): Vector3[] {
    const points = this.cloud.sample(box);
    for (const { centre } of outermost(this.landmarks())) points.push(new Vector3(...centre));
    for (const { centre } of this.apart.things) points.push(new Vector3(...centre));
    const robot = this.robot.at;
    // its body stands under its camera
    if (robot) points.push(new Vector3(...robot), new Vector3(robot[0], robot[1], box.isEmpty() ? robot[2] : box.min.z));
    return points;
  }

  /** Keep the growing home in view until a person takes the camera; small growth does not make it restless. */
  private settle(): void {
    this.stage.refresh();
    if (this.settleTimer) return;
    this.settleTimer = window.setTimeout(() => {
      this.settleTimer = 0;
      const box = this.bounds();
      if (box.isEmpty()) return;
      this.stage.stand(box);
      for (const layer of [this.places, this.plan, this.robot, this.search]) layer.lieAt(box.min.z);
      this.cloud.cutAbove(box.min.z);
      this.apart.standBeside(box.max.x, box.min.y, box.min.z);
      this.label();
      this.support();
      const first = this.framed.isEmpty();
      const shift = first ? 0 : box.min.distanceTo(this.framed.min) + box.max.distanceTo(this.framed.max);
      const grown = !first && shift > Math.max(GROWTH * this.framed.getSize(new Vector3()).length(), 0.25);
      if (!this.stage.taken && !this.following && (first || grown || this.stage.insetsChanged)) {
        this.framed = box;
        this.stage.frame(this.outline(box), { fly: !first && this.stage.fluent, turn: first });
      }
    }, SETTLE_SECONDS * 1000);
  }

  private support(): void {
    if (this.supportedBy >= 0 && Math.abs(this.cloud.count - this.supportedBy) <= MORE_POINTS * this.supportedBy) return;
    this.supportedBy = this.cloud.count;
    this.plan.support((...face) => this.cloud.shareSeen(...face));
    this.stage.refresh();
  }

  private watchPointer(canvas: HTMLCanvasElement): void {
    const caster = new Raycaster();
    let down: { x: number; y: number } | null = null;
    const under = (event: PointerEvent): Thing | null => {
      if (!this.objects.group.visible) return null;
      const { x, y } = this.stage.size;
      caster.setFromCamera(new Vector2((event.offsetX / x) * 2 - 1, 1 - (event.offsetY / y) * 2), this.stage.camera);
      return this.objects.pick(caster.ray) ?? this.apart.pick(caster.ray);
    };
    canvas.addEventListener("pointerdown", (event) => (down = { x: event.clientX, y: event.clientY }));
    canvas.addEventListener("pointerup", (event) => {
      if (down && Math.hypot(event.clientX - down.x, event.clientY - down.y) < CLICK_PIXELS) this.onPick(under(event));
      down = null;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons || event.pointerType === "touch") return;
      const thing = under(event);
      canvas.classList.toggle("over", thing !== null);
      this.onHover(thing);
    });
    canvas.addEventListener("pointerleave", () => this.onHover(null));
  }
}
