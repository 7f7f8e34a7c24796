/** The objects as a list: filtered by state and text, walked with the arrow keys. */

import { el, setText } from "../dom";
import { lastSeen, count } from "../format";
import type { MemoryClock } from "../memory_clock";
import { STATES, type Thing, type ThingState } from "../model";
import { shownThings, type State, type Store } from "../store";
import { arrowKeys } from "./arrow_keys";

const MOST_ROWS = 300;
type Order = "name" | "newest";

interface Row {
  readonly element: HTMLLIElement;
  readonly name: HTMLSpanElement;
  readonly where: HTMLSpanElement;
  readonly when: HTMLSpanElement;
}

export class ListPanel {
  private inOrder: readonly Thing[] = [];
  private sortedBy: readonly unknown[] = [];
  private readonly rows = new Map<string, Row>();
  private readonly list = el("ul", { class: "rows", role: "listbox", "aria-label": "Objects", tabindex: -1 });
  private readonly total = el("span", { class: "count" });
  private readonly more = el("p", { class: "hint" });
  private readonly chips = new Map<ThingState, { button: HTMLButtonElement; number: HTMLSpanElement }>();
  private order: Order = "name";

  constructor(
    host: HTMLElement,
    private readonly store: Store,
    private readonly clock: MemoryClock,
    private readonly choose: (id: string) => void,
  ) {
    const filter = el("input", {
      type: "search",
      placeholder: "Filter by name",
      "aria-label": "Filter objects by name",
      autocomplete: "off",
      spellcheck: "false",
    });
    filter.addEventListener("input", () => store.set({ labelFilter: filter.value }));
    const order = el(
      "select",
      { "aria-label": "Order of the list" },
      el("option", { value: "name" }, "by name"),
      el("option", { value: "newest" }, "last seen first"),
    );
    order.addEventListener("change", () => {
      this.order = order.value as Order;
      this.draw(store.state);
    });
    host.append(
      el("header", {}, el("h2", {}, "Objects"), this.total),
      el("div", { class: "chips", role: "group", "aria-label": "States shown" }, ...STATES.map((state) => this.chip(state))),
      el("div", { class: "filter" }, filter, order),
      this.list,
      this.more,
    );
    arrowKeys(this.list);
    store.on(["things", "shownStates", "labelFilter", "selected", "loaded", "arriving", "places", "server", "span"], (state) => this.draw(state));
    setInterval(() => this.draw(store.state), 5000);
  }

  private chip(state: ThingState): HTMLButtonElement {
    const number = el("span", { class: "number" });
    const button = el(
      "button",
      { type: "button", class: "chip", "data-state": state, "aria-pressed": "true", title: `Show or hide ${state} objects` },
      el("i", { class: "glyph" }),
      el("span", { class: "word" }, state),
      number,
    );
    button.addEventListener("click", () => {
      const shown = new Set(this.store.state.shownStates);
      if (!shown.delete(state)) shown.add(state);
      this.store.set({ shownStates: shown });
    });
    this.chips.set(state, { button, number });
    return button;
  }

  private draw(state: Readonly<State>): void {
    this.drawChips(state);
    const shown = this.sorted(state);
    const now = state.asOf ?? this.clock.now;
    const places = new Map(state.places.map((place) => [place.id, place.name]));
    const wanted = shown.slice(0, MOST_ROWS);
    const keep = new Set(wanted.map(({ id }) => id));
    for (const [id, row] of this.rows) {
      if (!keep.has(id)) {
        row.element.remove();
        this.rows.delete(id);
      }
    }
    wanted.forEach((thing, index) => {
      const row = this.row(thing.id);
      row.element.dataset["state"] = thing.state;
      row.element.setAttribute("aria-selected", String(thing.id === state.selected));
      row.element.tabIndex = thing.id === state.selected || (index === 0 && !keep.has(state.selected ?? "")) ? 0 : -1;
      setText(row.name, thing.label);
      row.name.classList.toggle("nameless", !thing.named);
      setText(row.where, thing.place === null ? "" : (places.get(thing.place) ?? ""));
      setText(row.when, lastSeen(thing.lastSeen, now, this.clock));
      row.element.setAttribute("aria-label", `${thing.label}, ${thing.state}, seen ${lastSeen(thing.lastSeen, now, this.clock)}`);
      if (this.list.children[index] !== row.element) this.list.insertBefore(row.element, this.list.children[index] ?? null);
    });
    const all = state.things.size.toLocaleString("en-GB");
    setText(this.total, !state.loaded ? "" : state.arriving ? `${all} so far` : `${shown.length.toLocaleString("en-GB")} of ${all}`);
    setText(this.more, this.remark(state, shown.length));
  }

  /** The objects in order; sorted anew only when something changed, for there may be a hundred thousand. */
  private sorted(state: Readonly<State>): readonly Thing[] {
    const wish = [state.things, state.shownStates, state.labelFilter, this.order] as const;
    if (wish.some((part, index) => part !== this.sortedBy[index])) {
      this.sortedBy = wish;
      const shown = shownThings(state);
      this.inOrder = this.order === "name" ? byName(shown) : shown.sort(byNewest);
    }
    return this.inOrder;
  }

  private remark(state: Readonly<State>, shown: number): string {
    if (!state.loaded) return "Reading the memory…";
    if (!state.things.size) return "Nothing is remembered yet.";
    if (!shown) return "No object passes the filters.";
    return shown > MOST_ROWS ? `and ${count(shown - MOST_ROWS, "more", "more")}: filter to see them` : "";
  }

  private drawChips(state: Readonly<State>): void {
    const numbers = new Map<ThingState, number>();
    for (const thing of state.things.values()) numbers.set(thing.state, (numbers.get(thing.state) ?? 0) + 1);
    for (const [name, { button, number }] of this.chips) {
      setText(number, String(numbers.get(name) ?? 0));
      button.setAttribute("aria-pressed", String(state.shownStates.has(name)));
    }
  }

  private row(id: string): Row {
    let row = this.rows.get(id);
    if (!row) {
      const name = el("span", { class: "name" });
      const where = el("span", { class: "where" });
      const when = el("span", { class: "when" });
      const element = el("li", { role: "option", "data-id": id }, el("i", { class: "glyph" }), name, where, when);
      element.addEventListener("click", () => this.choose(id));
      row = { element, name, where, when };
      this.rows.set(id, row);
    }
    return row;
  }
}

const natural = new Intl.Collator("en", { numeric: true });

/** Labels are few and things may be many: only labels are compared as words. */
function byName(things: Thing[]): Thing[] {
  const labels = [...new Set(things.map(({ label }) => label))].sort(natural.compare);
  const rank = new Map(labels.map((label, index) => [label, index]));
  return things.sort((a, b) => Number(b.named) - Number(a.named) || (rank.get(a.label) ?? 0) - (rank.get(b.label) ?? 0) || byId(a, b));
}

function byNewest(a: Thing, b: Thing): number {
  return b.lastSeen - a.lastSeen || byId(a, b);
}

/** In the order of the numbers that ids end in. */
function byId(a: Thing, b: Thing): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
