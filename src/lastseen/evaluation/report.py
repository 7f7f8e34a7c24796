"""One HTML page about an evaluation, with nothing to load: tables, plots as inline SVG, and the paths walked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lastseen.evaluation.arm_search import CAUSES, Record
from lastseen.evaluation.arms import ARMS
from lastseen.evaluation.summary import FIGURES, PAIRED

_COLORS = ("#3d85c6", "#e04a4a", "#3a9d6e", "#d0812f", "#9a72cf", "#7d94ab", "#c2568f", "#8a8f94", "#a89a2e")
_FOUND, _FAILED = _COLORS[2], _COLORS[1]
_WIDTH, _ROW, _LEFT = 640, 26, 150


def bars(figures: Mapping[str, Mapping[str, float]]) -> str:
    """One bar per arm from 0 to 1, with its interval as a thin line."""
    scale = _WIDTH - _LEFT - 60
    lines = []
    for row, (name, figure) in enumerate(figures.items()):
        y = row * _ROW + 4
        lines.append(
            f"<text x='{_LEFT - 8}' y='{y + 13}' text-anchor='end' fill='currentColor'>{escape(name)}</text>"
            f"<rect x='{_LEFT}' y='{y}' width='{max(scale * figure['mean'], 1):.1f}' height='17' "
            f"fill='{_color(row)}'/>"
            f"<line x1='{_LEFT + scale * figure['low']:.1f}' x2='{_LEFT + scale * figure['high']:.1f}' "
            f"y1='{y + 8.5}' y2='{y + 8.5}' stroke='currentColor' stroke-width='1.5'/>"
            f"<text x='{_LEFT + scale * max(figure['high'], figure['mean']) + 6:.1f}' y='{y + 13}' "
            f"fill='currentColor'>{figure['mean']:.2f}</text>"
        )
    return _svg(_WIDTH, _ROW * len(figures) + 8, lines)


def steps_curve(by_arm: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The share of episodes that had succeeded by each step."""
    width, height, left, bottom, right = 700, 260, 40, 30, 190
    longest = max((each["steps"] for records in by_arm.values() for each in records), default=1)
    across, up = (width - left - right) / max(longest, 1), height - bottom - 10
    lines = [
        f"<path d='M{left} 10V{height - bottom}H{width - right}' fill='none' stroke='currentColor' opacity='.5'/>",
        f"<text x='{left - 6}' y='16' text-anchor='end' fill='currentColor'>1</text>",
        f"<text x='{left - 6}' y='{height - bottom}' text-anchor='end' fill='currentColor'>0</text>",
        f"<text x='{width - right}' y='{height - 10}' text-anchor='end' fill='currentColor'>{longest} steps</text>",
    ]
    for row, (name, records) in enumerate(by_arm.items()):
        done = sorted(each["steps"] for each in records if each["success"])
        path, share = f"M{left} {height - bottom}", 0.0
        for count, step in enumerate(done, start=1):
            x = left + across * step
            path += f"H{x:.1f}"
            share = count / len(records)
            path += f"V{height - bottom - up * share:.1f}"
        path += f"H{left + across * longest:.1f}"
        lines.append(f"<path d='{path}' fill='none' stroke='{_color(row)}' stroke-width='2'/>")
        named = f"{escape(name)} {share:.2f}"
        lines.append(f"<text x='{width - right + 8}' y='{20 + 18 * row}' fill='{_color(row)}'>{named}</text>")
    return _svg(width, height, lines)


def path_picture(record: Mapping[str, Any]) -> str:
    """The path that was walked, from a dot to a square; green where it led to the goal."""
    points = record["path"]
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    size, edge = 200.0, 12.0
    scale = (size - 2 * edge) / max(max(xs) - min(xs), max(ys) - min(ys), 1.0)
    middle_x, middle_y = (min(xs) + max(xs)) / 2.0, (min(ys) + max(ys)) / 2.0
    drawn = [(size / 2.0 + scale * (x - middle_x), size / 2.0 - scale * (y - middle_y)) for x, y in points]
    color = _FOUND if record["success"] else _FAILED
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
    (x0, y0), (x1, y1) = drawn[0], drawn[-1]
    return _svg(
        int(size),
        int(size),
        [
            f"<rect x='1' y='1' width='{size - 2}' height='{size - 2}' fill='none' stroke='#8886'/>",
            f"<polyline points='{line}' fill='none' stroke='{color}' stroke-width='2' stroke-linejoin='round'/>",
            f"<circle cx='{x0:.1f}' cy='{y0:.1f}' r='5' fill='{color}'/>",
            f"<rect x='{x1 - 5:.1f}' y='{y1 - 5:.1f}' width='10' height='10' fill='{color}'/>",
            f"<path d='M{edge} {size - 4}h{scale:.1f}' stroke='currentColor' stroke-width='2'/>",
            f"<text x='{edge + scale + 4:.1f}' y='{size - 1}' font-size='10' fill='currentColor'>1 m</text>",
        ],
    )


def _color(index: int) -> str:
    return _COLORS[index % len(_COLORS)]


def _svg(width: int, height: int, lines: Sequence[str]) -> str:
    return (
        f"<svg viewBox='0 0 {width} {height}' width='{width}' height='{height}' font-size='13' "
        f"font-family='system-ui, sans-serif' role='img'>{''.join(lines)}</svg>"
    )


