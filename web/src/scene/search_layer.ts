/** A robot's search on the floor: what it has walked since it began, and the path it plans, dashed. */

import { Group } from "three";

import type { RobotSearch, Vec3 } from "../model";
import type { Palette } from "../theme";
import { ThickLine } from "./line";

const HEIGHT = 0.08;

export class SearchLayer {
  readonly group = new Group();
  private readonly walked = new ThickLine({ width: 4, opacity: 0.9 });
  private readonly planned = new ThickLine({ width: 3, opacity: 0.95, dashed: true, onTop: true });

  constructor() {
    this.group.add(this.walked.object, this.planned.object);
  }

  show(search: RobotSearch | null): void {
    const lift = ([x, y]: readonly [number, number]): Vec3 => [x, y, HEIGHT];
    const walked = search?.walked ?? [];
    const here = walked.at(-1);
    this.walked.draw(walked.map(lift));
    this.planned.draw(search?.path.length && here ? [here, ...search.path].map(lift) : []);
  }

  lieAt(floor: number): void {
    this.group.position.z = floor;
  }

  paint(palette: Palette): void {
    this.walked.paint(palette.chosen);
    this.planned.paint(palette.chosen);
  }
}
