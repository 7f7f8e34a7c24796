/** What happened, newest first; while one looks back, only what had happened by then. */

import { el, icon, setText } from "../dom";
import { clockTime, kindInWords } from "../format";
import { iconPaths, type IconName } from "../icons";
import type { MemoryClock } from "../memory_clock";
import type { Happening } from "../model";
import { nameless } from "../net/api";
import type { State, Store } from "../store";
import { arrowKeys } from "./arrow_keys";

const MOST_ROWS = 80;
/** first glimpses and merged doubles of everything would drown what matters */
const QUIET = new Set(["appeared", "merged"]);

/** that something nobody can name was confirmed is no news either */
function isMinor({ kind, label }: Happening): boolean {
  return QUIET.has(kind) || (kind === "confirmed" && !label);
}

interface Folded extends Happening {
  /** how many of its kind it stands for */
  readonly count: number;
}

/** Merges of one thing that follow one another are one line. */
function folded(happenings: readonly Happening[]): Folded[] {
  const lines: Folded[] = [];
  for (const happening of happenings) {
    const last = lines.at(-1);
    if (last && happening.kind === "merged" && last.kind === "merged" && last.label === happening.label) {
      lines[lines.length - 1] = { ...happening, count: last.count + 1, key: `${happening.key} ${last.count + 1}` };
    } else {
      lines.push({ ...happening, count: 1 });
    }
  }
  return lines;
}

export class FeedPanel {
  private readonly list = el("ul", { class: "rows feed", role: "listbox", "aria-label": "Events", tabindex: -1 });
  private readonly empty = el("p", { class: "hint" });
  private readonly rows = new Map<string, { element: HTMLLIElement; when: HTMLTimeElement }>();
  private all = false;

  constructor(
    host: HTMLElement,
    private readonly store: Store,
    private readonly clock: MemoryClock,
    private readonly choose: (id: string) => void,
  ) {
    const all = el("input", { type: "checkbox", id: "all-events" });
    all.addEventListener("change", () => {
      this.all = all.checked;
      this.draw(store.state);
    });
    host.append(
      el("header", {}, el("h2", {}, "Events"), el("label", { class: "switch", for: "all-events" }, all, "all")),
      this.list,
      this.empty,
    );
    arrowKeys(this.list);
    store.on(["happenings", "asOf", "loaded", "span"], (state) => this.draw(state));
  }

  private draw(state: Readonly<State>): void {
    const until = state.asOf ?? Infinity;
    const shown = folded(state.happenings.filter((one) => one.time <= until && (this.all || !isMinor(one))))
      .slice(-MOST_ROWS)
      .reverse();
    const keep = new Set(shown.map(({ key }) => key));
    for (const [key, row] of this.rows) {
      if (!keep.has(key)) {
        row.element.remove();
        this.rows.delete(key);
      }
    }
    shown.forEach((happening, index) => {
      const row = this.row(happening);
      row.element.tabIndex = index === 0 ? 0 : -1;
      // the date of a session may become known later than its events
      setText(row.when, clockTime(happening.time, this.clock));
      if (this.list.children[index] !== row.element) this.list.insertBefore(row.element, this.list.children[index] ?? null);
    });
    const past = state.happenings.some(({ time }) => time <= until);
    setText(this.empty, shown.length ? "" : past ? "Only minor ones so far." : "Nothing has happened yet.");
  }

  private row(happening: Folded): { element: HTMLLIElement; when: HTMLTimeElement } {
    const known = this.rows.get(happening.key);
    if (known) return known;
    const drawn: IconName = happening.kind in iconPaths ? (happening.kind as IconName) : "pin";
    const when = el("time", { class: "when" });
    const element = el(
      "li",
      { role: "option", "data-kind": happening.kind },
      el("span", { class: "sign" }, icon(drawn)),
      el("span", { class: "name" }, el("span", {}, happening.label || (this.store.state.things.get(happening.id)?.label ?? nameless())), el("span", { class: "kind" }, kindInWords(happening.kind, happening.count))),
      when,
    );
    element.addEventListener("click", () => this.choose(happening.id));
    const row = { element, when };
    this.rows.set(happening.key, row);
    return row;
  }
}
