/** Names over the scene: for the chosen and the nearest things, as many as fit without covering one another. */

import { Vector3 } from "three";

import { el, setText } from "../dom";
import type { Thing } from "../model";
import type { PlaceName } from "./places_layer";
import type { Insets, Stage } from "./stage";

const MOST = 48;
const HEIGHT = 24;
const GAP = 4;
/** pixels between a thing and its name */
const OFF = 6;
const EDGE = 6;
const MOST_SPOTS = 24;
const MANY = 4000;
const SAMPLED = 40;
/** metres around a thing's top that are its own, not what hides it */
const OWN = 0.2;
/** metres that what was only glimpsed counts as farther away: names that are sure come first */
const GLIMPSED = 100;
/** a label that is shown stays until another is clearly nearer: it must not flicker */
const LOYALTY = 0.85;

interface Tag {
  readonly element: HTMLDivElement;
  readonly name: HTMLSpanElement;
  text: string;
  width: number;
}

interface Candidate {
  readonly thing: Thing;
  readonly x: number;
  readonly y: number;
  readonly rank: number;
}

/** Of very many candidates those with the least ranks, by a sample: sorting all of them would take longer than a frame. */
function nearest(candidates: Candidate[]): Candidate[] {
  if (candidates.length < MANY) return candidates;
  const sample = candidates.filter((_, index) => index % SAMPLED === 0).map(({ rank }) => rank).sort((a, b) => a - b);
  const cut = sample[Math.ceil((MOST * 8) / SAMPLED)] ?? Infinity;
  return candidates.filter(({ rank }) => rank <= cut);
}

export class Labels {
  things: readonly Thing[] = [];
  selected: string | null = null;
  hovered: string | null = null;
  answers: ReadonlySet<string> = new Set();
  /** ids of things whose place is not known */
  unplaced: ReadonlySet<string> = new Set();
  shown = true;

  private readonly tags = new Map<string, Tag>();
  private readonly rooms = new Map<number, HTMLDivElement>();
  private readonly pen = document.createElement("canvas").getContext("2d");

  constructor(
    private readonly host: HTMLElement,
    private readonly stage: Stage,
    private readonly insets: () => Insets,
    private readonly placeNames: () => readonly PlaceName[],
    /** whether a wall hides a spot; what is within so many metres of it is not in its way */
    private readonly hides: (spot: Vector3, near: number) => boolean,
  ) {
    if (this.pen) this.pen.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
    stage.afterFrame(() => this.follow());
  }

  private follow(): void {
    const taken: [number, number, number, number][] = [];
    const kept = new Set<string>();
    const top = new Vector3();
    for (const { thing, x, y } of this.candidates()) {
      const marked = this.marked(thing.id);
      const [cx, cy, cz] = thing.centre;
      top.set(cx, cy, cz + thing.size[2] / 2);
      if (!marked && this.hides(top, OWN + Math.hypot(thing.size[0], thing.size[1]) / 2)) continue;
      const tag = this.tag(thing);
      // one at the rim is moved inwards rather than cut
      // between the panels, not half behind them
      const { left: first, right: last } = this.insets();
      const left = Math.min(Math.max(x - tag.width / 2, first + EDGE), this.stage.size.x - last - tag.width - EDGE);
      const box: [number, number, number, number] = [left - GAP, y - HEIGHT - GAP, left + tag.width + GAP, y + GAP];
      const free = taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
      if (!free && thing.id !== this.selected) continue;
      taken.push(box);
      kept.add(thing.id);
      tag.element.dataset["state"] = thing.state;
      tag.element.classList.toggle("marked", marked);
      tag.element.classList.toggle("chosen", thing.id === this.selected);
      tag.element.classList.toggle("apart", this.unplaced.has(thing.id));
      tag.element.classList.toggle("dim", this.answers.size > 0 && !marked);
      tag.element.style.transform = `translate(${left.toFixed(1)}px, ${(y - HEIGHT).toFixed(1)}px)`;
      tag.element.hidden = false;
      if (kept.size >= MOST) break;
    }
    for (const [id, tag] of this.tags) {
      if (!kept.has(id)) {
        tag.element.remove();
        this.tags.delete(id);
      }
    }
    this.followRooms(taken);
  }

