/** The one place where what is shown is kept: parts set a field, and whoever reads it is told once per turn. */

import type { Answer, Connection, FloorPlan, Happening, Place, RobotSearch, ServerNote, SessionFrame, Span, Thing, ThingState } from "./model";
import { STATES } from "./model";

export interface State {
  connection: Connection;
  /** why the connection is as it is, for people */
  connectionNote: string;
  /** whether the first answer about objects has come: before it, "nothing" is not known yet */
  loaded: boolean;
  /** whether more objects of a first load are on their way */
  arriving: boolean;
  things: ReadonlyMap<string, Thing>;
  places: readonly Place[];
  plans: readonly FloorPlan[];
  happenings: readonly Happening[];
  /** oldest first */
  sessions: readonly SessionFrame[];
  /** what sessions that are kept apart have seen, each in its own map */
  apart: ReadonlyMap<number, readonly Thing[]>;
  span: Span | null;
  server: ServerNote | null;
  /** null is live, a number the memory time that is looked at */
  asOf: number | null;
  /** whether the past that is asked for is still on its way */
  travelling: boolean;
  selected: string | null;
  hovered: string | null;
  answer: Answer | null;
  searching: boolean;
  /** the search of the server's robot; null before it is known whether there is one */
  robotSearch: RobotSearch | null;
  /** whether a robot's search is shown */
  finding: boolean;
  shownStates: ReadonlySet<ThingState>;
  labelFilter: string;
}

export type Key = keyof State;
type Listener = (state: Readonly<State>, changed: ReadonlySet<Key>) => void;

export class Store {
  private readonly listeners: { keys: ReadonlySet<Key>; tell: Listener }[] = [];
  private changed = new Set<Key>();

  readonly state: State = {
    connection: "connecting",
    connectionNote: "",
    loaded: false,
    arriving: false,
    things: new Map(),
    places: [],
    plans: [],
    happenings: [],
    sessions: [],
    apart: new Map(),
    span: null,
    server: null,
    asOf: null,
    travelling: false,
    selected: null,
    hovered: null,
    answer: null,
    searching: false,
    robotSearch: null,
    finding: false,
    shownStates: new Set(STATES),
    labelFilter: "",
  };

  set(patch: Partial<State>): void {
    for (const key of Object.keys(patch) as Key[]) {
      if (patch[key] !== this.state[key]) {
        if (this.changed.size === 0) queueMicrotask(() => this.flush());
        this.changed.add(key);
      }
    }
    Object.assign(this.state, patch);
  }

  /** Call back after any of these fields changed, and once now. */
  on(keys: readonly Key[], tell: Listener): void {
    this.listeners.push({ keys: new Set(keys), tell });
    tell(this.state, new Set(keys));
  }

  private flush(): void {
    const changed = this.changed;
    this.changed = new Set();
    for (const { keys, tell } of this.listeners) {
      for (const key of keys) {
        if (changed.has(key)) {
          tell(this.state, changed);
          break;
        }
      }
    }
  }
}

/** Whether the session of the moment shown is kept apart: where anything remembered is from there is not known yet. */
export function isUnplaced({ sessions, asOf }: Readonly<State>): boolean {
  return sessions.filter(({ first }) => asOf === null || first <= asOf).at(-1)?.state === "quarantined";
}

/** A thing of a session that is kept apart, by its id. */
export function thingApart({ apart }: Readonly<State>, id: string): Thing | undefined {
  for (const things of apart.values()) for (const thing of things) if (thing.id === id) return thing;
  return undefined;
}

/** Ids of what an answer rests on, or a search that runs goes for; what did not fit is listed, never shown as if it did. */
export function lit({ answer, robotSearch, finding }: Readonly<State>): ReadonlySet<string> {
  if (answer) {
    const fitting = answer.hits.filter(({ fits }) => fits && answer.status !== "not_found");
    const shown = answer.status === "found" && answer.sentence === null ? fitting.slice(0, 1) : fitting;
    return new Set(shown.map(({ thing }) => thing.id));
  }
  if (!finding || robotSearch?.status !== "searching") return new Set();
  const gone = new Set(robotSearch.givenUp);
  return new Set(robotSearch.candidates.flatMap(({ id }) => (gone.has(id) ? [] : id)));
}

/** The objects that pass the filters of the list: the scene and the list show the same ones. */
export function shownThings(state: Readonly<State>): Thing[] {
  const wanted = state.labelFilter.trim().toLowerCase();
  const shown: Thing[] = [];
  for (const thing of state.things.values()) {
    if (!state.shownStates.has(thing.state)) continue;
    if (wanted && !thing.label.toLowerCase().includes(wanted) && thing.id !== wanted) continue;
    shown.push(thing);
  }
  return shown;
}
