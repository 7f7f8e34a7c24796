"""The few plots of the report as inline SVG: no library, no script, readable on light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

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
    """The way that was walked, from a dot to a square; green where it led to the goal."""
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
