/** One line about what was just done, with the way back; it goes by itself. */

import { el, setText } from "../dom";

const SHOWN_SECONDS = 12;
/** nothing else takes a correction back */
const UNDO_SECONDS = 30;

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
    this.leave(undo === null ? SHOWN_SECONDS : UNDO_SECONDS);
  }

  /** It goes after a while, but not from under a pointer or the keyboard. */
  private leave(seconds: number): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (this.host.matches(":hover, :focus-within")) this.leave(1);
      else this.host.hidden = true;
    }, seconds * 1000);
  }
}
