/** The robot's search, watched: what memory offers, where it may be, why it goes where it goes; and how it is begun. */

import { el, setText } from "../dom";
import { count, spoken } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { RobotSearch } from "../model";
import { type Api, ApiError } from "../net/api";
import type { Store } from "../store";
import { hitList } from "./hits";

const POLL_SECONDS = 0.7;
const IDLE_SECONDS = 5;
/** the robot ends what it does before it sets out */
const EAGER_SECONDS = 15;
const SETTLE_SECONDS = 0.2;
/** steps after which a search without a path is one that explores */
const LOOK_AROUND = 6;
const MOST_CANDIDATES = 3;
const MOST_ROOMS = 4;
const MOST_REASONS = 4;
const WORDS: Readonly<Record<string, string>> = {
  searching: "Searching",
  found: "Found it",
  not_found: "Not found",
  asked: "It has a question",
  stopped: "Given up",
  failed: "The search failed",
};
/** who decides, as people call it */
const SOURCES: Readonly<Record<string, string>> = { panorama: "planner", hypothesis: "planner", rules: "rule", fallback: "rule" };

export class FindPanel {
  private timer = 0;
  private closed = -1;
  /** a search that this page asked for and that has not begun yet: its goal, the number of the one before, until when */
  private awaited: { readonly goal: string; readonly before: number; readonly until: number } | null = null;
  private asking = false;
  /** whether a search that this page began is still to be looked at */
  private unframed = false;
  /** why a search did not begin */
  private refusal = "";
  /** why something else did not work, while a search is shown */
  private problem = "";
  private offered = "";
  private readonly title = el("h2", { role: "status" });
  private readonly goal = el("p", { class: "asked" });
  private readonly reason = el("p", { class: "reason" });
  private readonly where = el("section", {});
  private readonly rooms = el("ul", { class: "shares" });
  private readonly candidates = el("section", {});
  private readonly reasons = el("section", {});
  private readonly whyTitle = el("h3", {});
  private readonly why = el("ul", { class: "whys" });
  private readonly stop = el("button", { type: "button", class: "plain" }, "Give up");
  private readonly close = el("button", { type: "button", class: "plain" }, "Close");

  constructor(
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly api: Api,
    private readonly clock: MemoryClock,
    private readonly show: (search: RobotSearch | null) => void,
    /** look at a search that this page began, once its path is known */
    private readonly frame: (search: RobotSearch) => void,
    private readonly choose: (id: string) => void,
  ) {
    host.hidden = true;
    this.where.append(el("h3", {}, "Where it may be"), this.rooms);
    this.reasons.append(this.whyTitle, this.why);
    host.append(el("header", {}, this.title, this.stop, this.close), this.goal, this.reason, this.where, this.candidates, this.reasons);
    this.stop.addEventListener("click", () => void this.giveUp());
    this.close.addEventListener("click", () => this.hide());
    store.on(["loaded"], ({ loaded }) => loaded && void this.poll());
    store.on(["robotSearch"], () => this.draw());
    // who asks something else has read how the search before ended
    store.on(["searching"], ({ searching, robotSearch }) => {
      if (searching && robotSearch?.status !== "searching" && !this.awaited) this.hide();
    });
  }

