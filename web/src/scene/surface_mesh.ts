/** The home's surface as a mesh over the cloud's own slots: each point is a corner, and points of neighbouring cubes are
 * joined along the surface. A point owns the one patch that begins at it, so that a message which changes a few points
 * changes a few patches, and the work is done in slices between frames. */

/** indices that one slot owns: a patch of two triangles */
export const OWNED = 6;
const EMPTY = -1;
/** cubes around one whose points tell how the surface lies there: within two and a bit */
const REACH_SQUARED = 5;
/** fewer points than this tell no direction */
const FEWEST = 4;
/** how far a point is moved onto the plane of its neighbours: depth is noisy, walls are not */
const FLATTEN = 0.85;
/** cubes that may be missing between two corners of a patch, and one more */
const LONGEST_STEP = 3;
/** slots between two looks at the clock */
const SLICE = 256;

const AROUND: readonly (readonly [number, number, number])[] = neighbourhood(2, REACH_SQUARED);
const TOUCHING: readonly (readonly [number, number, number])[] = neighbourhood(1, 3);

export class SurfaceMesh {
  readonly index: Uint32Array;
  /** where each point is drawn: on the plane of its neighbours */
  readonly drawn: Float32Array;
  readonly normals: Float32Array;
  /** 1 for a point that begins no patch, and is drawn by itself */
  readonly bare: Uint8Array;

  private readonly cells: Int32Array;
  private readonly alive: Uint8Array;
  private readonly dirty: Uint8Array;
  /** 1 for a slot that holds a point of another cube than before */
  private readonly moved: Uint8Array;
  private readonly used: Uint8Array;
  private anyMoved = false;
  private table: Int32Array;
  private mask: number;
  private filled = 0;
  private queue: number[] = [];
  private head = 0;
  private cell = 1;

  constructor(private readonly capacity: number, private readonly positions: Float32Array) {
    this.index = new Uint32Array(capacity * OWNED);
    this.drawn = new Float32Array(capacity * 3);
    this.normals = new Float32Array(capacity * 3);
    this.bare = new Uint8Array(capacity).fill(1);
    this.cells = new Int32Array(capacity * 3);
    this.alive = new Uint8Array(capacity);
    this.dirty = new Uint8Array(capacity);
    this.moved = new Uint8Array(capacity);
    this.used = new Uint8Array(capacity);
    const size = 2 ** Math.ceil(Math.log2(Math.max(capacity, 1) * 2 + 2));
    this.table = new Int32Array(size).fill(EMPTY);
    this.mask = size - 1;
  }

  /** Slots that still wait for their patch. */
  get waiting(): number {
    return this.queue.length - this.head;
  }

  clear(cell: number): void {
    this.cell = cell;
    this.alive.fill(0);
    this.dirty.fill(0);
    this.moved.fill(0);
    this.used.fill(0);
    this.anyMoved = false;
    this.table.fill(EMPTY);
    this.index.fill(0);
    this.bare.fill(1);
    this.filled = 0;
    this.queue = [];
    this.head = 0;
  }

  /** A slot was filled, moved or emptied; ``alone`` where all its neighbours change too, as in a first load. */
  change(slot: number, filled: boolean, alone: boolean): void {
    const { cells, positions } = this;
    this.alive[slot] = filled ? 1 : 0;
    if (filled) {
      for (let axis = 0; axis < 3; axis++) {
        const cell = Math.floor((positions[slot * 3 + axis] ?? 0) / this.cell + 1e-4);
        if (this.used[slot] && cells[slot * 3 + axis] !== cell) {
          this.moved[slot] = 1;
          this.anyMoved = true;
        }
        cells[slot * 3 + axis] = cell;
        this.drawn[slot * 3 + axis] = positions[slot * 3 + axis] ?? 0;
      }
      this.used[slot] = 1;
      this.insert(slot);
    }
    this.mark(slot);
    if (alone) return;
    for (const [dx, dy, dz] of TOUCHING) {
      const other = this.at((cells[slot * 3] ?? 0) + dx, (cells[slot * 3 + 1] ?? 0) + dy, (cells[slot * 3 + 2] ?? 0) + dz);
      if (other !== EMPTY) this.mark(other);
    }
  }

  /** Take away the patches that hold a corner which went elsewhere: they would be drawn across the home until they are
   * made anew. Answers the lowest and highest slot that changed, null where none did. */
  tearMoved(highest: number): readonly [number, number] | null {
    if (!this.anyMoved) return null;
    this.anyMoved = false;
    let low = Infinity;
    let high = -1;
    for (let at = 0; at < highest * OWNED; at++) {
      if (!this.moved[this.index[at] ?? 0]) continue;
      const slot = Math.floor(at / OWNED);
      this.index.fill(slot, slot * OWNED, (slot + 1) * OWNED);
      this.mark(slot);
      low = Math.min(low, slot);
      high = slot;
      at = (slot + 1) * OWNED - 1;
    }
    this.moved.fill(0);
    return high < 0 ? null : [low, high];
  }

