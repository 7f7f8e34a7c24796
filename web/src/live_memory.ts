/** Keeps the store in step with the server: what lives now always, and what was known then while one looks back. */

import type { Api, Timeline, WirePlaces } from "./net/api";
import { happening, isAbort, placesOf, thingOf } from "./net/api";
import { Socket, type ObjectEvent, type ObjectsUpdate, type RobotMessage, type SocketListener, type WireServer } from "./net/socket";
import type { CloudPart } from "./net/cloud_message";
import type { Happening, SessionFrame, Thing } from "./model";
import type { MemoryClock } from "./memory_clock";
import type { Store } from "./store";

const SLOW_SECONDS = 1.2;
const MOST_HAPPENINGS = 400;
const TIMELINE_SECONDS = 3;
/** a session that is kept apart tells no events: while frames come, its state is asked for */
const SESSIONS_SECONDS = 5;

export interface LiveScene {
  cloud(part: CloudPart): void;
  robot(message: RobotMessage): void;
}

export class LiveMemory implements SocketListener {
  readonly socket = new Socket(this);
  marks: Timeline["marks"] = [];
  onMarks: () => void = () => undefined;
  onDenied: () => void = () => undefined;

  private things = new Map<string, Thing>();
  private arriving = new Map<string, Thing>();
  private journey: AbortController | null = null;
  private readonly seen = new Set<string>();
  private timelineDue = 0;
  private sessionsDue = 0;

  constructor(
    private readonly api: Api,
    private readonly store: Store,
    private readonly clock: MemoryClock,
    private readonly scene: LiveScene,
  ) {}

  start(): void {
    this.store.set({ connection: "connecting", connectionNote: "" });
    this.socket.connectNow();
  }

  /** Look at a memory time; null is now. Only the newest wish is answered. */
  async travel(time: number | null): Promise<void> {
    this.journey?.abort();
    this.journey = null;
    if (time === null) {
      this.store.set({ asOf: null, travelling: false, things: new Map(this.things) });
      return;
    }
    const journey = new AbortController();
    this.journey = journey;
    this.store.set({ asOf: time, travelling: true });
    try {
      const things = await this.api.objectsAt(time, journey.signal);
      if (this.journey === journey) this.store.set({ things, travelling: false });
    } catch (error) {
      if (isAbort(error)) return;
      this.store.set({ travelling: false });
      throw error;
    }
  }

  opened(): void {
    // the server may have come back with another memory: what happened is told anew
    this.seen.clear();
    this.store.set({ connection: "live", connectionNote: "", happenings: [] });
    void this.readTimeline();
    void this.readSessions();
    void this.readChanges();
  }

  lost(code: number, retryIn: number): void {
    if (code === 4401) {
      this.store.set({ connection: "denied" });
      this.onDenied();
      return;
    }
    const why = code === 1012 ? "The server is going down." : code === 1013 ? "The server has too many viewers." : "";
    this.store.set({ connection: "lost", connectionNote: `${why} Trying again in ${Math.max(1, Math.round(retryIn))} s.`.trim() });
    // a handshake that was refused looks like any other loss: ask why
    this.api.session().then(
      ({ required, authenticated }) => {
        if (required && !authenticated) this.onDenied();
      },
      () => undefined, // no answer at all is what "lost" says already
    );
  }

  delay(seconds: number): void {
    if (seconds >= SLOW_SECONDS) {
      this.store.set({ connection: "slow", connectionNote: `Answers take ${seconds.toFixed(1)} s.` });
    } else if (this.store.state.connection === "slow") {
      this.store.set({ connection: "live", connectionNote: "" });
    }
  }

