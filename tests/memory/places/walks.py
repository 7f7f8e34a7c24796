"""Walks that nobody thought of: what was done, whether it bumped or branched, and what room was told."""

from __future__ import annotations

from hypothesis import strategies as st

from lastseen.action import Action

Step = tuple[Action, bool, bool, str | None]
steps = st.lists(
    st.tuples(
        st.sampled_from(list(Action)),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["kitchen", "Kitchen.", "hallway", "bedroom", None]),
    ),
    max_size=70,
)
