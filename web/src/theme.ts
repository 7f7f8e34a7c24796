/** Dark or light: the system's choice until a person chooses. Colours live in the style sheet; the scene reads them
 * from there, so that each is written down once. */

import type { ThingState } from "./model";
import { STATES } from "./model";

export interface Palette {
  readonly sky: string;
  readonly grid: string;
  readonly gridStrength: number;
  readonly chosen: string;
  readonly robot: string;
  readonly path: string;
  readonly wall: string;
  readonly door: string;
  readonly floor: string;
  readonly states: Readonly<Record<ThingState, string>>;
  readonly places: readonly string[];
}

const STORED = "lastseen.theme";
type Name = "dark" | "light";

export class Theme {
  private readonly listeners: ((palette: Palette) => void)[] = [];
  private readonly system = matchMedia("(prefers-color-scheme: light)");
  private chosen: Name | null = stored();

  constructor() {
    this.apply();
    this.system.addEventListener("change", () => this.apply());
  }

  get name(): Name {
    return this.chosen ?? (this.system.matches ? "light" : "dark");
  }

  toggle(): void {
    this.chosen = this.name === "dark" ? "light" : "dark";
    localStorage.setItem(STORED, this.chosen);
    this.apply();
  }

  on(tell: (palette: Palette) => void): void {
    this.listeners.push(tell);
    tell(readPalette());
  }

  private apply(): void {
    document.documentElement.dataset["theme"] = this.name;
    const palette = readPalette();
    for (const tell of this.listeners) tell(palette);
  }
}

function stored(): Name | null {
  const name = localStorage.getItem(STORED);
  return name === "dark" || name === "light" ? name : null;
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    sky: value("sky"),
    grid: value("grid"),
    gridStrength: Number(value("grid-strength")),
    chosen: value("chosen"),
    robot: value("robot"),
    path: value("path"),
    wall: value("wall"),
    door: value("door"),
    floor: value("floor"),
    states: Object.fromEntries(STATES.map((state) => [state, value(`state-${state}`)])) as Record<ThingState, string>,
    places: [1, 2, 3, 4, 5, 6].map((number) => value(`place-${number}`)),
  };
}
