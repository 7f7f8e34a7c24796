/** The live line to the server: subscribes, measures, and comes back by itself after a loss. */

import type { Vec3, Quaternion } from "../model";
import type { CameraShape, PathPoint } from "../scene/robot_layer";
import type { WireObject, WirePlaces } from "./api";
import { readCloud, type CloudPart } from "./cloud_message";

export interface WireServer {
  readonly mode: string;
  readonly source: string;
  readonly source_error: string | null;
  readonly warning?: string | null;
  readonly read_only: boolean;
  readonly points: number;
  readonly frame_rate: number;
}

export interface ObjectsUpdate {
  readonly type: "objects_update";
  readonly reset: boolean;
  readonly more: boolean;
  readonly now_memory_time: number;
  readonly objects: readonly WireObject[];
  readonly gone: readonly string[];
}

export interface ObjectEvent {
  readonly kind: string;
  readonly id: string;
  readonly memory_time: number;
  readonly label: string | null;
  readonly position: Vec3 | null;
}

export interface RobotMessage {
  readonly robot_pose: { readonly xyz: Vec3; readonly quaternion_xyzw: Quaternion; readonly timestamp: number } | null;
  readonly camera: CameraShape | null;
  readonly path: readonly PathPoint[];
  readonly path_reset: boolean;
}

export interface SocketListener {
  opened(): void;
  /** the line is gone; a new try comes after so many seconds */
  lost(code: number, retryIn: number): void;
  /** seconds since the last word and for the last question, whichever is longer */
  delay(seconds: number): void;
  objects(update: ObjectsUpdate): void;
  event(event: ObjectEvent): void;
  robot(message: RobotMessage): void;
  places(message: WirePlaces): void;
  stats(message: { readonly now_memory_time: number; readonly server: WireServer }): void;
  cloud(part: CloudPart): void;
}

const TOPICS = ["events", "objects", "point_cloud", "robot", "stats"];
const PING_SECONDS = 2;
const BEAT_SECONDS = 0.25;
const SILENT_SECONDS = 12;
const FIRST_RETRY = 0.5;
const LAST_RETRY = 8;

export class Socket {
  private line: WebSocket | null = null;
  private retry = FIRST_RETRY;
  private timer = 0;
  private pinger = 0;
  private pingSent: number | null = null;
  private roundTrip = 0;
  private heard = 0;
  /** seconds by which this page itself was late since the last question: they are not the connection's */
  private ownDelay = 0;
  private beat = performance.now();

  constructor(private readonly listener: SocketListener) {
    document.addEventListener("visibilitychange", () => this.send({ type: document.hidden ? "pause" : "resume" }));
    addEventListener("online", () => this.connectNow());
    setInterval(() => {
      const now = performance.now();
      this.ownDelay += Math.max(0, (now - this.beat) / 1000 - BEAT_SECONDS * 1.5);
      this.beat = now;
    }, BEAT_SECONDS * 1000);
  }

  connectNow(): void {
    clearTimeout(this.timer);
    if (this.line && this.line.readyState <= WebSocket.OPEN) return;
    const line = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    line.binaryType = "arraybuffer";
    this.line = line;
    this.heard = performance.now();
    line.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => this.hear(data));
    line.addEventListener("close", ({ code }) => this.closed(line, code));
    clearInterval(this.pinger);
    this.pinger = window.setInterval(() => this.ping(line), PING_SECONDS * 1000);
  }

  thin(decimation: number): void {
    this.send({ type: "set_decimation", value: decimation });
  }

  private send(message: object): void {
    if (this.line?.readyState === WebSocket.OPEN) this.line.send(JSON.stringify(message));
  }

  private hear(data: string | ArrayBuffer): void {
    this.heard = performance.now();
    if (data instanceof ArrayBuffer) {
      this.listener.cloud(readCloud(data));
      return;
    }
    const message = JSON.parse(data) as { readonly type: string };
    switch (message.type) {
      case "hello":
        this.retry = FIRST_RETRY;
        this.pingSent = null;
        this.roundTrip = 0;
        this.listener.opened();
        this.send({ type: "subscribe", topics: TOPICS });
        break;
      case "pong":
        if (this.pingSent !== null) this.roundTrip = this.waited(this.heard, this.pingSent);
        this.pingSent = null;
        this.listener.delay(this.roundTrip);
        break;
      case "objects_update":
        this.listener.objects(message as ObjectsUpdate);
        break;
      case "robot_pose":
        this.listener.robot(message as unknown as RobotMessage);
        break;
      case "places_update":
        this.listener.places(message as unknown as WirePlaces);
        break;
      case "stats":
        this.listener.stats(message as unknown as { now_memory_time: number; server: WireServer });
        break;
      default:
        if (message.type.startsWith("object_")) this.listener.event(message as unknown as ObjectEvent);
    }
  }

  private ping(line: WebSocket): void {
    const now = performance.now();
    const silent = (now - this.heard) / 1000;
    if (silent - this.ownDelay > SILENT_SECONDS && !document.hidden) {
      // a line that says nothing for so long is dead, whatever the system believes
      this.closed(line, 1006);
      line.close();
      return;
    }
    if (line.readyState !== WebSocket.OPEN) return;
    const waited = this.pingSent === null ? 0 : this.waited(now, this.pingSent);
    if (waited > this.roundTrip) this.listener.delay(waited);
    if (this.pingSent === null) {
      this.pingSent = now;
      this.ownDelay = 0;
      this.send({ type: "ping" });
    }
  }

  private waited(now: number, since: number): number {
    const late = Math.max(0, (now - this.beat) / 1000 - BEAT_SECONDS * 1.5);
    return Math.max(0, (now - since) / 1000 - this.ownDelay - late);
  }

  private closed(line: WebSocket, code: number): void {
    if (line !== this.line) return;
    this.line = null;
    clearInterval(this.pinger);
    const wait = this.retry;
    this.retry = Math.min(this.retry * 1.6, LAST_RETRY);
    this.listener.lost(code, wait);
    if (code === 4401) return;
    this.timer = window.setTimeout(() => this.connectNow(), wait * 1000);
  }
}
