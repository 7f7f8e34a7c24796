/** The question and its answer: found flies there, ambiguous lists the rivals, not found says why. */

import { el, icon, iconButton, setText } from "../dom";
import { spoken } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Answer, Hit, Thing } from "../model";
import { type Api, ApiError, isAbort } from "../net/api";
import type { State, Store } from "../store";
import { hitList } from "./hits";

/** words that begin a question; anything else names a thing */
const QUESTION = /^(how|what|when|where|which|is|are|was|were|did|does|has|since|who|tell)\b|\?$/i;

const NARROW = matchMedia("(max-width: 640px)");

const MOST_EVIDENCE = 12;
/** a second click within so many milliseconds is the same wish, not the answer to the question that it raised */
const DOUBLE_CLICK = 700;

/** over things that do not answer; the command line says the same */
const CLOSEST = "Closest, but not it";

const VERDICTS = { found: "Found", ambiguous: "More than one fits", not_found: "Not found" } as const;

export class SearchPanel {
  readonly input: HTMLInputElement;
  private asking: AbortController | null = null;
  private drawnFrom: readonly unknown[] = [];

  constructor(
    form: HTMLFormElement,
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly api: Api,
    private readonly clock: MemoryClock,
    private readonly choose: (thing: Thing) => void,
    private readonly showAll: (hits: readonly Hit[]) => void,
    private readonly find: (goal: string, mayMove: boolean) => void,
  ) {
    this.input = el("input", {
      type: "search",
      name: "query",
      placeholder: "Find or ask",
      "aria-label": "Ask where something is, or a question",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 200,
      enterkeyhint: "search",
    });
    const clear = iconButton("close", "Clear the search", () => this.clear());
    clear.classList.add("clear");
    form.append(icon("search"), this.input, el("kbd", { "aria-hidden": "true" }, "/"), clear);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.ask(this.input.value.trim());
    });
    store.on(["answer", "searching", "places", "robotSearch"], (state) => {
      // what a live home brings every second must not take a button from under a finger
      const drawnFrom = [state.answer, state.searching, state.robotSearch?.robot ?? "none", state.places.map(({ id, name }) => `${id} ${name}`).join()];
      if (drawnFrom.every((part, index) => part === this.drawnFrom[index])) return;
      this.drawnFrom = drawnFrom;
      this.draw(state);
    });
    store.on(["asOf"], ({ answer }) => {
      // an answer about another time would contradict what is shown
      if (answer && answer.asOf !== store.state.asOf) store.set({ answer: null });
    });
  }

  clear(): void {
    this.asking?.abort();
    this.input.value = "";
    this.store.set({ answer: null, searching: false });
    this.input.focus();
  }

  private async ask(query: string, wide = false): Promise<void> {
    this.asking?.abort();
    if (!query) {
      this.store.set({ answer: null, searching: false });
      return;
    }
    const asking = new AbortController();
    this.asking = asking;
    // a narrow box shows the words from their beginning again, and a phone puts its keyboard away
    if (NARROW.matches) {
      this.input.blur();
      this.input.scrollLeft = 0;
    }
    this.store.set({ searching: true, selected: null });
    const asOf = this.store.state.asOf;
    try {
      const asks = asOf === null && !wide && QUESTION.test(query);
      const answer = await (asks ? this.api.ask(query, asking.signal) : this.api.search(query, asOf, wide, asking.signal));
      this.store.set({ answer, searching: false });
      const best = answer.hits[0];
      // a sentence may rest on many things: they are looked at together
      if (answer.sentence !== null && answer.hits.length > 1) this.showAll(answer.hits);
      else if (answer.status === "found" && best) this.choose(best.thing);
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.store.set({ answer: { query, status: "not_found", reason: error.message, hits: [], asOf, wide: true, sentence: `No answer: ${error.message}` }, searching: false });
    }
  }

  private draw(state: Readonly<State>): void {
    const { answer, searching } = state;
    this.host.hidden = !answer && !searching;
    this.host.replaceChildren();
    if (searching) {
      this.host.append(el("p", { class: "hint busy", role: "status" }, "Looking in memory…"));
    } else if (answer) {
      this.host.dataset["status"] = answer.status;
      this.host.append(...this.card(answer));
    }
  }

  private card(answer: Answer): HTMLElement[] {
    const close = iconButton("close", "Close the answer", () => this.clear());
    const verdict = el("h2", { class: "verdict", role: "status" }, VERDICTS[answer.status]);
    const asked = el("p", { class: "asked" }, "“", el("b", {}, answer.query), "”");
    if (answer.sentence !== null) {
      setText(verdict, spoken(answer.sentence, this.clock));
      verdict.classList.add("sentence");
      const shown = answer.status === "not_found" ? [] : answer.hits.slice(0, MOST_EVIDENCE);
      const more = answer.hits.length - shown.length;
      const parts = [el("header", {}, verdict, close), asked];
      if (shown.length) parts.push(el("h3", {}, "Because of"), this.hits(shown, false));
      if (shown.length && more > 0) parts.push(el("p", { class: "hint" }, `and ${more} more, lit up in the home`));
      return parts;
    }
    const parts = [el("header", {}, verdict, close), asked];
    // that a sofa fits "sofa" goes without saying
    if (answer.status !== "found" || answer.hits[0]?.thing.label !== answer.query) parts.push(el("p", { class: "reason" }, answer.reason));
    if (answer.status === "found") {
      const [best, ...others] = answer.hits;
      if (best) parts.push(this.hits([best]));
      const [possible, closest] = [others.filter(({ fits }) => fits), others.filter(({ fits }) => !fits)];
      if (possible.length) parts.push(el("h3", {}, "Also possible"), this.hits(possible));
      if (closest.length) parts.push(el("h3", {}, CLOSEST), this.hits(closest));
    } else if (answer.status === "ambiguous") {
      parts.push(this.hits(answer.hits.filter(({ fits }) => fits)));
    } else if (answer.hits.length) {
      parts.push(el("h3", {}, CLOSEST), this.hits(answer.hits.slice(0, 3)));
    }
    if (answer.status === "not_found" && !answer.wide) {
      const again = el("button", { type: "button", class: "plain" }, "Ask tentative and removed ones too");
      again.addEventListener("click", () => void this.ask(answer.query, true));
      parts.push(again);
    }
    const robot = this.store.state.robotSearch?.robot ?? "none";
    if (robot !== "none" && answer.asOf === null) parts.push(this.sendRobot(answer.query, robot === "real"));
    return parts;
  }

  /** A simulated robot goes at once; before a real one moves, somebody is asked. */
  private sendRobot(goal: string, isReal: boolean): HTMLElement {
    const go = el("button", { type: "button", class: "primary find" }, "Find it");
    let asked: number | null = null;
    go.addEventListener("click", () => {
      if (isReal && asked === null) {
        asked = performance.now();
        setText(go, "The robot will drive. Go?");
      } else if (asked === null || performance.now() - asked > DOUBLE_CLICK) {
        this.find(goal, isReal);
      }
    });
    return go;
  }

  /** What a sentence rests on has no score: it is counted, or it is not. */
  private hits(hits: readonly Hit[], scored = true): HTMLElement {
    const { places, asOf } = this.store.state;
    const named = hits.map(({ thing, score }) => ({ thing, score: scored ? score : null }));
    return hitList(named, { places, now: asOf ?? this.clock.now, clock: this.clock, choose: ({ thing }) => this.choose(thing) });
  }
}
