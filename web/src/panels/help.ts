/** The keys and the meaning of the forms, on one card. */

import { el, iconButton } from "../dom";
import type { Shortcut } from "../keyboard";
import { STATES, type ThingState } from "../model";

const MEANINGS: Readonly<Record<ThingState, string>> = {
  confirmed: "seen often enough to be sure of it",
  tentative: "glimpsed; more sightings are needed",
  stale: "not seen for long, but not seen to be gone",
  missing: "its place was seen, and it was not there",
};

export class Help {
  private readonly dialog: HTMLDialogElement;

  constructor(shortcuts: readonly Shortcut[]) {
    const keys: readonly (readonly [string, string])[] = [
      ...shortcuts.map(({ key, does }) => [key.toUpperCase(), does] as const),
      ["Esc", "close what is open"],
      ["↑ ↓", "walk through a list"],
      ["← →", "move the slider when it has the focus"],
    ];
    const close = iconButton("close", "Close the help", () => this.dialog.close());
    this.dialog = el(
      "dialog",
      { class: "card", "aria-label": "Help" },
      el("header", {}, el("h2", {}, "How to read and drive this page"), close),
      el("h3", {}, "Boxes"),
      el("dl", { class: "facts" }, ...STATES.flatMap((state) => [
        el("dt", { "data-state": state }, el("i", { class: "glyph" }), state),
        el("dd", {}, MEANINGS[state]),
      ])),
      el("h3", {}, "Mouse and touch"),
      el("p", {}, "Drag turns, right drag or two fingers move, wheel or pinch zooms, a click on a box opens it."),
      el("h3", {}, "Keys"),
      el("dl", { class: "facts keys" }, ...keys.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
    );
    document.body.append(this.dialog);
  }

  open(): void {
    this.dialog.showModal();
  }
}