  private marked(id: string): boolean {
    return id === this.selected || id === this.hovered || this.answers.has(id);
  }

  private candidates(): Candidate[] {
    const found: Candidate[] = [];
    if (!this.shown) return found;
    const { left, right, top, bottom } = this.insets();
    const point = new Vector3();
    const onScreen = new Vector3();
    for (const thing of this.things) {
      // a scene full of "white thing" tells nothing: such a label comes with the pointer
      if (!thing.named && !this.marked(thing.id)) continue;
      point.set(thing.centre[0], thing.centre[1], thing.centre[2] + thing.size[2] / 2);
      const at = this.stage.onScreen(point, onScreen);
      if (!at || at.x < left || at.x > this.stage.size.x - right) continue;
      const lowest = this.stage.size.y - bottom;
      if (at.y < top || at.y > lowest) continue;
      const { x, z } = at;
      let y = at.y - OFF;
      if (y - HEIGHT < top) {
        // no room above what stands at the upper rim: its name goes below it
        point.z -= thing.size[2];
        const foot = this.stage.onScreen(point, onScreen);
        if (!foot || foot.y + OFF + HEIGHT > lowest) continue;
        y = foot.y + OFF + HEIGHT;
      }
      const loyal = this.tags.has(thing.id) ? LOYALTY : 1;
      const marked = thing.id === this.selected ? -2 : this.marked(thing.id) ? -1 : 0;
      found.push({ thing, x, y, rank: marked * 1000 + (z + (thing.state === "tentative" ? GLIMPSED : 0)) * loyal });
    }
    return nearest(found).sort((a, b) => a.rank - b.rank || (a.thing.id < b.thing.id ? -1 : 1)).slice(0, MOST * 4);
  }

  private tag(thing: Thing): Tag {
    let tag = this.tags.get(thing.id);
    if (!tag) {
      const name = el("span");
      const element = el("div", { class: "tag", "data-id": thing.id }, el("i", { class: "glyph" }), name);
      element.hidden = true;
      this.host.append(element);
      tag = { element, name, text: "", width: 0 };
      this.tags.set(thing.id, tag);
    }
    if (tag.text !== thing.label) {
      tag.text = thing.label;
      setText(tag.name, thing.label);
      tag.width = Math.min(this.pen?.measureText(thing.label).width ?? 60, 160) + 34;
    }
    return tag;
  }

  private followRooms(taken: [number, number, number, number][]): void {
    const seen = new Set<number>();
    for (const { place, spots } of this.shown ? this.placeNames() : []) {
      const half = place.name.length * 5;
      const onScreen = spots.slice(0, MOST_SPOTS).map((spot) => this.stage.onScreen(new Vector3(...spot), new Vector3()));
      const { left, right, top, bottom } = this.insets();
      const free = onScreen.find(
        // whole, not half behind a panel or beyond the rim
        (at) => at && at.x - half > left && at.x + half < this.stage.size.x - right && at.y - 10 > top && at.y + 10 < this.stage.size.y - bottom && !taken.some(([l, t, r, b]) => at.x + half > l && at.x - half < r && at.y + 9 > t && at.y - 9 < b),
      );
      if (!free) continue;
      taken.push([free.x - half, free.y - 10, free.x + half, free.y + 10]);
      let element = this.rooms.get(place.id);
      if (!element) {
        element = el("div", { class: "room" });
        this.rooms.set(place.id, element);
        this.host.prepend(element);
      }
      setText(element, place.name);
      seen.add(place.id);
      element.style.transform = `translate(-50%, -50%) translate(${free.x.toFixed(1)}px, ${free.y.toFixed(1)}px)`;
    }
    for (const [id, element] of this.rooms) {
      if (!seen.has(id)) {
        element.remove();
        this.rooms.delete(id);
      }
    }
  }
}
