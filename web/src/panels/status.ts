/** How things stand: the pill in the head line, the banner over the scene, and the card in an empty home. */

import { el, setText } from "../dom";
import { clockTime, dateTime } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Connection, ServerNote } from "../model";
import type { State, Store } from "../store";

/** Where what is shown comes from: one word for the head line and the timeline. */
export function origin(server: ServerNote | null): "Connected" | "Live" | "Following" | "From file" | "Ended" | "Source failed" {
  if (!server) return "Connected";
  if (server.source === "failed") return "Source failed";
  if (server.source === "following") return "Following";
  // a robot that waits for a goal sends nothing: what is seen is the file until it sets out
  const waits = server.source === "waiting" && server.mode === "source";
  if (server.source === "running" || waits || server.frameRate > 0 || server.mode === "demo") return "Live";
  return server.source === "ended" ? "Ended" : "From file";
}

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting",
  live: "Live",
  slow: "Slow connection",
  lost: "Connection lost",
  denied: "Token needed",
};

export class Status {
  private readonly word = el("span", { class: "word" });
  private readonly date = el("time");
  private readonly text = el("p");
  private readonly retry = el("button", { type: "button", class: "plain" }, "Try now");
  private readonly close = el("button", { type: "button", class: "plain" }, "Close");
  /** warnings that a person has read */
  private readonly read = new Set<string>();
  private readonly title = el("h2");
  private readonly advice = el("p");

  constructor(
    private readonly pill: HTMLElement,
    private readonly banner: HTMLElement,
    private readonly empty: HTMLElement,
    store: Store,
    private readonly clock: MemoryClock,
    retry: () => void,
  ) {
    pill.append(el("i", { class: "lamp" }), this.word, this.date);
    banner.append(this.text, this.retry, this.close);
    empty.append(this.title, this.advice);
    this.retry.addEventListener("click", retry);
    this.close.addEventListener("click", () => {
      this.read.add(store.state.server?.warning ?? "");
      this.draw(store.state);
    });
    // how many lines it takes depends on the window
    new ResizeObserver(() => document.documentElement.style.setProperty("--banner-height", `${banner.offsetHeight}px`)).observe(banner);
    store.on(["connection", "connectionNote", "asOf", "server", "loaded", "things", "span"], (state) => this.draw(state));
  }

  private draw(state: Readonly<State>): void {
    const { connection, connectionNote, asOf } = state;
    this.pill.dataset["connection"] = connection;
    const word = origin(state.server);
    const opened = connection === "live" && word !== "Live";
    this.pill.dataset["origin"] = word;
    this.pill.title = opened && this.clock.now ? `Last frame: ${dateTime(this.clock.now, this.clock)}` : connectionNote;
    setText(this.word, connection !== "live" ? WORDS[connection] : asOf !== null ? "Looking back" : word);
    setText(this.date, opened && asOf === null && this.clock.newestWall !== null ? dateTime(this.clock.now, this.clock) : "");
    document.documentElement.dataset["connection"] = connection;
    const trouble = this.message(state);
    const warning = state.server?.warning ?? "";
    const warns = trouble === "" && !this.read.has(warning);
    const message = warns ? warning.charAt(0).toUpperCase() + warning.slice(1) : trouble;
    this.banner.hidden = message === "";
    this.banner.dataset["kind"] = warns || connection === "slow" || state.server?.source === "waiting" ? "slow" : "lost";
    this.close.hidden = !warns;
    this.retry.hidden = connection !== "lost";
    setText(this.text, message);
    this.drawEmpty(state);
  }

  private message({ connection, connectionNote, loaded, server }: Readonly<State>): string {
    if (connection === "lost") {
      const shown = loaded ? ` You see what was known at ${clockTime(this.clock.now, this.clock)}.` : "";
      return `The server does not answer.${shown} ${connectionNote}`;
    }
    if (connection === "slow") return `The connection is slow. ${connectionNote} What you see may be behind.`;
    if (server?.mode === "source" && server.source === "waiting" && loaded) return "Waiting for the source: no frame has come yet, or none for a while.";
    if (server?.source === "failed" && server.readOnly) return `The file cannot be read: ${server.sourceError ?? "no reason was given"}`;
    if (server?.source === "failed") return `The source failed: ${server.sourceError ?? "no reason was given"}`;
    return "";
  }

  private drawEmpty({ connection, loaded, things, asOf, server }: Readonly<State>): void {
    this.empty.hidden = things.size > 0;
    if (things.size > 0) return;
    if (!loaded) {
      setText(this.title, connection === "lost" ? "No connection" : "Opening the memory");
      setText(this.advice, connection === "lost" ? "Is the server running? This page tries again by itself." : "One moment…");
    } else if (asOf !== null) {
      setText(this.title, "Nothing was known yet");
      setText(this.advice, "At this moment the memory was still empty. Move the slider to the right.");
    } else if (server?.source === "preparing") {
      setText(this.title, "Getting ready");
      setText(this.advice, "The object memory is being compiled for this processor: up to a minute, only this once.");
    } else {
      setText(this.title, "Nothing is remembered yet");
      if (server?.source === "running" || server?.source === "waiting") setText(this.advice, "Objects appear here as soon as frames come in and things are seen.");
      else if (server?.source === "following") setText(this.advice, "Objects appear here as soon as another process has written some to the file.");
      else this.advice.replaceChildren("Feed it a recording with ", el("code", {}, "lastseen serve --source"), ", or send frames to ", el("code", {}, "/ingest/frames"), ".");
    }
  }
}
