/** Reads the binary point-cloud message (docs/server.md); what does not fit the layout is refused by name. */

export interface CloudPart {
  readonly reset: boolean;
  readonly more: boolean;
  readonly capacity: number;
  readonly voxel: number;
  readonly decimation: number;
  readonly slots: Uint32Array;
  readonly positions: Float32Array;
  readonly paints: Uint8Array;
  /** memory time in whole seconds at which each point was first seen */
  readonly firsts: Uint32Array;
}

const HEADER = 32;
const MAGIC = 0x4350534c; // "LSPC", little-endian
const MOST_SLOTS = 4_000_000;

export function readCloud(buffer: ArrayBuffer): CloudPart {
  if (buffer.byteLength < HEADER) throw new Error(`point cloud of ${buffer.byteLength} bytes has no header`);
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("binary message is no point cloud");
  const version = view.getUint16(4, true);
  if (version !== 2) throw new Error(`point cloud version ${version} is not known`);
  const flags = view.getUint16(6, true);
  const count = view.getUint32(8, true);
  const capacity = view.getUint32(12, true);
  if (buffer.byteLength !== HEADER + 24 * count) throw new Error(`point cloud of ${count} points has another length`);
  if (capacity > MOST_SLOTS) throw new Error(`point cloud of ${capacity} slots is too large`);
  const slots = new Uint32Array(buffer, HEADER, count);
  if (slots.some((slot) => slot >= capacity)) throw new Error("point cloud names a slot beyond its capacity");
  return {
    reset: (flags & 1) !== 0,
    more: (flags & 2) !== 0,
    capacity,
    voxel: view.getFloat32(16, true),
    decimation: view.getUint32(20, true),
    slots,
    positions: new Float32Array(buffer, HEADER + 4 * count, 3 * count),
    paints: new Uint8Array(buffer, HEADER + 16 * count, 4 * count),
    firsts: new Uint32Array(buffer, HEADER + 20 * count, count),
  };
}
