"""Settings of a search: retrieval, planner, scene analyzer, loop, the policy that walks, and the check of a stop."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Retrieval(Section):
    """Semantic nodes and how a goal is matched against them; see docs/memory-nodes.md."""

    k: int = setting(5, unit="nodes", low=1, why="the candidates kept in belief and log")
    score_threshold: float = setting(
        0.3,
        low=0.0,
        high=1.0,
        why="from here on a goal is likely_in_memory; weak (an unrelated node scores about 0.4), so a pass means "
        "'something to try', never 'known'",
    )


@dataclass(frozen=True, kw_only=True)
class DiscoveredContext(Section):
    """The queue of what the planner meant to do and why."""

    max_records: int = setting(5, unit="records", low=1, why="oldest out first; see docs/places.md")


@dataclass(frozen=True, kw_only=True)
class Context(Section):
    """The navigation context that the planner reads."""

    recent_places: int = setting(6, unit="places", low=1, why="a home has about this many rooms")
    recent_anchors: int = setting(8, unit="anchors", low=1, why="some four metres of path")
    max_characters: int = setting(
        6000,
        unit="characters",
        low=500,
        why="about 1,500 tokens: cheap to send, and nothing useful is cut at home",
    )
    max_path: float = setting(
        8.0,
        unit="m",
        low=0.0,
        why="two rooms along a path told by memory, then look around: drift adds up on the way",
    )


@dataclass(frozen=True, kw_only=True)
class Panorama(Section):
    """The look around that the planner is shown."""

    views: int = setting(12, unit="views", low=1, why="one per 30 degree turn: a full turn, as PixelNav looks")


@dataclass(frozen=True, kw_only=True)
class Planner(Section):
    """The vision-language model that proposes where to go."""

    backend: str = setting("offline", why="rule-based: works without a key; see lastseen.vlm for the others")
    model: str = setting("gemini-2.5-flash-lite", why="the planner model, on Vertex AI")
    scene_endpoint: str = setting("", why="the Vertex endpoint id of the scene analyzer; empty: none")
    base_url: str = setting("", why="address of an OpenAI-compatible server (Ollama, vLLM); empty: OpenAI's own")
    api_key_variable: str = setting(
        "OPENAI_API_KEY", why="the environment variable that holds the key; the key itself is never a setting"
    )
    gemini_mode: str = setting(
        "auto",
        choices=("auto", "api_key", "vertex", "express"),
        why="how Google is reached; auto: Vertex with a project, express with a key and GOOGLE_GENAI_USE_VERTEXAI",
    )
    cloud_project: str = setting("", why="the Vertex project; empty: GOOGLE_CLOUD_PROJECT")
    cloud_location: str = setting("", why="the Vertex region; empty: GOOGLE_CLOUD_LOCATION, else us-central1")
    request_timeout: float = setting(30.0, unit="s", low=0.1, why="silence of a server after which it counts as dead")
    http_retries: int = setting(
        2, unit="retries", low=0, high=10, why="busy and failing servers (429, 5xx) often recover within seconds"
    )
    retries: int = setting(1, unit="retries", low=0, high=5, why="one retry, then the fallback; see docs/places.md")
    time_limit: float = setting(60.0, unit="s", low=0.1, why="one decision, retries included; then the fallback")
    max_calls: int = setting(30, unit="calls per episode", low=1, why="ends any plan/stop cycle")
    recall_on_pattern: bool = setting(False, why="true asks again when STUCK or ABABA sets in, at more calls")
    input_price: float = setting(
        0.10, unit="USD per million tokens", low=0.0, why="list price of the planner model, for timing.jsonl"
    )
    output_price: float = setting(
        0.40, unit="USD per million tokens", low=0.0, why="list price of the planner model, for timing.jsonl"
    )


@dataclass(frozen=True, kw_only=True)
class Scene(Section):
    """The scene analyzer that names the kinds of places."""

    backend: str = setting(
        "offline", why="rules over what was seen, without a key; endpoint, gemini or openai:MODEL ask a model"
    )
    model: str = setting("", why="the scene analyzer's model; empty: planner.model")
    base_url: str = setting("", why="address of the scene analyzer's server; empty: planner.base_url")


@dataclass(frozen=True, kw_only=True)
class Search(Section):
    """The loop that looks for one goal."""

    max_steps: int = setting(500, unit="steps", low=1, why="the step budget of ObjectNav episodes")
    visible_streak: int = setting(2, unit="sightings", low=1, why="one detection may be false; two in a row seldom")
    lost_streak: int = setting(
        2, unit="misses", low=1, why="one missed detection on the way is common; two in a row mean it is gone"
    )
    success_distance: float = setting(1.0, unit="m", low=0.0, why="ObjectNav: done within one metre of the goal")
    max_failures: int = setting(
        3, unit="failures", low=1, why="proposals in a row with no path left to go; then the search stops safely"
    )
    node_reach: float = setting(
        2.5, unit="m", low=0.0, why="a node farther off than this is not where the robot is: walls may lie between"
    )
    same_spot: float = setting(
        0.45, unit="m", low=0.0, why="two robot radii and a wall are 0.46: nearer nodes have no wall between them"
    )


@dataclass(frozen=True, kw_only=True)
class Policy(Section):
    """The geometric pixel policy."""

    cell: float = setting(0.1, unit="m", low=0.02, high=0.5, why="a doorway of 0.9 m is nine cells wide")
    robot_radius: float = setting(0.18, unit="m", low=0.0, why="the ObjectNav agent of Habitat")
    obstacle_low: float = setting(
        0.12, unit="m", low=0.0, why="above floor noise at 4 m; lower things are carpets and thresholds"
    )
    floor_slope: float = setting(
        0.03,
        low=0.0,
        high=0.2,
        why="metres per metre added to it: one degree of tilt error lifts the floor so much",
    )
    obstacle_high: float = setting(0.95, unit="m", low=0.1, why="just over the robot's height of 0.88 m")
    max_range: float = setting(4.5, unit="m", low=0.5, why="beyond it depth noise blurs walls by more than a cell")
    max_waypoint: float = setting(4.0, unit="m", low=0.25, why="about one room: look again before the next")
    waypoint_reached: float = setting(0.3, unit="m", low=0.05, why="little more than one forward step")
    max_actions: int = setting(32, unit="actions", low=1, why="PixelNav stops at its 33rd prediction")


@dataclass(frozen=True, kw_only=True)
class Explored(Section):
    """The coarse map of a walk from which unexplored edges are told."""

    cell: float = setting(0.2, unit="m", low=0.05, high=1.0, why="dead reckoning is no better; a door is four cells")


@dataclass(frozen=True, kw_only=True)
class PixelNav(Section):
    """The PixelNav network."""

    device: str = setting("auto", why="where it runs: auto is cuda where there is one, else cpu; or cuda:1, mps")


@dataclass(frozen=True, kw_only=True)
class Stop(Section):
    """When a stop is believed."""

    views: int = setting(2, unit="views", low=1, why="one detection may be false; two consecutive ones seldom are")
    reach: float = setting(
        0.9, unit="m", low=0.0, why="ObjectNav succeeds within 1 m; the rest is for depth and pose noise"
    )
    min_score: float = setting(0.4, low=0.0, high=1.0, why="a stop ends the episode: weaker detections do not count")
    trust_planner: bool = setting(
        False,
        why="true: a stop of the policy at a goal that the planner flagged ends the search and nothing else does; "
        "sightings on the way change nothing, as in PixelNav's loop",
    )
    confirm_flag: bool = setting(
        False, why="true: with trust_planner, a flag counts only where the detector finds the goal in the chosen view"
    )
