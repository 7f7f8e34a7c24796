/** The slider through memory time, with a mark for each thing that happened; its right end is now. */

import { el, icon, iconButton, setText } from "../dom";
import { ago, clockTime, dateTime, duration } from "../format";
import type { LiveMemory } from "../live_memory";
import type { MemoryClock } from "../memory_clock";
import type { State, Store } from "../store";
import { origin } from "./status";

const STEPS = 1000;
const REPLAY_SECONDS = 24;
const SCRUB_PAUSE = 60;
/** marks that tell a change, and the style-sheet colour of each; the rest is drawn faintly */
const INKS: Readonly<Record<string, string>> = {
  confirmed: "--state-confirmed",
  moved: "--accent",
  missing: "--state-missing",
  removed: "--state-missing",
  reappeared: "--state-confirmed",
};

export class TimelinePanel {
  private readonly slider = el("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": "Moment of memory shown" });
  private readonly marks = el("canvas", { "aria-hidden": "true" });
  private readonly moment = el("output", { class: "moment" });
  private readonly start = el("span", { class: "end" });
  private readonly word = el("span", {}, "Live");
  private readonly live: HTMLButtonElement;
  private readonly player: HTMLButtonElement;
  private playing = 0;
  private scrub = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly store: Store,
    private readonly clock: MemoryClock,
    private readonly memory: LiveMemory,
  ) {
    this.live = el("button", { type: "button", class: "live", "aria-keyshortcuts": "l" }, el("i", { class: "lamp" }), this.word);
    this.live.addEventListener("click", () => this.goLive());
    this.player = iconButton("play", "Replay from the start", () => (this.playing ? this.stop() : void this.play()));
    host.append(
      this.player,
      el("div", { class: "when" }, this.moment, this.start),
      el("div", { class: "track" }, this.marks, this.slider),
      this.live,
    );
    this.slider.addEventListener("input", () => {
      this.stop();
      this.seek(Number(this.slider.value) / STEPS);
    });
    memory.onMarks = () => this.drawMarks();
    new ResizeObserver(() => this.drawMarks()).observe(this.marks);
    store.on(["span", "asOf", "travelling", "connection", "server"], (state) => this.draw(state));
  }

  goLive(): void {
    this.stop();
    clearTimeout(this.scrub);
    void this.memory.travel(null);
  }

  repaint(): void {
    this.drawMarks();
  }

  private seek(part: number): void {
    const span = this.store.state.span;
    if (!span) return;
    clearTimeout(this.scrub);
    if (part >= 1) {
      this.goLive();
      return;
    }
    const time = span.start + (span.end - span.start) * part;
    this.store.set({ asOf: time, travelling: true });
    // while a finger moves, only where it rests is asked for
    this.scrub = window.setTimeout(() => this.go(time), SCRUB_PAUSE);
  }

  private go(time: number): void {
    this.memory.travel(time).catch(() => setText(this.start, "The server did not answer."));
  }

  private async play(): Promise<void> {
    const span = this.store.state.span;
    if (!span) return;
    const length = span.end - span.start;
    const from = this.store.state.asOf ?? span.start;
    const began = performance.now();
    const run = ++this.playing;
    this.drawPlayer();
    while (this.playing === run) {
      const time = from + (((performance.now() - began) / 1000) * length) / REPLAY_SECONDS;
      if (time >= span.end) {
        this.goLive();
        return;
      }
      try {
        await this.memory.travel(time);
      } catch {
        this.stop(); // the banner says that the server is away
        return;
      }
      await new Promise((resume) => setTimeout(resume, 150));
    }
  }

  private stop(): void {
    if (!this.playing) return;
    this.playing = 0;
    this.drawPlayer();
  }

  private drawPlayer(): void {
    const label = this.playing ? "Stop the replay" : "Replay from here";
    this.player.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.player.setAttribute("aria-label", label);
    this.player.title = label;
  }

  private draw({ span, asOf, travelling, connection, server }: Readonly<State>): void {
    const live = origin(server) === "Live";
    setText(this.word, live ? "Live" : "Latest");
    this.host.classList.toggle("past", asOf !== null);
    this.host.setAttribute("aria-busy", String(travelling));
    this.slider.disabled = !span;
    this.player.disabled = !span;
    this.live.setAttribute("aria-pressed", String(asOf === null));
    if (!span) {
      this.slider.value = String(STEPS);
      setText(this.moment, "No memory yet");
      setText(this.start, "");
      return;
    }
    const length = Math.max(span.end - span.start, 1e-6);
    const at = asOf ?? span.end;
    if (document.activeElement !== this.slider || asOf === null) this.slider.value = String(Math.round(((at - span.start) / length) * STEPS));
    this.host.style.setProperty("--part", String((at - span.start) / length));
    setText(this.moment, clockTime(at, this.clock));
    setText(this.start, asOf === null ? (connection === "lost" ? "as last heard" : live ? "as it is now" : dateTime(span.end, this.clock)) : travelling ? "reading…" : live ? `as it was ${ago(this.clock.between(asOf, span.end))}` : `${duration(this.clock.between(asOf, span.end))} before the end`);
    this.slider.setAttribute("aria-valuetext", asOf === null ? "now" : clockTime(at, this.clock));
  }

  private drawMarks(): void {
    const span = this.store.state.span;
    const pen = this.marks.getContext("2d");
    const { clientWidth: width, clientHeight: height } = this.marks;
    if (!pen || !width) return;
    this.marks.width = width * devicePixelRatio;
    this.marks.height = height * devicePixelRatio;
    if (!span || span.end <= span.start) return;
    pen.scale(devicePixelRatio, devicePixelRatio);
    const style = getComputedStyle(document.documentElement);
    const faint = style.getPropertyValue("--muted");
    for (const { time, kind } of this.memory.marks) {
      const x = ((time - span.start) / (span.end - span.start)) * (width - 20) + 10;
      const ink = INKS[kind];
      pen.fillStyle = ink ? style.getPropertyValue(ink) : faint;
      pen.globalAlpha = ink ? 0.85 : 0.35;
      const tall = ink ? height - 6 : height / 3;
      pen.fillRect(Math.round(x) - 0.5, (height - tall) / 2, 1.5, tall);
    }
  }
}
