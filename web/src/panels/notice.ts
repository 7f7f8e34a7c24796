/** One line about what was just done, with the way back; it goes by itself. */

import { el, setText } from "../dom";

const SHOWN_SECONDS = 12;

export class Notice {
  private readonly text = el("p");
  private readonly back = el("button", { type: "button", class: "plain" }, "Undo");
  private timer = 0;
  private undo: (() => void) | null = null;

  constructor(private readonly host: HTMLElement) {
    host.append(this.text, this.back);
    this.back.addEventListener("click", () => {
      this.host.hidden = true;
      this.undo?.();
    });
  }

  tell(message: string, undo: (() => void) | null = null): void {
    this.undo = undo;
    this.back.hidden = undo === null;
    this.host.hidden = false;
    setText(this.text, message);
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.host.hidden = true), SHOWN_SECONDS * 1000);
  }
}
