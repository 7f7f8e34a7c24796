/** Putting right what the memory got wrong: a name, two entries of one thing, a thing that is none. */

import { el, icon } from "../dom";
import type { Thing } from "../model";
import { type Api, ApiError } from "../net/api";
import type { Notice } from "./notice";

const MOST_NEIGHBOURS = 12;
/** milliseconds after which an answer that has not come is spoken of */
const PATIENCE = 2000;

export class Corrections {
  readonly element = el("div", { class: "corrections" });
  private thing: Thing | null = null;
  private others: readonly Thing[] = [];
  private open = false;

  constructor(
    private readonly api: Api,
    private readonly notice: Notice,
    private readonly done: (gone: string | null) => void,
  ) {}

  /** Whether a question stands open: what is around it must not be built anew meanwhile. */
  get asking(): boolean {
    return this.open;
  }

  /** Show the ways to correct one object; ``things`` are those it could be the same as. */
  show(thing: Thing, things: Iterable<Thing>): HTMLElement {
    if (this.thing?.id !== thing.id) this.open = false;
    this.thing = thing;
    this.others = mostAlike(thing, things);
    if (!this.open) this.rest();
    return this.element;
  }

  close(): void {
    this.open = false;
    this.thing = null;
  }

  private rest(): void {
    this.open = false;
    const ways: [string, "corrected" | "merged" | "home" | "remove", () => void][] = [
      ["Rename", "corrected", () => this.askName()],
      ["Merge", "merged", () => this.askMerge()],
      ["Name the room", "home", () => this.askRoom()],
      ["Delete", "remove", () => this.askDelete()],
    ];
    const buttons = ways.map(([name, sign, ask]) => {
      const button = el("button", { type: "button", class: "plain", "data-key": name }, icon(sign), name);
      button.disabled = name === "Merge" && !this.others.length;
      button.addEventListener("click", ask);
      return button;
    });
    this.element.replaceChildren(...buttons);
  }

  private askName(): void {
    const thing = this.thing;
    if (!thing) return;
    const input = el("input", { type: "search", maxlength: 200, "aria-label": "New name", autocomplete: "off", spellcheck: "false" });
    input.value = thing.named ? thing.label : "";
    this.ask("What is it really?", input, "Rename", () => {
      const label = input.value.trim();
      if (!label) return null;
      return { run: this.api.relabel(thing.id, label), told: `${quoted(thing.label)} is now called ${quoted(label)}.` };
    });
    input.select();
  }

  private askMerge(): void {
    const thing = this.thing;
    if (!thing) return;
    const choices = this.others.map((other, index) => {
      const radio = el("input", { type: "radio", name: "same", value: other.id, checked: index === 0 });
      return el("label", { class: "same" }, radio, picture(other, this.api), el("span", {}, el("b", {}, other.label), ` ${other.id}, ${distance(thing, other).toFixed(1)} m away`));
    });
    const own = el("div", { class: "same own" }, picture(thing, this.api), el("span", {}, el("b", {}, thing.label), ` ${thing.id}`));
    const list = el("div", { class: "sames", role: "radiogroup", "aria-label": "The same thing, remembered twice" }, own, ...choices);
    this.ask(`Which one is the same thing? It becomes part of ${thing.id}.`, list, "Merge", () => {
      const chosen = list.querySelector<HTMLInputElement>("input:checked")?.value;
      const other = this.others.find(({ id }) => id === chosen);
      if (!other) return null;
      return { run: this.api.merge(thing.id, other.id), told: `${other.id} is now part of ${quoted(thing.label)} (${thing.id}).` };
    });
  }

  private askRoom(): void {
    const thing = this.thing;
    if (!thing) return;
    const input = el("input", { type: "search", maxlength: 60, placeholder: "pantry", "aria-label": "Name of the room", autocomplete: "off" });
    this.ask("What is the room called that this stands in?", input, "Name", () => {
      const name = input.value.trim().replace(/^(this is )?(the |a )?/i, "");
      if (!name) return null;
      return { run: this.api.tell(`this is the ${name}`, thing.centre), told: `This room is now the ${quoted(name)}.` };
    });
  }

