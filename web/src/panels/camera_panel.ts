/** What the robot sees: the newest image, or in the past the picture of then, with the objects in it by name. */

import { el, setText } from "../dom";
import { clockTime } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Picture } from "../model";
import type { Api } from "../net/api";
import type { State, Store } from "../store";

const LIVE_SECONDS = 1;
const SVG = "http://www.w3.org/2000/svg";
/** CSS pixels of a name's height, and between two names */
const LETTERS = 11;
const APART = 3;
/** CSS pixels of the picture under the panel's name */
const HEAD = 44;

export class CameraPanel {
  private readonly when = el("span", { class: "count" });
  private readonly pen = document.createElement("canvas").getContext("2d");
  private readonly frame = el("div", { class: "frame" });
  private image = el("img", { alt: "" });
  private readonly boxes = document.createElementNS(SVG, "svg");
  private readonly depth = el("button", { type: "button", class: "plain", "aria-pressed": "false" }, "Depth");
  private picture: Picture | null = null;
  /** the picture whose image has come: its boxes are drawn */
  private drawn: Picture | null = null;
  private asked = 0;
  private came = 0;
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
    host.append(this.frame, el("header", {}, el("h2", {}, "Camera"), this.when, this.depth));
    // a drawer that opens gives the picture its size only then
    new ResizeObserver(() => this.drawBoxes()).observe(this.frame);
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
    setText(this.when, `${picture.live ? "live" : clockTime(picture.time, this.clock)}${picture.people === "blanked" ? "" : " · not blanked"}`);
    this.when.title = picture.people === "blanked" ? "People are blanked" : "Nobody looked for people: they are not blanked";
    this.depth.hidden = picture.depthUrl === null;
    const wantsDepth = picture.depthUrl !== null && this.depth.getAttribute("aria-pressed") === "true";
    const url = wantsDepth ? picture.depthUrl ?? picture.imageUrl : picture.imageUrl;
    const shown = `${url} ${picture.time}`;
    if (shown !== this.shown) {
      this.shown = shown;
      this.load(url, picture);
    } else if (this.came === this.asked) {
      this.drawn = picture;
      this.drawBoxes();
    }
  }

  /** An image and its boxes change together: boxes of now over an image of before would stand beside their things. */
  private load(url: string, picture: Picture): void {
    const turn = ++this.asked;
    const image = el("img", { alt: picture.objects.length ? `Camera image with ${picture.objects.flatMap(({ label }) => label || []).join(", ")}` : "Camera image" });
    image.addEventListener("load", () => {
      if (turn < this.came) return;
      this.came = turn;
      this.drawn = picture;
      this.image.replaceWith(image);
      this.image = image;
      this.drawBoxes();
    });
    image.src = url;
  }

  private widthOf(label: string): number {
    if (!this.pen) return 0;
    this.pen.font = `600 ${LETTERS}px ${getComputedStyle(this.frame).fontFamily}`;
    return this.pen.measureText(label).width;
  }

  /** Each object's box, and names where they have room; the pointer shows the others. */
  private drawBoxes(): void {
    const picture = this.drawn;
    if (!picture) return;
    const { selected, hovered } = this.store.state;
    this.frame.style.aspectRatio = `${picture.width} / ${picture.height}`;
    this.boxes.setAttribute("viewBox", `0 0 ${picture.width} ${picture.height}`);
    this.boxes.setAttribute("preserveAspectRatio", "xMidYMid slice");
    const { clientWidth, clientHeight } = this.frame;
    const pixel = clientWidth ? 1 / Math.max(clientWidth / picture.width, clientHeight / picture.height) : 1;
    // what does not fit the panel is cut off at both ends
    const cutAbove = clientWidth ? Math.max(0, (picture.height - clientHeight * pixel) / 2) : 0;
    const taken: Box[] = [];
    // the largest first: what is small lies on top and can be touched
    const order = [...picture.objects].sort((a, b) => area(b.box) - area(a.box));
    this.boxes.replaceChildren(
      ...order.map(({ id, label, box: [left, top, right, bottom] }) => {
        const group = document.createElementNS(SVG, "g");
        group.classList.toggle("marked", id === selected || id === hovered);
        const rect = document.createElementNS(SVG, "rect");
        for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) rect.setAttribute(name, String(value));
        const text = document.createElementNS(SVG, "text");
        const wide = (this.widthOf(label) + APART) * pixel;
        const x = Math.max(Math.min(left + 3 * pixel, picture.width - wide), 0);
        // below the panel's own line, which lies over the picture
        const y = Math.max(top + (LETTERS + 2) * pixel, cutAbove + HEAD * pixel);
        const name: Box = [x, y - (LETTERS + APART) * pixel, x + wide, y];
        const marked = id === selected || id === hovered;
        const free = label !== "" && taken.every((other) => name[2] < other[0] || name[0] > other[2] || name[3] < other[1] || name[1] > other[3]);
        if (free) taken.push(name);
        group.classList.toggle("named", free || marked);
        text.setAttribute("x", String(x));
        text.setAttribute("y", String(y));
        text.setAttribute("font-size", String(LETTERS * pixel));
        text.setAttribute("stroke-width", String(3 * pixel));
        text.textContent = label;
        group.append(rect, text);
        group.addEventListener("click", () => this.choose(id));
        return group;
      }),
    );
  }
}

type Box = Picture["objects"][number]["box"];

function area([left, top, right, bottom]: Box): number {
  return (right - left) * (bottom - top);
}
