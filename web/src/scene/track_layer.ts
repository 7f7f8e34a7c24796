/** Where the selected object has been: a line from its oldest known place to the newest, with a dot at each. */

import { Color, Group, Mesh, MeshBasicMaterial, SphereGeometry } from "three";

import type { HistoryStep, Vec3 } from "../model";
import type { Palette } from "../theme";
import { ThickLine } from "./line";

/** metres; a position known a little better is no other place */
const SAME_PLACE = 0.3;

export class TrackLayer {
  readonly group = new Group();
  private readonly line = new ThickLine({ width: 2.5, opacity: 0.95, dashed: true, onTop: true });
  private readonly dots = new Group();
  private readonly dot = new SphereGeometry(0.04, 16, 12);
  private readonly ink = new MeshBasicMaterial({ transparent: true, opacity: 0.95, depthTest: false });

  constructor() {
    this.group.add(this.line.object, this.dots);
  }

  show(history: readonly HistoryStep[]): void {
    const spots = spotsOf(history);
    this.line.draw(spots);
    this.dots.clear();
    if (spots.length < 2) return;
    for (const spot of spots.slice(0, -1)) {
      const mesh = new Mesh(this.dot, this.ink);
      mesh.position.set(...spot);
      mesh.renderOrder = 9;
      this.dots.add(mesh);
    }
  }

  paint(palette: Palette): void {
    this.line.paint(palette.chosen);
    this.ink.color = new Color(palette.chosen);
  }
}

/** The places of a history that are apart, oldest first. */
export function spotsOf(history: readonly HistoryStep[]): Vec3[] {
  const spots: Vec3[] = [];
  for (const { at } of history) {
    if (!at) continue;
    const last = spots.at(-1);
    if (!last || Math.hypot(at[0] - last[0], at[1] - last[1], at[2] - last[2]) > SAME_PLACE) spots.push(at);
  }
  return spots;
}
