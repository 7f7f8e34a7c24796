/** Puts the parts together: server, store, scene and panels. */

import "./styles/theme.css";
import "./styles/layout.css";
import "./styles/parts.css";

import { byId, icon, iconButton } from "./dom";
import { type Shortcut, listenToKeys } from "./keyboard";
import { LiveMemory } from "./live_memory";
import { MemoryClock } from "./memory_clock";
import type { Thing } from "./model";
import { Api } from "./net/api";
import { CameraPanel } from "./panels/camera_panel";
import { DetailsPanel } from "./panels/details_panel";
import { FeedPanel } from "./panels/feed_panel";
import { FindPanel } from "./panels/find_panel";
import { Gate } from "./panels/gate";
import { Help } from "./panels/help";
import { Layout } from "./panels/layout";
import { ListPanel } from "./panels/list_panel";
import { Notice } from "./panels/notice";
import { SearchPanel } from "./panels/search_panel";
import { SessionsPanel } from "./panels/sessions_panel";
import { origin, Status } from "./panels/status";
import { TimelinePanel } from "./panels/timeline";
import { ViewTools } from "./panels/view_tools";
import { HomeScene } from "./scene/home_scene";
import { isUnplaced, lit, shownThings, Store, thingApart } from "./store";
import { Theme } from "./theme";

const api = new Api();
const store = new Store();
const clock = new MemoryClock();
const theme = new Theme();
const scene = new HomeScene(byId<HTMLCanvasElement>("canvas"), byId("overlay"));
const memory = new LiveMemory(api, store, clock, {
  cloud: (part) => scene.takeCloud(part),
  robot: (message) => scene.takeRobot(message),
});
const gate = new Gate(api);
const layout = new Layout(store, (insets) => scene.cover(insets));

function fly(thing: Thing): void {
  tools.follow(false);
  scene.flyTo(thing);
}

function choose(id: string): void {
  store.set({ selected: id });
  const thing = store.state.things.get(id);
  if (thing) fly(thing);
}

// before the panels, which write times by it
store.on(["server"], ({ server }) => (clock.live = origin(server) === "Live"));
new ListPanel(byId("objects"), store, clock, choose);
new FeedPanel(byId("events"), store, clock, choose);
new SessionsPanel(byId("sessions"), store, api, clock, (matches) => scene.showEvidence(matches));
new CameraPanel(byId("camera"), store, api, clock, choose);
const finder = new FindPanel(byId("find"), store, api, clock, (found) => scene.showSearch(found), (found) => {
  tools.follow(false);
  scene.frameSearch(found);
}, choose);
const search = new SearchPanel(byId<HTMLFormElement>("search"), byId("answer"), store, api, clock, (thing) => {
  store.set({ selected: thing.id });
  const known = store.state.things.get(thing.id) ?? thingApart(store.state, thing.id);
  // what a session that is kept apart has seen lies in another map than the one shown
  if (known || !isUnplaced(store.state)) fly(known ?? thing);
}, (hits) => {
  tools.follow(false);
  scene.flyToAll(hits.map(({ thing }) => store.state.things.get(thing.id) ?? thing));
}, (goal, mayMove) => void finder.begin(goal, mayMove));
const notice = new Notice(byId("notice"));
new DetailsPanel(byId("details"), store, api, clock, (history) => scene.showTrack(history), choose, fly, notice);
const timeline = new TimelinePanel(byId("timeline"), store, clock, memory);
new Status(byId("status"), byId("banner"), byId("empty"), store, clock, () => memory.socket.connectNow());

const tools = new ViewTools(
  byId("tools"),
  {
    home: () => {
      tools.follow(false);
      scene.home();
    },
    above: () => {
      tools.follow(false);
      scene.above();
    },
    follow: (on) => (scene.following = on),
    layer: (name, on) => scene.layer(name, on),
    cut: (metres) => scene.cut(metres),
    density: (decimation) => memory.socket.thin(decimation),
  },
  scene.cloud.cutHeight,
);

const shortcuts: readonly Shortcut[] = [
  { key: "/", does: "ask where something is", run: () => search.input.focus() },
  { key: "h", does: "show the whole home", run: () => (tools.follow(false), scene.home()) },
  { key: "t", does: "look from above", run: () => (tools.follow(false), scene.above()) },
  { key: "f", does: "follow the robot", run: () => tools.follow(!tools.following) },
  { key: "l", does: "back to live", run: () => timeline.goLive() },
  { key: "o", does: "objects and events, open or closed", run: () => layout.toggleSide() },
  { key: "d", does: "dark or light", run: () => theme.toggle() },
  { key: "?", does: "this help", run: () => help.open() },
];
const help = new Help(shortcuts);
listenToKeys(shortcuts, () => {
  if (tools.close()) return;
  if (store.state.answer) search.clear();
  else if (store.state.selected !== null) store.set({ selected: null });
  else if (!layout.closeDrawer()) (document.activeElement as HTMLElement | null)?.blur();
});

const themeButton = iconButton("moon", "Dark or light (D)", () => theme.toggle());
themeButton.classList.add("theme");
byId("buttons").append(
  layout.sideButton,
  themeButton,
  iconButton("help", "Help (?)", () => help.open()),
);

theme.on((palette) => {
  scene.paint(palette);
  timeline.repaint();
  themeButton.replaceChildren(icon(theme.name === "dark" ? "sun" : "moon"));
});

scene.onPick = (thing) => store.set({ selected: thing?.id ?? null });
scene.onHover = (thing) => store.set({ hovered: thing?.id ?? null });
store.on(["things", "shownStates", "labelFilter"], (state) => scene.showThings(shownThings(state)));
store.on(["things", "shownStates", "labelFilter", "selected", "hovered", "answer", "robotSearch", "finding"], (state) => {
  scene.highlight(state.selected, state.hovered, lit(state));
});
store.on(["places", "plans"], ({ places, plans }) => scene.showPlaces(places, plans));
store.on(["sessions", "asOf"], (state) => {
  const unplaced = isUnplaced(state);
  scene.place(!unplaced);
  byId("unplaced").hidden = !unplaced;
});
let apartNow: number | null = null;
store.on(["apart", "sessions", "asOf", "server"], (state, changed) => {
  const began = new Map(state.sessions.map(({ id, first }) => [id, first]));
  const shown = [...state.apart].filter(([id]) => state.asOf === null || (began.get(id) ?? 0) <= state.asOf);
  // while frames come, the robot is where they are; a file knows where it was in the home's map
  const running = isUnplaced(state) && state.asOf === null && clock.live ? (state.sessions.at(-1)?.id ?? null) : null;
  if (running === apartNow && !changed.has("apart") && !changed.has("sessions") && !changed.has("asOf")) return;
  apartNow = running;
  scene.showApart(new Map(shown), running);
});
store.on(["asOf"], ({ asOf }) => scene.travel(asOf));

async function enter(): Promise<void> {
  await gate.pass();
  memory.start();
}

memory.onDenied = () => void enter();
void enter();
