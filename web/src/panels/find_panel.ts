/** The robot's search, watched: what it believes by room, why it goes where it goes, how far it came; and the button to begin. */

import { el, setText } from "../dom";
import { count } from "../format";
import type { RobotSearch } from "../model";
import { type Api, ApiError } from "../net/api";
import type { Store } from "../store";

const POLL_SECONDS = 0.7;
const IDLE_SECONDS = 5;
const EAGER_SECONDS = 10;
const WORDS: Readonly<Record<string, string>> = {
  searching: "Searching",
  found: "Found it",
  not_found: "Not found",
  asked: "It has a question",
  stopped: "Given up",
  failed: "The search failed",
};

export class FindPanel {
  private timer = 0;
  private closed = -1;
  /** until when a search that was asked for may not have begun yet */
  private eager = 0;
  private problem = "";
  private readonly title = el("h2", { role: "status" });
  private readonly goal = el("p", { class: "asked" });
  private readonly reason = el("p", { class: "reason" });
  private readonly rooms = el("ul", { class: "shares" });
  private readonly why = el("ul", { class: "whys" });
  private readonly stop = el("button", { type: "button", class: "plain" }, "Give up");
  private readonly close = el("button", { type: "button", class: "plain" }, "Close");

  constructor(
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly api: Api,
    private readonly show: (search: RobotSearch | null) => void,
  ) {
    host.hidden = true;
    host.append(el("header", {}, this.title, this.stop, this.close), this.goal, this.reason, el("h3", {}, "Where it may be"), this.rooms, el("h3", {}, "Why it goes there"), this.why);
    this.stop.addEventListener("click", () => void this.api.stopSearch().then((state) => this.take(state)));
    this.close.addEventListener("click", () => {
      this.closed = this.store.state.robotSearch?.started ?? -1;
      this.problem = "";
      this.draw();
    });
    store.on(["loaded"], ({ loaded }) => loaded && void this.poll());
    store.on(["robotSearch"], () => this.draw());
  }

  /** Let the robot look for something; a real one must have been allowed to move by whoever asks. */
  async begin(goal: string, mayMove: boolean): Promise<void> {
    this.problem = "";
    try {
      this.closed = -1;
      this.eager = performance.now() + EAGER_SECONDS * 1000;
      this.take(await this.api.beginSearch(goal, mayMove));
      this.store.set({ answer: null, selected: null });
    } catch (error) {
      this.problem = error instanceof ApiError ? error.message : "That did not work.";
      this.draw();
    }
    void this.poll();
  }

  private async poll(): Promise<void> {
    clearTimeout(this.timer);
    const state = await this.api.searchState().catch(() => null);
    if (state) this.take(state);
    if (state?.robot === "none") return;
    const soon = state?.status === "searching" || performance.now() < this.eager;
    this.timer = window.setTimeout(() => void this.poll(), 1000 * (soon ? POLL_SECONDS : IDLE_SECONDS));
  }

  private take(state: RobotSearch): void {
    this.store.set({ robotSearch: state });
  }

  private draw(): void {
    const search = this.store.state.robotSearch;
    const shown = search !== null && search.status !== "idle" && this.closed !== search.started;
    this.host.hidden = !shown && !this.problem;
    this.store.set({ finding: !this.host.hidden });
    this.show(shown ? search : null);
    if (this.problem) setText(this.reason, this.problem);
    if (!shown || !search) {
      delete this.host.dataset["status"];
      setText(this.title, "It did not begin");
      setText(this.goal, "");
      this.stop.hidden = true;
      this.close.hidden = false;
      this.rooms.replaceChildren();
      this.why.replaceChildren();
      return;
    }
    this.host.dataset["status"] = search.status;
    setText(this.title, WORDS[search.status] ?? search.status);
    setText(this.goal, `“${search.goal ?? ""}” · ${count(search.steps, "step")}, ${search.metres.toFixed(1)} m`);
    if (!this.problem) setText(this.reason, search.reason ?? "");
    this.stop.hidden = search.status !== "searching";
    this.close.hidden = search.status === "searching";
    this.rooms.replaceChildren(
      ...search.rooms.slice(0, 4).map(({ place, share }) =>
        el("li", {}, el("span", {}, place), el("meter", { min: 0, max: 1, value: share, "aria-label": `Share of ${place}` }), el("span", { class: "number" }, `${Math.round(share * 100)} %`)),
      ),
    );
    this.why.replaceChildren(...[...search.reasons].reverse().slice(0, 5).map(({ source, why }) => el("li", {}, el("b", {}, source), ` ${why.replace(/^memory: /, "")}`)));
  }
}