  objects(update: ObjectsUpdate): void {
    this.moveOn(update.now_memory_time);
    // after a loss, a reset in parts must not show a half-empty home
    const target = update.reset ? new Map<string, Thing>() : this.arriving.size ? this.arriving : this.things;
    for (const wire of update.objects) {
      const thing = thingOf(wire);
      if (thing) target.set(wire.id, thing);
      else target.delete(wire.id);
    }
    for (const id of update.gone) target.delete(id);
    if (update.more) {
      this.arriving = target;
      // a page that has nothing yet shows what has come, and again when twice as much has
      const { loaded, arriving, asOf, things } = this.store.state;
      if ((!loaded || arriving) && asOf === null && target.size >= 2 * things.size) {
        this.store.set({ things: new Map(target), loaded: true, arriving: true });
      }
      return;
    }
    this.arriving = new Map();
    this.things = target;
    if (this.store.state.asOf === null) this.store.set({ things: new Map(target) });
    this.store.set({ loaded: true, arriving: false });
  }

  event(event: ObjectEvent): void {
    this.add([happening(event.kind, event.id, event.memory_time, event.label, event.position)]);
    const now = performance.now();
    if (now > this.timelineDue) {
      this.timelineDue = now + TIMELINE_SECONDS * 1000;
      setTimeout(() => {
        void this.readTimeline();
        void this.readSessions();
      }, TIMELINE_SECONDS * 1000);
    }
  }

  robot(message: RobotMessage): void {
    this.scene.robot(message);
  }

  places(message: WirePlaces): void {
    this.store.set({ places: placesOf(message), plans: message.plans });
  }

  stats({ now_memory_time, server }: { readonly now_memory_time: number; readonly server: WireServer }): void {
    this.moveOn(now_memory_time);
    const { mode, source, source_error, warning, points, frame_rate, read_only } = server;
    const frames = frame_rate > 0 || (this.store.state.server?.frameRate ?? 0) > 0;
    if (frames && performance.now() > this.sessionsDue) void this.readSessions();
    this.store.set({ server: { mode, source, sourceError: source_error, warning: warning ?? null, points, frameRate: frame_rate, readOnly: read_only } });
  }

  cloud(part: CloudPart): void {
    this.scene.cloud(part);
  }

  private moveOn(now: number): void {
    this.clock.now = now;
    const span = this.store.state.span;
    if (span && now > span.end) this.store.set({ span: { start: span.start, end: now } });
  }

  private add(fresh: readonly Happening[]): void {
    const added = fresh.filter(({ key }) => !this.seen.has(key));
    if (!added.length) return;
    for (const { key } of added) this.seen.add(key);
    const all = [...this.store.state.happenings, ...added].sort((a, b) => a.time - b.time);
    this.store.set({ happenings: all.slice(-MOST_HAPPENINGS) });
  }

  private async readTimeline(): Promise<void> {
    const timeline = await this.api.timeline().catch(() => null);
    if (!timeline) return; // the connection's own state tells that the server is away
    this.clock.sessions = timeline.sessions;
    this.moveOn(timeline.now);
    this.marks = timeline.marks;
    if (timeline.first !== null) {
      this.store.set({ span: { start: timeline.first, end: Math.max(timeline.last ?? timeline.now, this.clock.now) } });
    }
    this.onMarks();
  }

  private async readSessions(): Promise<void> {
    this.sessionsDue = performance.now() + SESSIONS_SECONDS * 1000;
    const sessions = await this.api.sessions().catch(() => null);
    if (!sessions) return;
    this.store.set({ sessions });
    await this.readApart(sessions);
  }

  /** What sessions that are kept apart have seen: the newest may still grow, the others are read once. */
  private async readApart(sessions: readonly SessionFrame[]): Promise<void> {
    const known = this.store.state.apart;
    const found = new Map<number, readonly Thing[]>();
    for (const { id, state } of sessions) {
      if (state !== "quarantined") continue;
      const before = id === sessions.at(-1)?.id ? undefined : known.get(id);
      // its file may be elsewhere: the session's row says that it is kept apart all the same
      found.set(id, before ?? (await this.api.sessionObjects(id).catch(() => [])));
    }
    if (found.size || known.size) this.store.set({ apart: found });
  }

  private async readChanges(): Promise<void> {
    this.add(await this.api.changes().catch(() => []));
  }
}
