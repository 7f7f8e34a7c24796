/** Everything about one object: its pictures, facts, neighbours and past. */

import { el, icon, iconButton } from "../dom";
import { ago, centimetres, clockTime, kindInWords, metres } from "../format";
import { iconPaths, type IconName } from "../icons";
import type { MemoryClock } from "../memory_clock";
import type { HistoryStep, Thing } from "../model";
import { type Api, ApiError, type Details, isAbort } from "../net/api";
import { spotsOf } from "../scene/track_layer";
import { isUnplaced, type State, type Store, thingApart } from "../store";
import { Corrections } from "./corrections";
import type { Notice } from "./notice";

const MOST_STEPS = 12;
export const GONE = "It is no longer in the memory.";
/** seconds between two readings of the same object while it changes */
const REREAD_SECONDS = 3;

export class DetailsPanel {
  private reading: AbortController | null = null;
  private shownId: string | null = null;
  private shownLook = "";
  private details: Details | null = null;
  private history: readonly HistoryStep[] = [];
  private problem = "";
  private readAt = -Infinity;
  private drawnAsOf: number | null = null;
  private readonly corrections: Corrections;

  constructor(
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly api: Api,
    private readonly clock: MemoryClock,
    private readonly onHistory: (history: readonly HistoryStep[]) => void,
    private readonly choose: (id: string) => void,
    private readonly fly: (thing: Thing) => void,
    notice: Notice,
  ) {
    this.corrections = new Corrections(api, notice, (gone) => {
      if (gone !== null && gone === this.store.state.selected) this.store.set({ selected: null });
      else this.reread();
    });
    store.on(["selected", "things", "asOf", "places", "server", "sessions", "span"], (state) => this.follow(state));
  }

  private follow(state: Readonly<State>): void {
    if (state.selected !== this.shownId) {
      this.shownId = state.selected;
      this.details = null;
      this.history = [];
      this.problem = "";
      this.readAt = -Infinity;
      this.onHistory([]);
      this.host.scrollTop = 0;
      this.corrections.close();
    }
    this.host.hidden = this.shownId === null;
    if (this.shownId === null) {
      this.reading?.abort();
      this.host.replaceChildren();
      this.shownLook = "";
      return;
    }
    if (state.asOf !== this.drawnAsOf) {
      this.drawnAsOf = state.asOf;
      this.onHistory(this.historyThen);
    }
    const thing = state.things.get(this.shownId);
    if (thingApart(state, this.shownId)) {
      this.draw();
      return;
    }
    const fresh = performance.now() - this.readAt > REREAD_SECONDS * 1000;
    // deleted or merged, here or elsewhere: asking again would only be told so
    const left = !thing && this.details !== null && state.asOf === null;
    if (left) this.problem = GONE;
    // an undo brought it back
    else if (thing && this.problem === GONE) void this.read(this.shownId);
    else if (fresh && (thing?.lastSeen !== this.details?.thing.lastSeen || !this.details)) void this.read(this.shownId);
    this.draw();
  }

  /** After a correction: what was read before no longer holds. */
  private reread(): void {
    this.readAt = -Infinity;
    if (this.shownId !== null && this.store.state.things.has(this.shownId)) void this.read(this.shownId);
  }

  private async read(id: string): Promise<void> {
    this.reading?.abort();
    const reading = new AbortController();
    this.reading = reading;
    this.readAt = performance.now();
    if (this.problem === GONE) this.problem = "";
    try {
      const [details, history] = await Promise.all([this.api.object(id, reading.signal), this.api.history(id, reading.signal)]);
      if (this.shownId !== id) return;
      this.details = details;
      this.history = history;
      this.problem = "";
      this.onHistory(this.historyThen);
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.problem = error.status === 404 ? GONE : error.message;
    }
    this.draw();
  }

