/** What the robot sees: the newest image, or in the past the picture of then, with the objects in it by name. */

import { el, setText } from "../dom";
import { clockTime } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Picture } from "../model";
import type { Api } from "../net/api";
import type { State, Store } from "../store";

const LIVE_SECONDS = 1;
const SVG = "http://www.w3.org/2000/svg";

export class CameraPanel {
  private readonly when = el("span", { class: "count" });
  private readonly frame = el("div", { class: "frame" });
  private readonly image = el("img", { alt: "" });
  private readonly boxes = document.createElementNS(SVG, "svg");
  private readonly depth = el("button", { type: "button", class: "plain", "aria-pressed": "false" }, "Depth");
  private picture: Picture | null = null;
  private reading: AbortController | null = null;
  private timer = 0;
  private shown = "";

  constructor(
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly api: Api,
    private readonly clock: MemoryClock,
    private readonly choose: (id: string) => void,
  ) {
    host.hidden = true;
    this.frame.append(this.image, this.boxes);
    this.depth.addEventListener("click", () => {
      this.depth.setAttribute("aria-pressed", String(this.depth.getAttribute("aria-pressed") !== "true"));
      this.shown = "";
      this.draw();
    });
    host.append(el("header", {}, el("h2", {}, "Camera"), this.when, this.depth), this.frame);
    store.on(["asOf", "loaded"], () => void this.read());
    store.on(["selected", "hovered"], () => this.drawBoxes());
  }

  /** The picture of the moment that is looked at; the newest again and again while it is live. */
  private async read(): Promise<void> {
    const { loaded, asOf }: Readonly<State> = this.store.state;
    if (!loaded) return;
    this.reading?.abort();
    clearTimeout(this.timer);
    const reading = new AbortController();
    this.reading = reading;
    const picture = await this.api.camera(asOf, reading.signal).catch(() => null);
    if (reading.signal.aborted) return;
    this.picture = picture;
    this.draw();
    if (asOf === null) this.timer = window.setTimeout(() => void this.read(), LIVE_SECONDS * 1000 * (picture?.live ? 1 : 5));
  }

  private draw(): void {
    const { picture } = this;
    this.host.hidden = picture === null;
    if (!picture) return;
    setText(this.when, `${picture.live ? "live" : clockTime(picture.time, this.clock)}${picture.people === "blanked" ? "" : " · people not blanked"}`);
    this.depth.hidden = picture.depthUrl === null;
    const wantsDepth = picture.depthUrl !== null && this.depth.getAttribute("aria-pressed") === "true";
    const url = wantsDepth ? picture.depthUrl ?? picture.imageUrl : picture.imageUrl;
    const shown = `${url} ${picture.time}`;
    if (shown !== this.shown) {
      this.shown = shown;
      this.image.alt = picture.objects.length ? `Camera image with ${picture.objects.map(({ label }) => label).join(", ")}` : "Camera image";
      this.image.src = picture.live ? `${url}?t=${picture.time}` : url;
    }
    this.drawBoxes();
  }

  private drawBoxes(): void {
    const { picture } = this;
    if (!picture) return;
    const { selected, hovered } = this.store.state;
    this.frame.style.aspectRatio = `${picture.width} / ${picture.height}`;
    this.boxes.setAttribute("viewBox", `0 0 ${picture.width} ${picture.height}`);
    // the largest first: what is small lies on top and can be touched
    const order = [...picture.objects].sort((a, b) => area(b.box) - area(a.box));
    this.boxes.replaceChildren(
      ...order.map(({ id, label, box: [left, top, right, bottom] }) => {
        const group = document.createElementNS(SVG, "g");
        group.setAttribute("class", id === selected || id === hovered ? "marked" : "");
        const rect = document.createElementNS(SVG, "rect");
        for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) rect.setAttribute(name, String(value));
        const text = document.createElementNS(SVG, "text");
        text.setAttribute("x", String(Math.min(left + 2, picture.width - 6 * label.length)));
        text.setAttribute("y", String(Math.max(top - 3, 11)));
        text.textContent = label;
        group.append(rect, text);
        group.addEventListener("click", () => this.choose(id));
        return group;
      }),
    );
  }
}

function area([left, top, right, bottom]: Picture["objects"][number]["box"]): number {
  return (right - left) * (bottom - top);
}