REPORT_FILE = "report.html"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
small { opacity: .7; white-space: nowrap; }
.figures { font-size: 13px; } .figures small { font-size: 11px; }
.scroll { overflow-x: auto; } .verdict { font-weight: 600; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: 13px; } svg { max-width: 100%; height: auto; }
"""


def write_report(out: Path, records: Sequence[Record], summary: Mapping[str, Any]) -> Path:
    """Write report.html into the directory of an evaluation."""
    file = out / REPORT_FILE
    file.write_text(report(records, summary), encoding="utf-8")
    return file


def report(records: Sequence[Record], summary: Mapping[str, Any]) -> str:
    """The page as text."""
    config = summary["config"]
    arms = list(summary["arms"])
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>ObjectNav: {config['episodes']} episodes</title><style>{_STYLE}</style></head><body>",
        "<h1>Does memory help, and by how much?</h1>",
        *(f"<p class='verdict'>{escape(line)}</p>" for line in summary["verdict"]),
        _setting_out(config),
        "<h2>Arms</h2>",
        _figures_table(summary),
        f"<h2>Success rate</h2>{bars({name: summary['arms'][name]['sr'] for name in arms})}",
        f"<h2>SPL</h2>{bars({name: summary['arms'][name]['spl'] for name in arms})}",
        "<h2>Share of episodes solved within so many steps</h2>",
        steps_curve({name: [each for each in records if each["arm"] == name] for name in arms}),
        "<h2>Paired differences</h2>",
        _paired_table(summary),
        "<h2>Causes of failure</h2>",
        _causes_table(summary),
        "<h2>What the arms are</h2><ul>",
        *(f"<li><b>{name}</b>: {escape(ARMS[name].about)}</li>" for name in arms),
        "</ul>",
        "<h2>Paths</h2>",
        "<p>From the dot to the square: the best, the longest detours that still found the goal, and failures.</p>",
        *(_gallery(name, [each for each in records if each["arm"] == name]) for name in arms),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _setting_out(config: Mapping[str, Any]) -> str:
    scene, backend = escape(str(config["scene"])), escape(str(config["backend"]))
    first = (
        f"<p>{config['episodes']} episodes from {config['seed']}, scene {scene}, planner {backend}. Mean, and below "
        "it the bootstrap 95 % interval. "
    )
    if "habitat" in config:
        poses = "Habitat's own" if config["poses"] == "gps" else "those that its actions add up to"
        return first + (
            f"Detector {escape(str(config['detector']))}, policy {escape(str(config['policy']))}, poses {poses}. "
            f"Success, SPL and SoftSPL are those of habitat-lab {escape(str(config['habitat']))}. Whether a goal "
            "that was not recognised had been in view is not known.</p>"
        )
    level = escape(str(config["settings"]["evaluation.level"]))
    return first + (
        f"Senses {level}. All arms but lifelong know nothing of the home "
        "and reckon by their actions alone; lifelong is told its start pose in the old map, with the error of the "
        "level, and may set out before its first look around where that map knows the goal. The detector "
        "is simulated and the offline planner is rule-based; with another model the gap may differ.</p>"
    )


def _figures_table(summary: Mapping[str, Any]) -> str:
    head = "<th>episodes</th>" + "".join(f"<th>{each.title}</th>" for each in FIGURES.values())
    rows = []
    for name, figures in summary["arms"].items():
        cells = "".join(f"<td>{_span(figures[key], each.digits)}</td>" for key, each in FIGURES.items())
        rows.append(f"<tr><td>{name}</td><td>{figures['episodes']}</td>{cells}</tr>")
    return f"<div class='scroll'><table class='figures'><tr><th>arm</th>{head}</tr>{''.join(rows)}</table></div>"


def _paired_table(summary: Mapping[str, Any]) -> str:
    if not summary["paired"]:
        return "<p>No two arms to compare were run.</p>"
    rows = [
        f"<tr><td>{escape(pair.replace('_minus_', ' minus '))}</td>"
        + "".join(f"<td>{_span(figures[key], 3, signed=True)}</td>" for key in PAIRED)
        + "</tr>"
        for pair, figures in summary["paired"].items()
    ]
    head = "".join(f"<th>{each.title}</th>" for each in PAIRED.values())
    return f"<div class='scroll'><table class='figures'><tr><th>pair</th>{head}</tr>{''.join(rows)}</table></div>"


def _causes_table(summary: Mapping[str, Any]) -> str:
    head = "".join(f"<th>{cause.replace('_', ' ')}</th>" for cause in CAUSES)
    rows = [
        f"<tr><td>{name}</td>{''.join(f'<td>{causes[cause]}</td>' for cause in CAUSES)}</tr>"
        for name, causes in summary["causes"].items()
    ]
    return f"<table><tr><th>arm</th>{head}</tr>{''.join(rows)}</table>"


def _gallery(name: str, records: Sequence[Record]) -> str:
    """Best, worst of those solved, and failures of one arm."""
    solved = sorted((each for each in records if each["success"]), key=lambda each: (-each["spl"], each["seed"]))
    failed = [each for each in records if not each["success"]]
    chosen = [("best", each) for each in solved[:2]]
    chosen += [("longest detour", each) for each in solved[2:][-2:]]
    chosen += [(str(each["cause"]).replace("_", " "), each) for each in failed[:4]]
    pictures = "".join(_figure(word, record) for word, record in chosen)
    return f"<h3>{name}</h3><div class='gallery'>{pictures}</div>"


def _figure(word: str, record: Record) -> str:
    caption = (
        f"{escape(word)}: {escape(record['goal'])} in {escape(record['home'])}, {record['steps']} steps, "
        f"walked {record['travelled']:.1f} m, shortest {record['geodesic']:.1f} m"
    )
    return f"<figure>{path_picture(record)}<figcaption>{caption}</figcaption></figure>"


def _span(figure: Mapping[str, float] | None, digits: int, *, signed: bool = False) -> str:
    if figure is None:
        return "not run"
    sign = "+" if signed else ""
    mean, low, high = (f"{figure[key]:{sign}.{digits}f}" for key in ("mean", "low", "high"))
    return f"{mean}<br><small>{low} to {high}</small>"
