/** The sessions and how each one's map is known; shown once there is more than one. */

import { el, setText } from "../dom";
import { count, dateTime } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Match, SessionFrame } from "../model";
import { type Api, ApiError } from "../net/api";
import type { State, Store } from "../store";

const WORDS: Readonly<Record<string, string>> = { stated: "stated by its source", quarantined: "kept apart" };
/** more lines than these show nothing */
const MOST_MATCHES = 60;

export class SessionsPanel {
  private readonly told = el("span", { class: "count" });
  private readonly list = el("ul", { class: "sessions" });
  private readonly remark = el("p", { class: "hint", role: "status" });
  private shown: number | null = null;
  private look = "";

  constructor(
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly api: Api,
    private readonly clock: MemoryClock,
    private readonly show: (matches: readonly Match[]) => void,
  ) {
    host.append(el("details", {}, el("summary", {}, el("h2", {}, "Sessions"), this.told), this.list));
    // the span tells that the clock knows the dates of sessions
    store.on(["sessions", "span", "apart"], (state) => this.draw(state));
  }

  private draw({ sessions, apart }: Readonly<State>): void {
    this.host.hidden = sessions.length < 2;
    if (this.shown !== null && !sessions.some(({ id, state }) => id === this.shown && state === "aligned")) this.hide();
    // building anew only what looks different keeps the focus where it is
    const look = JSON.stringify([sessions.map(({ id, state, reason, first }) => [id, state, reason, dateTime(first, this.clock), apart.get(id)?.length]), this.shown]);
    if (look === this.look) return;
    this.look = look;
    const newest = sessions.at(-1);
    setText(this.told, newest ? `${sessions.length}, the newest ${inWords(newest)}` : "");
    const focused = this.list.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    this.list.replaceChildren(...[...sessions].reverse().map((session) => this.row(session)));
    if (focused) this.list.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private row(session: SessionFrame): HTMLElement {
    const { id, state, reason, first } = session;
    const head = el("p", {}, el("b", {}, `${id}: ${inWords(session)}`), el("time", {}, dateTime(first, this.clock)));
    const row = el("li", { "data-alignment": state }, head, reason ? el("p", { class: "hint" }, reason) : null);
    const own = this.store.state.apart.get(id);
    if (own?.length) row.append(el("p", { class: "hint" }, `${count(own.length, "thing")} of its own, drawn beside the home.`));
    if (state === "aligned" && session.transform && session.pairs.length) {
      const pressed = id === this.shown;
      const button = el("button", { type: "button", class: "plain", "data-key": `evidence ${id}`, "aria-pressed": String(pressed) }, pressed ? "Hide evidence" : "Show evidence");
      button.addEventListener("click", () => (this.shown === id ? this.hide() : void this.open(session)));
      row.append(button);
      if (pressed) row.append(this.remark);
    }
    return row;
  }

  private hide(): void {
    this.shown = null;
    this.show([]);
    this.draw(this.store.state);
  }

  private async open(session: SessionFrame): Promise<void> {
    this.shown = session.id;
    setText(this.remark, "");
    this.draw(this.store.state);
    try {
      const matches = await this.api.matches(session, this.store.state.things, MOST_MATCHES);
      if (this.shown !== session.id) return;
      this.show(matches);
      const gaps = matches.map(({ gap }) => gap).sort((a, b) => a - b);
      const middle = gaps[Math.floor(gaps.length / 2)];
      setText(
        this.remark,
        middle === undefined
          ? "None of the things met again is still there."
          : `Each line leads from a thing to where session ${session.id}'s own map had it. Turned into this map, ${count(gaps.length, "thing")} lie ${Math.round(middle * 100)} cm apart (median).`,
      );
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.remark, error.message);
    }
  }
}

function inWords({ state }: SessionFrame): string {
  return WORDS[state] ?? state;
}
