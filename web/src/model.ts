/** What the viewer knows, in its own words: only net/api.ts and net/socket.ts know how the server writes it. */

export type Vec3 = readonly [number, number, number];
export type Quaternion = readonly [number, number, number, number];

export const STATES = ["confirmed", "tentative", "stale", "missing"] as const;
export type ThingState = (typeof STATES)[number];

/** One remembered object; times are memory time in seconds. */
export interface Thing {
  readonly id: string;
  readonly label: string;
  /** whether anything has a name for it; else ``label`` only describes it */
  readonly named: boolean;
  readonly state: ThingState;
  readonly centre: Vec3;
  readonly size: Vec3;
  /** radians by which its box is turned about the vertical */
  readonly yaw: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly hits: number;
  readonly confidence: number;
  readonly place: number | null;
}

export interface Anchor {
  readonly id: number;
  readonly at: readonly [number, number];
  readonly neighbours: readonly number[];
}

export interface Place {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly anchors: readonly Anchor[];
  readonly outline: readonly (readonly [number, number])[];
  readonly storey: number;
}

/** A straight line on the floor, in metres. */
export interface Segment {
  readonly start: readonly [number, number];
  readonly end: readonly [number, number];
}

/** Walls and doors of one storey; ``height`` is that of its floor. */
export interface FloorPlan {
  readonly storey: number;
  readonly height: number;
  readonly walls: readonly (Segment & { readonly thickness: number })[];
  readonly doors: readonly Segment[];
}

export interface CameraPose {
  readonly stamp: number;
  readonly at: Vec3;
  readonly turn: Quaternion;
}

/** Something that happened to an object. */
export interface Happening {
  readonly key: string;
  readonly kind: string;
  readonly id: string;
  readonly label: string;
  readonly time: number;
  readonly at: Vec3 | null;
}

export interface HistoryStep {
  readonly kind: string;
  readonly time: number;
  readonly at: Vec3 | null;
  readonly state: string | null;
}

export interface Hit {
  readonly thing: Thing;
  readonly score: number;
  /** whether it answers the question; what does not only came nearest */
  readonly fits: boolean;
}

export interface Answer {
  readonly query: string;
  readonly status: "found" | "ambiguous" | "not_found";
  readonly reason: string;
  readonly hits: readonly Hit[];
  readonly asOf: number | null;
  /** whether tentative and removed objects were asked too */
  readonly wide: boolean;
  /** what memory says to a question; null where a thing was looked for */
  readonly sentence: string | null;
}

/** An image with the objects in it; boxes are left, top, right, bottom in its pixels. */
export interface Picture {
  readonly live: boolean;
  readonly time: number;
  readonly width: number;
  readonly height: number;
  readonly people: string;
  readonly imageUrl: string;
  readonly depthUrl: string | null;
  readonly objects: readonly { readonly id: string; readonly label: string; readonly box: readonly [number, number, number, number] }[];
}

/** How the search of the server's robot goes. */
export interface RobotSearch {
  readonly robot: "none" | "simulated" | "real";
  readonly status: string;
  readonly goal: string | null;
  readonly reason: string | null;
  /** what memory takes for the goal, best first */
  readonly candidates: readonly Thing[];
  /** ids of those that were looked for in vain */
  readonly givenUp: readonly string[];
  readonly steps: number;
  readonly metres: number;
  readonly rooms: readonly { readonly place: string; readonly share: number }[];
  readonly reasons: readonly { readonly source: string; readonly why: string }[];
  readonly path: readonly (readonly [number, number])[];
  readonly walked: readonly (readonly [number, number])[];
  /** tells one search from another */
  readonly started: number;
}

/** A session and how the map it is in is known; ``transform`` leads from its map to the memory's. */
export interface SessionFrame {
  readonly id: number;
  readonly first: number;
  readonly state: string;
  readonly reason: string;
  readonly transform: { readonly yaw: number; readonly x: number; readonly y: number; readonly z: number } | null;
  /** ids of things met again: the session's, the memory's */
  readonly pairs: readonly (readonly [string, string])[];
}

/** A thing met again: where it is, where the session's own map had it, and how far apart both are in one map. */
export interface Match {
  readonly here: Vec3;
  readonly there: Vec3;
  readonly gap: number;
}

/** The stretch of memory time that a slider can show. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What the server says about itself. */
export interface ServerNote {
  readonly mode: string;
  readonly source: string;
  readonly sourceError: string | null;
  /** what is wrong with what is remembered, with the remedy */
  readonly warning: string | null;
  readonly points: number;
  readonly frameRate: number;
  readonly readOnly: boolean;
}

export type Connection = "connecting" | "live" | "slow" | "lost" | "denied";
