/** Turns memory time into the time on the wall: each session has its own offset, or none. */

export interface Session {
  readonly id: number;
  readonly first: number;
  readonly last: number;
  readonly firstWall: number | null;
}

export class MemoryClock {
  sessions: readonly Session[] = [];
  now = 0;
  /** whether frames come now, so that an age counted from the newest one is one by the wall's clock too */
  live = false;

  wall(time: number): number | null {
    const session = this.sessions.findLast(({ first }) => first <= time + 1e-6) ?? this.sessions[0];
    return session?.firstWall == null ? null : session.firstWall + (time - session.first);
  }

  /** Seconds from one moment to another by the wall's clock; by memory's, which counts a pause as it can, where no date is known. */
  between(from: number, to: number): number {
    const [begun, ended] = [this.wall(from), this.wall(to)];
    return begun === null || ended === null ? to - from : Math.max(0, ended - begun);
  }

  get newestWall(): number | null {
    return this.wall(this.now);
  }
}
