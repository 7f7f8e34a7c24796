/** Sessions that are kept apart: where their maps lie in the memory's is not known, so each stands on a plate of its own
 * beside the home, in the broken look of what is not placed. */

import { BufferAttribute, BufferGeometry, Color, DoubleSide, Group, LineDashedMaterial, LineLoop, Mesh, MeshBasicMaterial, PlaneGeometry, type Ray, Vector2, Vector3 } from "three";

import type { Thing, Vec3 } from "../model";
import type { Palette } from "../theme";
import { ObjectsLayer } from "./objects_layer";
import type { PlaceName } from "./places_layer";

/** metres between the home and a plate, and around the things on it */
const GAP = 1.2;
const MARGIN = 0.5;
const DASH = 0.18;

interface Plate {
  readonly session: number;
  readonly things: readonly Thing[];
  /** what leads from the session's own map to where it is drawn */
  readonly shift: Vector3;
  readonly middle: Vector2;
  readonly size: Vector2;
}

export class ApartLayer {
  readonly group = new Group();

  private readonly boxes = new ObjectsLayer();
  private readonly grounds = new Group();
  private readonly ground = new MeshBasicMaterial({ transparent: true, opacity: 0.35, depthWrite: false, side: DoubleSide });
  private readonly rim = new LineDashedMaterial({ dashSize: DASH, gapSize: DASH });
  private plates: readonly Plate[] = [];
  private sessions: ReadonlyMap<number, readonly Thing[]> = new Map();
  private floor = 0;
  private east = 0;
  private south = 0;

  constructor() {
    this.boxes.place(false);
    this.group.add(this.grounds, this.boxes.group);
  }

  /** What is drawn, where it is drawn. */
  get things(): readonly Thing[] {
    return this.boxes.things;
  }

  show(sessions: ReadonlyMap<number, readonly Thing[]>): void {
    this.sessions = sessions;
    this.rebuild();
  }

  /** The plates stand east of the home, in line with its south side. */
  standBeside(east: number, south: number, floor: number): void {
    if (Math.hypot(east - this.east, south - this.south, floor - this.floor) < 0.05) return;
    this.east = east;
    this.south = south;
    this.floor = floor;
    this.rebuild();
  }

  paint(palette: Palette): void {
    this.boxes.paint(palette);
    this.ground.color = new Color(palette.floor);
    this.rim.color = new Color(palette.grid);
  }

  highlight(selected: string | null, hovered: string | null, answers: ReadonlySet<string>): void {
    this.boxes.highlight(selected, hovered, answers);
  }

  pick(ray: Ray): Thing | null {
    return this.boxes.pick(ray);
  }

  /** How far a session is drawn from where its own map says; null for one that is not drawn. */
  shiftOf(session: number): Vector3 | null {
    return this.plates.find((plate) => plate.session === session)?.shift ?? null;
  }

  names(): PlaceName[] {
    return this.plates.map(({ session, middle, size }) => {
      const edge: Vec3 = [middle.x, middle.y - size.y / 2, this.floor];
      const place = { id: -session, name: `session ${session}: kept apart, not placed`, description: "", objects: [], anchors: [], outline: [], storey: 0 };
      return { place, spots: [edge, [middle.x, middle.y + size.y / 2, this.floor]] };
    });
  }

  private rebuild(): void {
    this.plates = this.laidOut();
    this.boxes.show(
      this.plates.flatMap(({ things, shift }) =>
        things.map((thing) => ({ ...thing, centre: [thing.centre[0] + shift.x, thing.centre[1] + shift.y, thing.centre[2] + shift.z] as Vec3 })),
      ),
    );
    this.boxes.highlight(null, null, new Set());
    for (const child of this.grounds.children as Mesh[]) child.geometry.dispose();
    this.grounds.clear();
    for (const { middle, size } of this.plates) {
      const ground = new Mesh(new PlaneGeometry(size.x, size.y), this.ground);
      ground.renderOrder = -4;
      const [x, y] = [size.x / 2, size.y / 2];
      const corners = new Float32Array([-x, -y, 0, x, -y, 0, x, y, 0, -x, y, 0]);
      const rim = new LineLoop(new BufferGeometry().setAttribute("position", new BufferAttribute(corners, 3)), this.rim);
      rim.computeLineDistances();
      for (const part of [ground, rim]) part.position.set(middle.x, middle.y, this.floor);
      this.grounds.add(ground, rim);
    }
  }

  /** One plate beside the other, each as large as what stands on it. */
  private laidOut(): Plate[] {
    let east = this.east + GAP;
    const plates: Plate[] = [];
    for (const [session, things] of this.sessions) {
      if (!things.length) continue;
      const low = new Vector3(Infinity, Infinity, Infinity);
      const high = new Vector3(-Infinity, -Infinity, -Infinity);
      for (const { centre, size } of things) {
        const half = new Vector3(...size).multiplyScalar(0.5);
        low.min(new Vector3(...centre).sub(half));
        high.max(new Vector3(...centre).add(half));
      }
      const size = new Vector2(high.x - low.x + 2 * MARGIN, high.y - low.y + 2 * MARGIN);
      const middle = new Vector2(east + size.x / 2, this.south + size.y / 2);
      const shift = new Vector3(middle.x - (low.x + high.x) / 2, middle.y - (low.y + high.y) / 2, this.floor - Math.min(low.z, this.floor));
      plates.push({ session, things, shift, middle, size });
      east += size.x + GAP;
    }
    return plates;
  }
}