  /** Let the robot look for something; a real one must have been allowed to move by whoever asks. */
  async begin(goal: string, mayMove: boolean): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    this.problem = this.refusal = "";
    const before = this.store.state.robotSearch?.started ?? 0;
    try {
      const state = await this.api.beginSearch(goal, mayMove);
      this.closed = -1;
      this.awaited = { goal, before, until: performance.now() + EAGER_SECONDS * 1000 };
      this.store.set({ answer: null, selected: null });
      this.take(state);
      this.draw();
    } catch (error) {
      this.refusal = inWords(error);
      this.draw();
    } finally {
      this.asking = false;
    }
    void this.poll();
  }

  private async giveUp(): Promise<void> {
    this.problem = "";
    this.stop.disabled = true;
    try {
      this.take(await this.api.stopSearch());
    } catch (error) {
      this.problem = inWords(error);
      this.draw();
    } finally {
      this.stop.disabled = false;
    }
  }

  private hide(): void {
    const search = this.store.state.robotSearch;
    if (search && search.status !== "searching") this.closed = search.started;
    this.problem = this.refusal = "";
    this.draw();
  }

  private async poll(): Promise<void> {
    clearTimeout(this.timer);
    const first = this.store.state.robotSearch === null;
    const state = await this.api.searchState().catch(() => null);
    // how a search ended before this page was opened is no news
    if (state && first && state.status !== "searching") this.closed = state.started;
    if (state) this.take(state);
    if (state?.robot === "none") return;
    const soon = state?.status === "searching" || this.awaited !== null;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.poll(), 1000 * (soon ? POLL_SECONDS : IDLE_SECONDS));
  }

  private take(state: RobotSearch): void {
    const { awaited } = this;
    if (awaited && state.started > awaited.before) {
      this.awaited = null;
      this.unframed = true;
    } else if (awaited && performance.now() > awaited.until) {
      this.awaited = null;
      this.refusal = "The robot did not set out: is it still busy with something else?";
    }
    const knowsWay = state.path.length > 0 || state.steps > LOOK_AROUND || state.status !== "searching";
    if (this.unframed && knowsWay) {
      this.unframed = false;
      // when the card has its size, and what it covers of the scene is known
      window.setTimeout(() => this.frame(state), SETTLE_SECONDS * 1000);
    }
    this.store.set({ robotSearch: state });
  }

  private draw(): void {
    const search = this.store.state.robotSearch;
    const waits = this.awaited !== null && (search?.started ?? 0) <= this.awaited.before;
    const shown = search !== null && search.status !== "idle" && this.closed !== search.started && !waits && !this.refusal;
    this.host.hidden = !shown && !waits && !this.refusal;
    this.store.set({ finding: !this.host.hidden });
    this.show(shown ? search : null);
    this.stop.hidden = !(waits || (shown && search.status === "searching"));
    this.close.hidden = !this.stop.hidden;
    for (const part of [this.where, this.candidates, this.reasons]) part.hidden = !shown;
    setText(this.reason, this.refusal);
    if (!shown || !search) {
      delete this.host.dataset["status"];
      setText(this.title, waits ? "Setting out" : "It did not begin");
      setText(this.goal, waits ? `“${this.awaited?.goal ?? ""}”` : "");
      return;
    }
    this.drawSearch(search);
  }

  private drawSearch(search: RobotSearch): void {
    const searching = search.status === "searching";
    this.host.dataset["status"] = search.status;
    setText(this.title, WORDS[search.status] ?? search.status);
    setText(this.goal, `“${search.goal ?? ""}” · ${count(search.steps, "step")}, ${search.metres.toFixed(1)} m`);
    const reason = spoken((search.reason ?? "").replace(/^memory: /, ""), this.clock);
    // that an armchair fits "armchair" goes without saying
    setText(this.reason, this.problem || (reason === `${search.goal} fits '${search.goal}'` ? "" : reason));
    this.where.hidden = !searching;
    this.rooms.replaceChildren(
      ...search.rooms.slice(0, MOST_ROOMS).map(({ place, share }) =>
        el("li", {}, el("span", {}, place === "unknown" ? "no known room" : place), el("meter", { min: 0, max: 1, value: share, "aria-label": `Share of ${place}` }), el("span", { class: "number" }, `${Math.round(share * 100)} %`)),
      ),
    );
    if (!search.rooms.length) this.rooms.replaceChildren(el("li", { class: "hint" }, search.steps ? "Nowhere that is known: it explores." : "It looks around."));
    this.drawCandidates(search);
    setText(this.whyTitle, searching ? "Why it goes there" : "Why it went there");
    const whys = [...search.reasons].reverse().map(({ source, why }) => [SOURCES[source] ?? source, spoken(why.replace(/^memory: /, ""), this.clock)] as const);
    const told = whys.filter(([source, why], index) => whys.findIndex(([first, same]) => first === source && same === why) === index);
    this.why.replaceChildren(...told.slice(0, MOST_REASONS).map(([source, why]) => el("li", {}, el("b", {}, source), ` ${why}`)));
    this.reasons.hidden = !told.length;
  }

  /** What memory takes for it; built anew only when that changed, for a finger may be on the way to it. */
  private drawCandidates(search: RobotSearch): void {
    const { candidates, givenUp } = search;
    this.candidates.hidden = !candidates.length;
    const { places } = this.store.state;
    // a page that opens in the middle of a search learns the places and the clock later
    const offered = JSON.stringify([search.started, candidates.map(({ id }) => id), givenUp, this.clock.live, places.map(({ id, name }) => [id, name])]);
    if (offered === this.offered) return;
    this.offered = offered;
    const gone = new Set(givenUp);
    const rows = [...candidates].sort((a, b) => Number(gone.has(a.id)) - Number(gone.has(b.id))).slice(0, MOST_CANDIDATES);
    const named = rows.map((thing) => ({ thing, score: null, ...(gone.has(thing.id) ? { instead: "looked for in vain" } : {}) }));
    const more = candidates.length - rows.length;
    this.candidates.replaceChildren(
      el("h3", {}, "What memory offers"),
      hitList(named, { places, now: this.clock.now, clock: this.clock, choose: ({ thing }) => this.choose(thing.id) }),
      ...(more ? [el("p", { class: "hint" }, `and ${more} more`)] : []),
    );
  }
}

function inWords(error: unknown): string {
  return error instanceof ApiError ? error.message : "That did not work.";
}
