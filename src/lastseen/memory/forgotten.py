"""What a memory answers when it was told to forget."""

from __future__ import annotations

from collections.abc import Iterable


class Forgotten(list[str]):
    """The ids that were forgotten; ``not_yet`` names what keeps bytes of them from being wiped, empty when all are.

    What is not yet wiped is wiped as soon as nothing is in the way: by a later commit, at the end of the run, or by
    the next one that opens the file for writing.
    """

    def __init__(self, ids: Iterable[str] = (), *, not_yet: Iterable[str] = ()) -> None:
        super().__init__(ids)
        self.not_yet = tuple(not_yet)
