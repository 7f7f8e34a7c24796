/** The server's REST answers, turned into the viewer's own words. Each call says what went wrong in one line. */

import type { Answer, FloorPlan, Happening, HistoryStep, Match, Picture, Place, RobotSearch, SessionFrame, Thing, ThingState, Vec3 } from "../model";
import type { Session } from "../memory_clock";

export interface WireObject {
  readonly id: string;
  readonly label: string | null;
  readonly state: string;
  readonly position: Vec3;
  readonly extent: Vec3;
  readonly yaw?: number | null;
  readonly kind?: string;
  readonly hits?: number | null;
  readonly stability?: number | null;
  readonly color?: string | null;
  readonly place_id: number | null;
  readonly first_seen_memory_time?: number;
  readonly last_seen_memory_time: number;
}

export interface WireAnchor {
  readonly id: number;
  readonly place_id: number;
  readonly world_pose: Vec3 | null;
  readonly neighbors: readonly number[];
}

interface WireSearch extends Omit<RobotSearch, "candidates" | "givenUp"> {
  readonly candidates: readonly WireObject[];
  readonly given_up: readonly string[];
}

export interface WirePlaces {
  readonly places: readonly { readonly id: number; readonly type: string; readonly description: string; readonly outline: readonly (readonly [number, number])[]; readonly storey: number }[];
  readonly anchors: readonly WireAnchor[];
  readonly plans: readonly FloorPlan[];
}

export interface Relation {
  readonly kind: string;
  readonly otherId: string;
  readonly otherLabel: string;
}

export interface Details {
  readonly thing: Thing;
  readonly images: readonly { readonly url: string; readonly time: number }[];
  readonly labels: readonly (readonly [string, number])[];
  readonly colour: string | null;
  readonly relations: readonly Relation[];
}

export interface Timeline {
  readonly first: number | null;
  readonly last: number | null;
  readonly now: number;
  readonly sessions: readonly Session[];
  readonly marks: readonly { readonly time: number; readonly kind: string }[];
}

