/** Building elements without markup: text from the memory only ever becomes text. */

import { iconPaths, type IconName } from "./icons";

type Child = Node | string | null | false;

interface Attributes {
  readonly class?: string;
  readonly [name: string]: string | number | boolean | undefined;
}

/** An element with attributes (true: present, false or undefined: absent) and children; strings become text. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false));
  return element;
}

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  for (const shape of iconPaths[name]) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", shape);
    svg.append(path);
  }
  return svg;
}

/** A button with an icon; its name is for those who cannot see the icon and for the tooltip. */
export function iconButton(name: IconName, label: string, press: () => void): HTMLButtonElement {
  const button = el("button", { type: "button", class: "icon-button", "aria-label": label, title: label }, icon(name));
  button.addEventListener("click", press);
  return button;
}

/** Change a text only when it differs: a screen reader then speaks once, and layout rests. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function byId<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}
