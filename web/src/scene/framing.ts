/** Where a camera must stand so that all points of a home fill the window and none is cut off. */

import { Vector3 } from "three";

import type { Vec3 } from "../model";

export interface Framing {
  readonly eye: Vector3;
  readonly target: Vector3;
  readonly distance: number;
}

const UP = new Vector3(0, 0, 1);
const ROUNDS = 8;
const MARGIN = 1.1;
const NEAREST = 2.5;
/** things from which only the outermost frame a home, and in how many directions those are looked for */
const MANY = 4000;
const TURNS = 32;

/** The direction from a home to a camera at an angle around it and an elevation above the floor. */
export function directionAt(angle: number, elevation: number): Vector3 {
  return new Vector3(Math.cos(angle) * Math.cos(elevation), Math.sin(angle) * Math.cos(elevation), Math.sin(elevation));
}

/** Of very many things those that lie outermost in some direction along the floor: in view with them are all others. */
export function outermost<T extends { readonly centre: Vec3 }>(things: readonly T[]): readonly T[] {
  if (things.length <= MANY) return things;
  const found = new Set<T>();
  for (let turn = 0; turn < TURNS; turn++) {
    const [x, y] = [Math.cos((2 * Math.PI * turn) / TURNS), Math.sin((2 * Math.PI * turn) / TURNS)];
    let best = things[0] as T;
    for (const thing of things) {
      if ((thing.centre[0] - best.centre[0]) * x + (thing.centre[1] - best.centre[1]) * y > 0) best = thing;
    }
    found.add(best);
  }
  return [...found];
}

/** Perspective makes this a search: aim at the middle of what is seen, step back or closer, and look again. */
export function frameAll(points: readonly Vector3[], direction: Vector3, tanX: number, tanY: number): Framing {
  const right = new Vector3().crossVectors(UP, direction).normalize();
  const up = new Vector3().crossVectors(direction, right);
  const target = points.reduce((sum, point) => sum.addScaledVector(point, 1 / points.length), new Vector3());
  let distance = NEAREST;
  const relative = new Vector3();
  // start outside of everything, else points behind the camera mislead the search
  for (const point of points) distance = Math.max(distance, relative.copy(point).sub(target).length() * 2);
  for (let round = 0; round < ROUNDS; round++) {
    let [left, rightmost, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const point of points) {
      relative.copy(point).sub(target);
      const depth = Math.max(distance - relative.dot(direction), 0.1);
      const x = relative.dot(right) / depth / tanX;
      const y = relative.dot(up) / depth / tanY;
      left = Math.min(left, x);
      rightmost = Math.max(rightmost, x);
      bottom = Math.min(bottom, y);
      top = Math.max(top, y);
    }
    target.addScaledVector(right, ((left + rightmost) / 2) * distance * tanX);
    target.addScaledVector(up, ((bottom + top) / 2) * distance * tanY);
    distance = Math.max(NEAREST, distance * Math.max((rightmost - left) / 2, (top - bottom) / 2, 0.2));
  }
  distance *= MARGIN;
  return { eye: target.clone().addScaledVector(direction, distance), target, distance };
}
