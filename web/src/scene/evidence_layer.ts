/** Why a session is believed to lie where it does: a line from each thing met again to where the session's own map had it. */

import { Color, Group, Mesh, MeshBasicMaterial, SphereGeometry } from "three";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import { LineSegments2 } from "three/addons/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";

import type { Match } from "../model";
import type { Palette } from "../theme";

export class EvidenceLayer {
  readonly group = new Group();
  count = 0;
  private readonly material = new LineMaterial({ linewidth: 2, transparent: true, opacity: 0.8, depthTest: false, depthWrite: false });
  private readonly lines = new LineSegments2(new LineSegmentsGeometry(), this.material);
  private readonly dots = new Group();
  private readonly dot = new SphereGeometry(0.06, 16, 12);
  private readonly ink = new MeshBasicMaterial({ transparent: true, opacity: 0.95, depthTest: false });

  constructor() {
    this.lines.visible = false;
    this.lines.frustumCulled = false;
    this.lines.renderOrder = 9;
    this.group.add(this.lines, this.dots);
  }

  show(matches: readonly Match[]): void {
    this.count = matches.length;
    this.dots.clear();
    this.lines.visible = matches.length > 0;
    if (!matches.length) return;
    // a fresh geometry: three keeps the length of the first one it was given
    this.lines.geometry.dispose();
    this.lines.geometry = new LineSegmentsGeometry();
    this.lines.geometry.setPositions(matches.flatMap(({ here, there }) => [...here, ...there]));
    for (const { there } of matches) {
      const mesh = new Mesh(this.dot, this.ink);
      mesh.position.set(...there);
      mesh.renderOrder = 9;
      this.dots.add(mesh);
    }
  }

  paint(palette: Palette): void {
    this.material.color = new Color(palette.chosen);
    this.ink.color = new Color(palette.chosen);
  }
}