  private askDelete(): void {
    const thing = this.thing;
    if (!thing) return;
    this.ask(`Delete ${thing.label} (${thing.id})? It leaves the memory; undo brings it back.`, null, "Delete", () => ({
      run: this.api.remove(thing.id),
      told: `${quoted(thing.label)} was deleted.`,
    }));
  }

  private ask(
    question: string,
    field: HTMLElement | null,
    verb: string,
    act: () => { run: Promise<number>; told: string } | null,
  ): void {
    this.open = true;
    const problem = el("p", { class: "problem", role: "alert" });
    const confirm = el("button", { type: "submit", class: verb === "Delete" ? "primary danger" : "primary" }, verb);
    const cancel = el("button", { type: "button", class: "plain" }, "Cancel");
    const form = el("form", { class: "question" }, el("p", {}, question), field, problem, el("div", { class: "choice" }, cancel, confirm));
    const leave = (): void => {
      this.rest();
      this.element.querySelector<HTMLElement>("button")?.focus();
    };
    cancel.addEventListener("click", leave);
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      leave();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const action = act();
      if (!action) {
        problem.className = "problem";
        problem.textContent = "Write a name first.";
        return;
      }
      const gone = verb === "Delete" ? (this.thing?.id ?? null) : null;
      confirm.disabled = true;
      problem.textContent = "";
      problem.className = "hint";
      const slow = window.setTimeout(() => (problem.textContent = "One moment: the first correction after a start may take a while."), PATIENCE);
      action.run.finally(() => clearTimeout(slow)).then(
        (correction) => {
          // the answer may come when another question stands open
          if (this.element.contains(form)) this.rest();
          this.notice.tell(action.told, () => this.undo(correction));
          this.done(gone);
        },
        (error: unknown) => {
          confirm.disabled = false;
          problem.className = "problem";
          problem.textContent = inWords(error, "That did not work.");
        },
      );
    });
    this.element.replaceChildren(form);
    // a delete is not confirmed by the key that asked for it
    (field?.querySelector<HTMLElement>("input") ?? field ?? cancel).focus();
  }

  private undo(correction: number): void {
    this.api.undo(correction).then(
      () => {
        this.notice.tell("Undone.");
        this.done(null);
      },
      (error: unknown) => this.notice.tell(inWords(error, "That could not be undone.")),
    );
  }
}

function inWords(error: unknown, otherwise: string): string {
  if (!(error instanceof ApiError)) return otherwise;
  return error.status === 404 ? "It is no longer in the memory." : error.message;
}

/** A name inside a sentence: letters that are written from the right must not turn the words around it. */
function quoted(name: string): string {
  return /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(name) ? `\u2068${name}\u2069` : name;
}

/** The first picture of a thing; asked for by what is kept, as a missing one would be an error of the page. */
function picture(thing: Thing, api: Api): HTMLElement {
  const image = el("img", { alt: "", width: 44, height: 44, class: "none" });
  image.addEventListener("load", () => image.classList.remove("none"));
  api.object(thing.id).then(
    ({ images: [first] }) => first && (image.src = first.url),
    () => undefined,
  );
  return image;
}

function distance(a: Thing, b: Thing): number {
  return Math.hypot(a.centre[0] - b.centre[0], a.centre[1] - b.centre[1], a.centre[2] - b.centre[2]);
}

/** How far from being as large two things are: 0 where they are, 1 where one is 2.7 times the other along every axis. */
function sizeGap(a: Thing, b: Thing): number {
  return [0, 1, 2].reduce((sum, axis) => sum + Math.abs(Math.log((a.size[axis]! + 0.01) / (b.size[axis]! + 0.01))), 0) / 3;
}

/** Things that could be the same one: of the same name first, then by how near and how equally large they are. */
function mostAlike(thing: Thing, things: Iterable<Thing>): readonly Thing[] {
  const rank = (other: Thing): number => distance(thing, other) + sizeGap(thing, other) + (other.label === thing.label ? 0 : 100);
  const others = [...things].filter(({ id }) => id !== thing.id);
  return others.sort((a, b) => rank(a) - rank(b)).slice(0, MOST_NEIGHBOURS);
}
