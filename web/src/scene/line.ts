/** A line of constant width on the screen through points of the world. */

import { Color } from "three";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";

import type { Vec3 } from "../model";

export interface LineStyle {
  readonly width: number;
  readonly opacity: number;
  readonly dashed?: boolean;
  /** drawn over everything, because it explains rather than belongs */
  readonly onTop?: boolean;
}

export class ThickLine {
  readonly object: Line2;
  private readonly material: LineMaterial;

  constructor(style: LineStyle) {
    this.material = new LineMaterial({
      linewidth: style.width,
      transparent: true,
      opacity: style.opacity,
      dashed: style.dashed ?? false,
      dashSize: 0.12,
      gapSize: 0.09,
      depthTest: !(style.onTop ?? false),
      depthWrite: false,
    });
    this.object = new Line2(new LineGeometry(), this.material);
    this.object.visible = false;
    this.object.frustumCulled = false;
    this.object.renderOrder = style.onTop ? 9 : 2;
  }

  draw(points: readonly Vec3[]): void {
    this.object.visible = points.length > 1;
    if (!this.object.visible) return;
    // a fresh geometry: three keeps the length of the first one it was given
    this.object.geometry.dispose();
    this.object.geometry = new LineGeometry();
    this.object.geometry.setPositions(points.flat());
    this.object.computeLineDistances();
  }

  paint(colour: string): void {
    this.material.color = new Color(colour);
  }
}