  /** Make patches for some milliseconds; answers the lowest and highest slot that changed, null where none did. */
  advance(milliseconds: number): readonly [number, number] | null {
    if (!this.waiting) return null;
    const until = performance.now() + milliseconds;
    let low = Infinity;
    let high = -1;
    while (this.head < this.queue.length) {
      const slot = this.queue[this.head++] ?? 0;
      this.dirty[slot] = 0;
      if (this.alive[slot]) this.lay(slot);
      this.patch(slot);
      low = Math.min(low, slot);
      high = Math.max(high, slot);
      if (this.head % SLICE === 0 && performance.now() > until) break;
    }
    if (this.head >= this.queue.length) {
      this.queue = [];
      this.head = 0;
    }
    return [low, high];
  }

  /** The filled slot whose cube holds a point of the world, or -1. */
  slotAt(x: number, y: number, z: number): number {
    return this.at(Math.floor(x / this.cell), Math.floor(y / this.cell), Math.floor(z / this.cell));
  }

  private mark(slot: number): void {
    if (this.dirty[slot]) return;
    this.dirty[slot] = 1;
    this.queue.push(slot);
  }

  /** The surface's direction at a point, and the point on it. */
  private lay(slot: number): void {
    const { cells, positions } = this;
    const [cx, cy, cz] = [cells[slot * 3] ?? 0, cells[slot * 3 + 1] ?? 0, cells[slot * 3 + 2] ?? 0];
    const [px, py, pz] = [positions[slot * 3] ?? 0, positions[slot * 3 + 1] ?? 0, positions[slot * 3 + 2] ?? 0];
    let count = 0;
    let [mx, my, mz, xx, xy, xz, yy, yz, zz] = [0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (const [dx, dy, dz] of AROUND) {
      const other = this.at(cx + dx, cy + dy, cz + dz);
      if (other === EMPTY) continue;
      const x = (positions[other * 3] ?? 0) - px;
      const y = (positions[other * 3 + 1] ?? 0) - py;
      const z = (positions[other * 3 + 2] ?? 0) - pz;
      count++;
      mx += x;
      my += y;
      mz += z;
      xx += x * x;
      xy += x * y;
      xz += x * z;
      yy += y * y;
      yz += y * z;
      zz += z * z;
    }
    let normal: readonly [number, number, number] = [0, 0, 1];
    count++; // the point itself, which lies at nought
    mx /= count;
    my /= count;
    mz /= count;
    if (count >= FEWEST) {
      normal = flattest(xx / count - mx * mx, xy / count - mx * my, xz / count - mx * mz, yy / count - my * my, yz / count - my * mz, zz / count - mz * mz);
      const off = (normal[0] * mx + normal[1] * my + normal[2] * mz) * FLATTEN;
      this.drawn[slot * 3] = px + normal[0] * off;
      this.drawn[slot * 3 + 1] = py + normal[1] * off;
      this.drawn[slot * 3 + 2] = pz + normal[2] * off;
    }
    this.normals.set(normal, slot * 3);
  }

  /** Join a point with its neighbours on the far side of both directions along the surface. */
  private patch(slot: number): void {
    const start = slot * OWNED;
    this.index.fill(slot, start, start + OWNED);
    this.bare[slot] = 1;
    if (!this.alive[slot]) return;
    const n = [this.normals[slot * 3] ?? 0, this.normals[slot * 3 + 1] ?? 0, this.normals[slot * 3 + 2] ?? 0] as const;
    const [ax, ay, az] = [Math.abs(n[0]), Math.abs(n[1]), Math.abs(n[2])];
    const k = az >= ax && az >= ay ? 2 : ax >= ay ? 0 : 1;
    const u = (k + 1) % 3;
    const v = (k + 2) % 3;
    const slopeU = -(n[u] ?? 0) / (n[k] ?? 1);
    const slopeV = -(n[v] ?? 0) / (n[k] ?? 1);
    let stepU = 1;
    let b = EMPTY;
    for (; stepU <= LONGEST_STEP && b === EMPTY; stepU++) b = this.beside(slot, k, u, v, stepU, 0, slopeU * stepU);
    let stepV = 1;
    let d = EMPTY;
    for (; stepV <= LONGEST_STEP && d === EMPTY; stepV++) d = this.beside(slot, k, u, v, 0, stepV, slopeV * stepV);
    stepU = b === EMPTY ? 1 : stepU - 1;
    stepV = d === EMPTY ? 1 : stepV - 1;
    let c = this.beside(slot, k, u, v, stepU, stepV, slopeU * stepU + slopeV * stepV);
    if (c === EMPTY && (stepU < LONGEST_STEP || stepV < LONGEST_STEP)) {
      c = this.beside(slot, k, u, v, stepU + 1, stepV + 1, slopeU * (stepU + 1) + slopeV * (stepV + 1));
    }
    const corners = [slot, b, c, d].filter((corner) => corner !== EMPTY);
    if (corners.length < 3) return;
    this.bare[slot] = 0;
    const [first = slot, second = slot, third = slot, fourth] = corners;
    this.index.set([first, second, third], start);
    if (fourth !== undefined) this.index.set([first, third, fourth], start + 3);
  }

  /** The point some cubes along the surface, a little higher or lower where it slopes. */
  private beside(slot: number, k: number, u: number, v: number, du: number, dv: number, rise: number): number {
    const at: [number, number, number] = [this.cells[slot * 3] ?? 0, this.cells[slot * 3 + 1] ?? 0, this.cells[slot * 3 + 2] ?? 0];
    at[u] = (at[u] ?? 0) + du;
    at[v] = (at[v] ?? 0) + dv;
    const level = at[k] ?? 0;
    const likely = Math.max(-1, Math.min(1, Math.round(rise)));
    for (const off of likely === 0 ? [0, 1, -1] : [likely, 0]) {
      at[k] = level + off;
      const found = this.at(at[0], at[1], at[2]);
      if (found !== EMPTY) return found;
    }
    return EMPTY;
  }

  private at(x: number, y: number, z: number): number {
    const { cells, table, mask } = this;
    let place = hash(x, y, z) & mask;
    for (;;) {
      const slot = table[place] ?? EMPTY;
      if (slot === EMPTY) return EMPTY;
      if (this.alive[slot] && cells[slot * 3] === x && cells[slot * 3 + 1] === y && cells[slot * 3 + 2] === z) return slot;
      place = (place + 1) & mask;
    }
  }

  private insert(slot: number): void {
    // emptied and moved slots leave their old entry behind: from time to time the table is made anew without them
    if (this.filled > this.mask * 0.7) this.rehash();
    this.put(slot);
  }

  private put(slot: number): void {
    const { cells, table, mask } = this;
    let place = hash(cells[slot * 3] ?? 0, cells[slot * 3 + 1] ?? 0, cells[slot * 3 + 2] ?? 0) & mask;
    while ((table[place] ?? EMPTY) !== EMPTY) {
      if (table[place] === slot) return;
      place = (place + 1) & mask;
    }
    table[place] = slot;
    this.filled++;
  }

  private rehash(): void {
    this.table.fill(EMPTY);
    this.filled = 0;
    for (let slot = 0; slot < this.capacity; slot++) if (this.alive[slot]) this.put(slot);
  }
}

function hash(x: number, y: number, z: number): number {
  const mixed = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca6b) ^ Math.imul(z, 0xc2b2ae35);
  return mixed ^ (mixed >>> 15);
}

