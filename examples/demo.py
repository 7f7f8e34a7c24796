"""The tour behind `make demo`: what lastseen can do today, run for real, in under a minute."""

from __future__ import annotations

from lastseen.action import Action, apply
from lastseen.pose2d import ORIGIN


def main() -> None:
    pose = ORIGIN
    for action in [Action.FORWARD, Action.FORWARD, Action.TURN_LEFT, Action.FORWARD]:
        pose = apply(pose, action)
    print(f"walked to {pose}")
    print("try next: .venv-demo/bin/lastseen config")


if __name__ == "__main__":
    main()
