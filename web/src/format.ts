/** Times, lengths and names in words for people. */

import type { Vec3 } from "./model";
import type { MemoryClock } from "./memory_clock";

export function ago(seconds: number): string {
  return seconds < 1.5 ? "now" : `${duration(seconds)} ago`;
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** When a thing was last seen: how long ago while frames come, and at what time in what was recorded earlier. */
export function lastSeen(time: number, now: number, clock: MemoryClock): string {
  return clock.live ? ago(clock.between(time, now)) : clockTime(time, clock);
}

/** A moment as a clock shows it, or as seconds of memory time where no date is known. */
export function clockTime(time: number, clock: MemoryClock): string {
  const wall = clock.wall(time);
  return wall === null ? `t = ${time.toFixed(1)} s` : clockTimeOfWall(wall, clock);
}

function clockTimeOfWall(wall: number, clock: MemoryClock): string {
  const date = new Date(wall * 1000);
  const sameDay = clock.newestWall !== null && new Date(clock.newestWall * 1000).toDateString() === date.toDateString();
  const hours = date.toLocaleTimeString("en-GB");
  return sameDay ? hours : `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${hours}`;
}

/** The memory's sentence for people: moments as the page's clock shows them, and no ids, which the pictures below stand for. */
export function spoken(sentence: string, clock: MemoryClock): string {
  return sentence
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, (moment) => clockTimeOfWall(Date.parse(`${moment.slice(0, 10)}T${moment.slice(11, 19)}Z`) / 1000, clock))
    .replace(/ \(obj-\d+\)/g, "")
    .replace(/: obj-\d+(, obj-\d+)*(?=\.|$)/, "")
    .replace(/(\d) x (?=\w)/g, "$1 × ");
}

/** A moment with its date, however near it is. */
export function dateTime(time: number, clock: MemoryClock): string {
  const wall = clock.wall(time);
  if (wall === null) return `t = ${time.toFixed(1)} s`;
  const date = new Date(wall * 1000);
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })}, ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

export function metres(point: Vec3): string {
  return point.map((value) => value.toFixed(2)).join(", ");
}

export function centimetres(size: Vec3): string {
  return `${size.map((value) => Math.max(1, Math.round(value * 100))).join(" × ")} cm`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en-GB")} ${number === 1 ? one : many}`;
}

const KINDS: Readonly<Record<string, string>> = {
  created: "first seen",
  appeared: "first seen",
  confirmed: "confirmed",
  moved: "moved",
  missing: "gone",
  removed: "forgotten",
  reappeared: "back again",
  merged: "merged with another",
  corrected: "corrected",
  known: "known here",
};

export function kindInWords(kind: string, count = 1): string {
  if (kind === "merged" && count > 1) return `merged with ${count} others`;
  return KINDS[kind] ?? kind;
}