function neighbourhood(reach: number, most: number): [number, number, number][] {
  const found: [number, number, number][] = [];
  for (let x = -reach; x <= reach; x++) {
    for (let y = -reach; y <= reach; y++) {
      for (let z = -reach; z <= reach; z++) {
        const far = x * x + y * y + z * z;
        if (far > 0 && far <= most) found.push([x, y, z]);
      }
    }
  }
  return found;
}

/** The unit vector along which points spread least: the eigenvector of the least eigenvalue of their covariance. */
function flattest(xx: number, xy: number, xz: number, yy: number, yz: number, zz: number): readonly [number, number, number] {
  const mean = (xx + yy + zz) / 3;
  const [a, b, c] = [xx - mean, yy - mean, zz - mean];
  const p = Math.sqrt((a * a + b * b + c * c + 2 * (xy * xy + xz * xz + yz * yz)) / 6);
  if (p < 1e-12) return [0, 0, 1];
  const determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
  const angle = Math.acos(Math.max(-1, Math.min(1, determinant / (2 * p * p * p)))) / 3;
  const least = mean + 2 * p * Math.cos(angle + (2 * Math.PI) / 3);
  const [ra, rb, rc] = [xx - least, yy - least, zz - least];
  // any two rows of what is left span the plane; the longest cross product is the most exact
  const crosses = [
    [xy * yz - xz * rb, xz * xy - ra * yz, ra * rb - xy * xy],
    [xy * rc - xz * yz, xz * xz - ra * rc, ra * yz - xy * xz],
    [rb * rc - yz * yz, yz * xz - xy * rc, xy * yz - rb * xz],
  ] as const;
  let best: readonly [number, number, number] = [0, 0, 1];
  let longest = 0;
  for (const cross of crosses) {
    const length = Math.hypot(...cross);
    if (length > longest) {
      longest = length;
      best = [cross[0] / length, cross[1] / length, cross[2] / length];
    }
  }
  return best;
}