/** What a call can fail by; ``status`` is 0 where no answer came at all. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const PAGE = 1000;
const MOST_OBJECTS = 20_000;

export class Api {
  constructor(private readonly root: string = location.origin) {}

  async session(): Promise<{ required: boolean; authenticated: boolean }> {
    return this.get("/session");
  }

  async logIn(token: string): Promise<void> {
    await this.post("/session", { token });
  }

  /** Every object known at a time; those that left for good are not among them. */
  async objectsAt(time: number, signal: AbortSignal): Promise<Map<string, Thing>> {
    const things = new Map<string, Thing>();
    for (let offset = 0; offset < MOST_OBJECTS; offset += PAGE) {
      const query = `as_of=${time.toFixed(3)}&include_removed=true&offset=${offset}&limit=${PAGE}`;
      const page = await this.get<{ total: number; objects: WireObject[] }>(`/objects?${query}`, signal);
      for (const object of page.objects) {
        const thing = thingOf(object);
        if (thing) things.set(thing.id, thing);
      }
      if (offset + PAGE >= page.total) break;
    }
    return things;
  }

  async object(id: string, signal?: AbortSignal): Promise<Details> {
    interface Wire extends WireObject {
      readonly label_scores?: Record<string, number>;
      readonly snapshot_urls: readonly string[];
      readonly snapshot_memory_times: readonly number[];
      readonly relations: readonly { readonly kind: string; readonly other_id: string; readonly other_label: string | null }[];
    }
    const wire = await this.get<Wire>(`/objects/${encodeURIComponent(id)}`, signal);
    return {
      thing: evidenceOf(wire),
      images: wire.snapshot_urls.map((url, at) => ({ url, time: wire.snapshot_memory_times[at] ?? 0 })).filter(({ url }) => url.startsWith("/objects/")),
      labels: Object.entries(wire.label_scores ?? {}).sort(([, a], [, b]) => b - a),
      colour: wire.color ?? null,
      relations: wire.relations.map(({ kind, other_id, other_label }) => ({
        kind,
        otherId: other_id,
        otherLabel: other_label ?? other_id,
      })),
    };
  }

  async history(id: string, signal?: AbortSignal): Promise<HistoryStep[]> {
    interface Wire {
      readonly history: readonly { kind: string; memory_time: number; position: Vec3 | null; state: string | null }[];
    }
    const { history } = await this.get<Wire>(`/objects/${encodeURIComponent(id)}/history`, signal);
    return history.map(({ kind, memory_time, position, state }) => ({ kind, time: memory_time, at: position, state }));
  }

  /** ``wide`` takes tentative and removed objects into account too. */
  async search(query: string, asOf: number | null, wide: boolean, signal: AbortSignal): Promise<Answer> {
    interface Wire {
      readonly status: Answer["status"];
      readonly reason: string;
      readonly results: readonly (WireObject & { readonly score: number; readonly fits: boolean })[];
    }
    const past = asOf === null ? "" : `&as_of=${asOf.toFixed(3)}`;
    const all = wide ? "&include_tentative=true&include_removed=true" : "";
    const wire = await this.get<Wire>(`/search/semantic?query=${encodeURIComponent(query)}&top_k=5${past}${all}`, signal);
    const hits = wire.results.map((result) => ({ thing: evidenceOf(result), score: result.score, fits: result.fits }));
    // the page has a button for what the API's users are told to do
    const reason = wire.reason.replace(/; ask with include_\w+/, "");
    return { query, status: wire.status, reason, hits, asOf, wide, sentence: null };
  }

  /** A question in words; what the sentence says is shown by the objects beside it. */
  async ask(question: string, signal: AbortSignal): Promise<Answer> {
    interface Wire {
      readonly status: "answered" | "not_remembered" | "not_understood";
      readonly sentence: string;
      readonly refused: string | null;
      readonly count: number | null;
      readonly objects: readonly (WireObject & { readonly score: number | null })[];
    }
    const wire = await this.get<Wire>(`/ask?question=${encodeURIComponent(question)}`, signal);
    // what only came nearest is no evidence
    const rests = wire.status === "answered" && wire.refused === null && wire.count !== 0;
    const hits = rests ? wire.objects.map((one) => ({ thing: evidenceOf(one), score: one.score ?? 1, fits: true })) : [];
    const status = wire.status === "answered" ? "found" : "not_found";
    return { query: question, status, reason: "", hits, asOf: null, wide: true, sentence: wire.sentence };
  }

  /** What the camera saw: now, or at a memory time; null where no picture was kept. */
  async camera(asOf: number | null, signal: AbortSignal): Promise<Picture | null> {
    interface Wire {
      readonly live: boolean;
      readonly memory_time: number;
      readonly width: number;
      readonly height: number;
      readonly people: string;
      readonly image_url: string;
      readonly depth_url: string | null;
      readonly objects: readonly { readonly id: string; readonly label: string | null; readonly box: readonly [number, number, number, number] }[];
    }
    const wire = await this.get<Wire | null>(asOf === null ? "/camera" : `/camera?at=${asOf.toFixed(3)}`, signal);
    if (wire === null) return null;
    const objects = wire.objects.map(({ id, label, box }) => ({ id, label: label ?? "", box }));
    const { live, width, height, people } = wire;
    return { live, width, height, people, objects, time: wire.memory_time, imageUrl: wire.image_url, depthUrl: wire.depth_url };
  }

  async searchState(): Promise<RobotSearch> {
    return searchOf(await this.get<WireSearch>("/search"));
  }

  async beginSearch(goal: string, mayMove: boolean): Promise<RobotSearch> {
    return searchOf((await (await this.post("/search", { goal, may_move: mayMove })).json()) as WireSearch);
  }

  async stopSearch(): Promise<RobotSearch> {
    return searchOf((await (await this.fetch("/search", { method: "DELETE" })).json()) as WireSearch);
  }

  async timeline(): Promise<Timeline> {
    interface Wire {
      readonly first_memory_time: number | null;
      readonly last_memory_time: number | null;
      readonly now_memory_time: number;
      readonly sessions: readonly { id: number; first: string | null; first_memory_time: number; last_memory_time: number }[];
      readonly marks: readonly { memory_time: number; kind: string }[];
    }
    const wire = await this.get<Wire>("/timeline");
    return {
      first: wire.first_memory_time,
      last: wire.last_memory_time,
      now: wire.now_memory_time,
      sessions: wire.sessions.map(({ id, first, first_memory_time, last_memory_time }) => ({
        id,
        first: first_memory_time,
        last: last_memory_time,
        firstWall: first === null ? null : Date.parse(first) / 1000,
      })),
      marks: wire.marks.map(({ memory_time, kind }) => ({ time: memory_time, kind })),
    };
  }

  async sessions(): Promise<SessionFrame[]> {
    interface Wire extends SessionFrame {
      readonly first_memory_time: number;
    }
    const { sessions } = await this.get<{ sessions: readonly Wire[] }>("/sessions");
    return sessions.map(({ id, first_memory_time, state, reason, transform, pairs }) => ({ id, first: first_memory_time, state, reason, transform, pairs }));
  }

  /** What a session that is kept apart has seen, in its own map. */
  async sessionObjects(id: number): Promise<Thing[]> {
    const { objects } = await this.get<{ objects: readonly WireObject[] }>(`/sessions/${id}/objects`);
    return objects.flatMap((wire) => thingOf(wire) ?? []);
  }

  /** What was met again in a session, by its first sighting there; things that are gone are left out. */
  async matches({ id, transform, pairs }: SessionFrame, things: ReadonlyMap<string, Thing>, most: number): Promise<Match[]> {
    interface Wire {
      readonly history: readonly { readonly kind: string; readonly session: number; readonly evidence: { readonly xyz?: Vec3 } }[];
    }
    if (!transform) return [];
    const { yaw, x, y, z } = transform;
    const kept = pairs.flatMap(([, mine]) => things.get(mine) ?? []).slice(0, most);
    const found = kept.map(async (thing): Promise<Match | null> => {
      const { history } = await this.get<Wire>(`/objects/${encodeURIComponent(thing.id)}/history`);
      const seen = history.find(({ kind, session, evidence }) => kind === "appeared" && session === id && evidence.xyz)?.evidence.xyz;
      if (!seen) return null;
      const [dx, dy] = [seen[0] - x, seen[1] - y];
      const there: Vec3 = [Math.cos(yaw) * dx + Math.sin(yaw) * dy, Math.cos(yaw) * dy - Math.sin(yaw) * dx, seen[2] - z];
      const [cx, cy, cz] = thing.centre;
      return { here: thing.centre, there, gap: Math.hypot(seen[0] - cx, seen[1] - cy, seen[2] - cz) };
    });
    return (await Promise.all(found)).filter((match) => match !== null);
  }

  async changes(): Promise<Happening[]> {
    interface Wire {
      readonly changes: readonly { id: string; kind: string; memory_time: number; label: string | null; position: Vec3 | null }[];
    }
    const { changes } = await this.get<Wire>("/changes?limit=300");
    return changes.map(({ id, kind, memory_time, label, position }) => happening(kind, id, memory_time, label, position));
  }

  /** Corrections answer with their number, by which they can be undone. */
  async relabel(id: string, label: string): Promise<number> {
    return this.correct(id, "relabel", { label });
  }

  /** Say that two objects are one; the first id stays. */
  async merge(keep: string, lose: string): Promise<number> {
    return this.correct(keep, "merge", { lose });
  }

  async remove(id: string): Promise<number> {
    return this.correct(id, "delete", {});
  }

  /** Tell the memory something; where it is about a place, that place. */
  async tell(text: string, position: Vec3): Promise<number> {
    const answer = await this.post("/tell", { text, position });
    return ((await answer.json()) as { correction: number }).correction;
  }

  /** Take back a correction; refused when anybody corrected something since. */
  async undo(correction: number): Promise<void> {
    await this.post("/corrections/undo", { correction });
  }

  private async correct(id: string, verb: string, body: object): Promise<number> {
    const answer = await this.post(`/objects/${encodeURIComponent(id)}/${verb}`, body);
    return ((await answer.json()) as { correction: number }).correction;
  }

  private async post(path: string, body: object): Promise<Response> {
    return this.fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }

  private async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const answer = await this.fetch(path, signal ? { signal } : {});
    try {
      return (await answer.json()) as T;
    } catch (error) {
      // a server that goes down may leave half an answer
      throw isAbort(error) ? error : new ApiError(0, "The server's answer broke off.");
    }
  }

  private async fetch(path: string, options: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(this.root + path, { ...options, credentials: "same-origin" });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError(0, "The server does not answer.");
    }
    if (answer.ok) return answer;
    const told = (await answer.json().catch(() => null)) as { message?: unknown } | null;
    throw new ApiError(answer.status, typeof told?.message === "string" ? told.message : `The server answered ${answer.status}.`);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

