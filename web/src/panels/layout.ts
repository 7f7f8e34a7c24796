/** Which panels are open, and how much of the scene they cover; on narrow screens the side becomes a drawer. */

import { byId, iconButton } from "../dom";
import type { Insets } from "../scene/stage";
import type { Store } from "../store";

/** pixels of the tools and the legend, which stand on the foot */
const OVER_FOOT = 62;
const NARROW = matchMedia("(max-width: 900px)");

export class Layout {
  readonly sideButton: HTMLButtonElement;
  private readonly side = byId("side");
  private readonly answers = byId("answers");
  private readonly head = byId("head");
  private readonly foot = byId("foot");
  private readonly banner = byId("banner");

  constructor(store: Store, private readonly cover: (insets: Insets) => void) {
    this.sideButton = iconButton("list", "Objects and events (O)", () => this.toggleSide());
    this.openSide(!NARROW.matches);
    NARROW.addEventListener("change", () => this.openSide(!NARROW.matches));
    store.on(["answer", "selected", "searching", "finding"], ({ answer, selected, searching, finding }) => {
      this.answers.hidden = !answer && selected === null && !searching && !finding;
      if (NARROW.matches && !this.answers.hidden) this.openSide(false);
    });
    const watch = new ResizeObserver(() => this.measure());
    for (const part of [document.body, this.side, this.answers, this.head, this.foot, this.banner]) watch.observe(part);
    this.measure();
  }

  toggleSide(): void {
    this.openSide(Boolean(this.side.hidden));
  }

  /** Close the drawer of a narrow screen; answers whether there was one. */
  closeDrawer(): boolean {
    if (!NARROW.matches || this.side.hidden) return false;
    this.openSide(false);
    this.sideButton.focus();
    return true;
  }

  private openSide(open: boolean): void {
    this.side.hidden = !open;
    this.sideButton.setAttribute("aria-expanded", String(open));
    this.measure();
  }

  private measure(): void {
    const narrow = NARROW.matches;
    const width = (part: HTMLElement): number => (part.hidden ? 0 : part.offsetWidth + 12);
    this.cover({
      left: narrow ? 0 : width(this.side),
      right: narrow ? 0 : width(this.answers),
      top: this.head.offsetHeight + 8 + (this.banner.hidden ? 0 : this.banner.offsetHeight),
      bottom: this.foot.offsetHeight + OVER_FOOT + (narrow && !this.answers.hidden ? this.answers.offsetHeight + 12 : 0),
    });
  }
}
