/** Buttons over the scene: where to look from, and what to draw. */

import { el, iconButton } from "../dom";

export interface ViewActions {
  home(): void;
  above(): void;
  follow(on: boolean): void;
  layer(name: LayerName, on: boolean): void;
  cut(metres: number): void;
  density(decimation: number): void;
}

export const LAYERS = ["surface", "plan", "boxes", "labels", "places", "robot"] as const;
export type LayerName = (typeof LAYERS)[number];

const NO_CUT = 3.2;

export class ViewTools {
  private readonly menu: HTMLElement;
  private readonly opener: HTMLButtonElement;
  private readonly follower: HTMLButtonElement;

  constructor(host: HTMLElement, private readonly actions: ViewActions, cut: number) {
    this.follower = iconButton("follow", "Follow the robot (F)", () => this.follow(!this.following));
    this.follower.setAttribute("aria-pressed", "false");
    this.opener = iconButton("layers", "What is drawn", () => this.open(Boolean(this.menu.hidden)));
    this.opener.setAttribute("aria-expanded", "false");
    this.menu = el("div", { class: "card menu", role: "group", "aria-label": "Layers" });
    this.menu.hidden = true;
    this.menu.append(...LAYERS.map((name) => this.layer(name)), this.cut(cut), this.density());
    host.append(
      this.menu,
      iconButton("home", "Show the whole home (H)", () => actions.home()),
      iconButton("above", "Look from above (T)", () => actions.above()),
      this.follower,
      this.opener,
    );
  }

  get following(): boolean {
    return this.follower.getAttribute("aria-pressed") === "true";
  }

  follow(on: boolean): void {
    this.follower.setAttribute("aria-pressed", String(on));
    this.actions.follow(on);
  }

  /** Close the menu; answers whether it was open. */
  close(): boolean {
    const open = !this.menu.hidden;
    if (open) this.open(false);
    return open;
  }

  private open(open: boolean): void {
    this.menu.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
    if (open) this.menu.querySelector("input")?.focus();
    else this.opener.focus();
  }

  private layer(name: LayerName): HTMLElement {
    const box = el("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => this.actions.layer(name, box.checked));
    return el("label", {}, box, name);
  }

  private cut(metres: number): HTMLElement {
    const told = el("output", {}, `${metres.toFixed(1)} m`);
    const slider = el("input", { type: "range", min: 0.4, max: NO_CUT, step: 0.1, value: metres });
    slider.addEventListener("input", () => {
      const height = Number(slider.value);
      told.textContent = height >= NO_CUT ? "none" : `${height.toFixed(1)} m`;
      this.actions.cut(height >= NO_CUT ? 1000 : height);
    });
    return el("label", { class: "stretch" }, el("span", {}, "cut points above ", told), slider);
  }

  private density(): HTMLElement {
    const options = [1, 2, 4, 8].map((value) => el("option", { value }, value === 1 ? "all points" : `every ${value}${value === 2 ? "nd" : "th"}`));
    const select = el("select", {}, ...options);
    select.addEventListener("change", () => this.actions.density(Number(select.value)));
    return el("label", { class: "stretch" }, "density", select);
  }
}