  private draw(): void {
    const { state } = this.store;
    const id = this.shownId;
    if (id === null || this.corrections.asking) return;
    const apart = thingApart(state, id);
    const thing = state.things.get(id) ?? apart ?? (state.asOf === null ? this.details?.thing : undefined);
    const now = state.asOf ?? this.clock.now;
    const place = state.places.find((candidate) => candidate.id === thing?.place)?.name;
    // building anew only what looks different keeps focus and scrolling where they are
    const look = JSON.stringify([id, thing, thing && clockTime(thing.lastSeen, this.clock), place, this.details?.images, this.history.length, this.problem, Math.round(now / 5), state.asOf, this.canCorrect, isUnplaced(state)]);
    if (look === this.shownLook) return;
    this.shownLook = look;
    const focused = this.host.contains(document.activeElement) ? (document.activeElement?.getAttribute("data-key") ?? null) : null;
    this.host.replaceChildren(...this.parts(id, thing, now, place));
    if (focused) this.host.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private parts(id: string, thing: Thing | undefined, now: number, place: string | undefined): (HTMLElement | string)[] {
    const close = iconButton("close", "Close the details", () => this.store.set({ selected: null }));
    close.dataset["key"] = "close";
    const title = el("h2", {}, thing?.label ?? this.details?.thing.label ?? id);
    const parts: HTMLElement[] = [el("header", {}, title, el("code", {}, id), close)];
    if (this.problem) parts.push(el("p", { class: "problem", role: "alert" }, this.problem));
    if (!thing) {
      const when = this.store.state.asOf;
      if (when !== null) parts.push(el("p", { class: "reason" }, `It was not known yet at ${clockTime(when, this.clock)}.`));
    } else {
      // what it was like when it was last read, of which nothing can be corrected
      const left = this.store.state.asOf === null && !this.store.state.things.has(id) && thingApart(this.store.state, id) === undefined && this.problem !== "";
      if (left) return [...parts, this.pictures(thing), this.facts(thing, now, place)];
      const goto = el("button", { type: "button", class: "plain", "data-key": "fly" }, icon("pin"), "Fly there");
      goto.addEventListener("click", () => this.fly(thing));
      parts.push(el("p", { class: "badges" }, el("span", { class: "badge", "data-state": thing.state }, el("i", { class: "glyph" }), thing.state), goto));
      const apart = thingApart(this.store.state, id) !== undefined;
      if (apart) {
        parts.push(el("p", { class: "reason unplaced" }, `Seen in ${id.replace("-", " ").replace(/\/.*/, "")}, which is kept apart: where its map lies in this one is not known yet.`));
        parts.push(this.facts(thing, now, place));
        return parts;
      }
      if (isUnplaced(this.store.state)) parts.push(el("p", { class: "reason unplaced" }, "Remembered, but where that is from here is not known yet."));
      if (this.canCorrect) parts.push(this.corrections.show(thing, this.store.state.things.values()));
      parts.push(this.pictures(thing));
      parts.push(this.facts(thing, now, place));
    }
    // what stands around it is told of now only
    if (this.store.state.asOf === null && this.details?.relations.length) parts.push(this.relations(this.details));
    if (this.historyThen.length) parts.push(this.past(this.historyThen));
    return parts;
  }

  /** What had happened to it by the moment shown. */
  private get historyThen(): readonly HistoryStep[] {
    const { asOf } = this.store.state;
    return asOf === null ? this.history : this.history.filter(({ time }) => time <= asOf);
  }

  /** The past is not corrected, and neither is a memory that was opened for reading. */
  private get canCorrect(): boolean {
    const { server, asOf } = this.store.state;
    return asOf === null && server !== null && !server.readOnly;
  }

  private pictures(thing: Thing): HTMLElement {
    const { asOf } = this.store.state;
    const urls = this.details?.thing.id === thing.id ? this.details.images.filter(({ time }) => asOf === null || time <= asOf).slice(0, 4) : null;
    if (urls && !urls.length) return el("p", { class: "hint" }, asOf === null ? "No picture was kept." : "No picture was kept from before then.");
    const frames = (urls ?? []).map(({ url }, index) => {
      const picture = el("img", { alt: `${thing.label}, picture ${index + 1}`, loading: "lazy" });
      picture.addEventListener("error", () => picture.classList.add("none"));
      picture.src = url;
      return picture;
    });
    return el("div", { class: "pictures" }, ...frames);
  }

  private facts(thing: Thing, now: number, place: string | undefined): HTMLElement {
    const facts: [string, string][] = [
      ["Last seen", clockTime(thing.lastSeen, this.clock) + (this.clock.live ? ` (${ago(this.clock.between(thing.lastSeen, now))})` : "")],
      ["First seen", clockTime(thing.firstSeen, this.clock)],
      ["Sightings", String(thing.hits)],
      ["Sightings alike", `${Math.round(thing.confidence * 100)} %`],
    ];
    if (place) facts.unshift(["Place", place]);
    if (this.details?.colour) facts.push(["Colour", this.details.colour]);
    facts.push(["Position", `${metres(thing.centre)} m`], ["Size", centimetres(thing.size)]);
    const others = (this.store.state.asOf === null ? (this.details?.labels ?? []) : []).filter(([name]) => name !== thing.label).slice(0, 2);
    if (others.length) facts.push(["Or a", others.map(([name, score]) => `${name} (${Math.round(score * 100)} %)`).join(", ")]);
    return el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }

  private relations(details: Details): HTMLElement {
    const links = details.relations.slice(0, 6).map(({ kind, otherId, otherLabel }) => {
      const link = el("button", { type: "button", class: "link", "data-key": `rel ${kind} ${otherId}` }, otherLabel);
      link.addEventListener("click", () => this.choose(otherId));
      return el("li", {}, `${kind.replaceAll("_", " ")} `, link);
    });
    return el("section", {}, el("h3", {}, "Around it"), el("ul", { class: "relations" }, ...links));
  }

  private past(history: readonly HistoryStep[]): HTMLElement {
    const spots = spotsOf(history).length;
    const told = history.filter(({ kind }) => kind !== "known").slice(-MOST_STEPS).reverse();
    const steps = told.map(({ kind, time }) =>
      el(
        "li",
        { "data-kind": kind },
        el("span", { class: "sign" }, icon(kind in iconPaths ? (kind as IconName) : "pin")),
        el("span", { class: "name" }, kindInWords(kind)),
        el("time", { class: "when" }, clockTime(time, this.clock)),
      ),
    );
    const stayed = this.store.state.asOf === null ? "It has stayed where it is." : "It had stayed where it was.";
    const track = spots > 1 ? `It was known at ${spots} places; the dashed line shows its way.` : stayed;
    return el("section", {}, el("h3", {}, "History"), el("p", { class: "hint" }, track), el("ul", { class: "steps" }, ...steps));
  }
}
