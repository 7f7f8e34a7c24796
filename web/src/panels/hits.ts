/** Things that an answer or a search names: a picture, the name, where and when each was seen. */

import { el, setText } from "../dom";
import { lastSeen } from "../format";
import type { MemoryClock } from "../memory_clock";
import type { Place, Thing } from "../model";

export interface Named {
  readonly thing: Thing;
  /** how well it fits, 0 to 1; null where that says nothing */
  readonly score: number | null;
  /** words in place of when it was seen */
  readonly instead?: string;
}

export function hitList(
  named: readonly Named[],
  { places, now, clock, choose }: { places: readonly Place[]; now: number; clock: MemoryClock; choose: (named: Named) => void },
): HTMLElement {
  const names = new Map(places.map(({ id, name }) => [id, name]));
  const row = (one: Named): HTMLLIElement => {
    const { thing, score, instead } = one;
    const picture = el("img", { alt: "", loading: "lazy", width: 56, height: 56 });
    picture.addEventListener("error", () => picture.classList.add("none"));
    picture.src = `/objects/${encodeURIComponent(thing.id)}/image`;
    const place = thing.place === null ? undefined : names.get(thing.place);
    const facts = el("span", { class: "where" });
    setText(facts, [place, instead ?? `seen ${clock.live ? "" : "at "}${lastSeen(thing.lastSeen, now, clock)}`].filter(Boolean).join(" · "));
    const button = el(
      "button",
      { type: "button", class: instead === undefined ? "hit" : "hit given-up", "data-state": thing.state, "data-id": thing.id },
      picture,
      el("span", { class: "name" }, el("i", { class: "glyph" }), el("span", {}, thing.label)),
      facts,
      score === null ? null : el("span", { class: "score" }, el("meter", { min: 0, max: 1, value: score, "aria-label": "Score" }), score.toFixed(2)),
    );
    button.addEventListener("click", () => choose(one));
    return el("li", {}, button);
  };
  return el("ul", { class: "hits" }, ...named.map(row));
}