const KNOWN_STATES = new Set<string>(["tentative", "confirmed", "stale", "missing"]);

/** An object of the wire; null for one that left memory for good, and for walls and table tops, which lists leave out too. */
export function thingOf(wire: WireObject): Thing | null {
  return KNOWN_STATES.has(wire.state) && wire.kind !== "surface" ? bare(wire) : null;
}

/** The same of what an answer names: a thing that left for good is shown as missing. */
function evidenceOf(wire: WireObject): Thing {
  return KNOWN_STATES.has(wire.state) ? bare(wire) : { ...bare(wire), state: "missing" };
}

/** What to call a thing that nothing has named. */
export function nameless(colour?: string | null): string {
  return colour ? `${colour} thing` : "unnamed";
}

function bare(wire: WireObject): Thing {
  return {
    id: wire.id,
    label: wire.label ?? nameless(wire.color),
    named: wire.label !== null,
    state: wire.state as ThingState,
    centre: wire.position,
    size: wire.extent,
    yaw: wire.yaw ?? 0,
    firstSeen: wire.first_seen_memory_time ?? wire.last_seen_memory_time,
    lastSeen: wire.last_seen_memory_time,
    hits: wire.hits ?? 0,
    confidence: wire.stability ?? 0,
    place: wire.place_id,
  };
}

function searchOf({ candidates, given_up, ...state }: WireSearch): RobotSearch {
  return { ...state, candidates: candidates.map(evidenceOf), givenUp: given_up };
}

export function placesOf(wire: WirePlaces): Place[] {
  const anchors = new Map<number, Place["anchors"][number][]>();
  for (const { id, place_id, world_pose, neighbors } of wire.anchors) {
    if (!world_pose) continue;
    const list = anchors.get(place_id) ?? [];
    list.push({ id, at: [world_pose[0], world_pose[1]], neighbours: neighbors });
    anchors.set(place_id, list);
  }
  return wire.places.map(({ id, type, description, outline, storey }) => ({
    id,
    name: type === "unknown" ? "" : type.replaceAll("_", " "),
    description,
    outline,
    storey,
    anchors: anchors.get(id) ?? [],
  }));
}

export function happening(kind: string, id: string, time: number, label: string | null, at: Vec3 | null): Happening {
  return { key: `${id} ${kind} ${time.toFixed(3)}`, kind, id, label: label ?? "", time, at };
}
