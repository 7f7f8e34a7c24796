/** The question and its answer: found flies there, ambiguous lists the rivals, not found says why. */

import { el, icon, iconButton, setText } from "../dom";
import { lastSeen, spoken } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Answer, Hit } from "../model";
import { type Api, ApiError, isAbort } from "../net/api";
import type { State, Store } from "../store";

/** words that begin a question; anything else names a thing */
const QUESTION = /^(how|what|when|where|which|is|are|was|were|did|does|has|since|who|tell)\b|\?$/i;

const NARROW = matchMedia("(max-width: 640px)");

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
    private readonly choose: (hit: Hit) => void,
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
      else if (answer.status === "found" && best) this.choose(best);
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
      this.host.append(...this.card(answer, new Map(state.places.map((place) => [place.id, place.name]))));
    }
  }

  private card(answer: Answer, places: ReadonlyMap<number, string>): HTMLElement[] {
    const close = iconButton("close", "Close the answer", () => this.clear());
    const verdict = el("h2", { class: "verdict", role: "status" }, VERDICTS[answer.status]);
    const asked = el("p", { class: "asked" }, "“", el("b", {}, answer.query), "”");
    if (answer.sentence !== null) {
      setText(verdict, spoken(answer.sentence, this.clock));
      verdict.classList.add("sentence");
      const shown = answer.status === "not_found" ? [] : answer.hits.slice(0, 12);
      return [el("header", {}, verdict, close), asked, ...(shown.length ? [el("h3", {}, "Because of"), this.hits(shown, places, false)] : [])];
    }
    const parts = [el("header", {}, verdict, close), asked];
    // that a sofa fits "sofa" goes without saying
    if (answer.status !== "found" || answer.hits[0]?.thing.label !== answer.query) parts.push(el("p", { class: "reason" }, answer.reason));
    if (answer.status === "found") {
      const [best, ...others] = answer.hits;
      if (best) parts.push(this.hits([best], places));
      if (others.length) parts.push(el("h3", {}, "Also possible"), this.hits(others, places));
    } else if (answer.status === "ambiguous") {
      parts.push(this.hits(answer.hits.slice(0, 3), places));
    } else if (answer.hits.length) {
      parts.push(el("h3", {}, "Nearest, but no match"), this.hits(answer.hits.slice(0, 3), places));
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
    go.addEventListener("click", () => {
      if (isReal && go.dataset["asked"] === undefined) {
        go.dataset["asked"] = "";
        setText(go, "The robot will drive. Go?");
      } else {
        this.find(goal, isReal);
      }
    });
    return go;
  }

  /** What a sentence rests on has no score: it is counted, or it is not. */
  private hits(hits: readonly Hit[], places: ReadonlyMap<number, string>, scored = true): HTMLElement {
    return el("ul", { class: "hits" }, ...hits.map((hit) => this.hit(hit, places, scored)));
  }

  private hit(hit: Hit, places: ReadonlyMap<number, string>, scored: boolean): HTMLLIElement {
    const { thing, score } = hit;
    const now = this.store.state.asOf ?? this.clock.now;
    const picture = el("img", { alt: "", loading: "lazy", width: 56, height: 56 });
    picture.addEventListener("error", () => picture.classList.add("none"));
    picture.src = `/objects/${encodeURIComponent(thing.id)}/image`;
    const meter = el("meter", { min: 0, max: 1, value: score, "aria-label": "Score" });
    const place = thing.place === null ? undefined : places.get(thing.place);
    const facts = el("span", { class: "where" });
    setText(facts, [place, `seen ${this.clock.live ? "" : "at "}${lastSeen(thing.lastSeen, now, this.clock)}`].filter(Boolean).join(" · "));
    const button = el(
      "button",
      { type: "button", class: "hit", "data-state": thing.state, "data-id": thing.id },
      picture,
      el("span", { class: "name" }, el("i", { class: "glyph" }), el("span", {}, thing.label)),
      facts,
      scored ? el("span", { class: "score" }, meter, score.toFixed(2)) : null,
    );
    button.addEventListener("click", () => this.choose(hit));
    return el("li", {}, button);
  }
}
