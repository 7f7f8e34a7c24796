from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

from lastseen import errors
from lastseen.errors import (
    InvalidValue,
    JournalChanged,
    JournalDamaged,
    JournalLocked,
    LastseenError,
    MissingExtra,
    SettingsError,
    StorageFull,
    needs_extra,
    shorten,
)


def tree(kind: type[LastseenError], depth: int = 0) -> list[tuple[int, str]]:
    children = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return [(depth, kind.__name__), *(row for child in children for row in tree(child, depth + 1))]


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    drawn = re.findall(r"^    ((?:[│├└─ ]{4})*)(\w+)", errors.__doc__ or "", flags=re.MULTILINE)
    assert [(len(indent) // 4, name) for indent, name in drawn] == tree(LastseenError)


def test_a_message_is_one_line_with_field_value_and_remedy() -> None:
    error = InvalidValue(
        "frame.depth", np.zeros((4, 5)), "must be\nmetres".replace("\n", " "), remedy="divide by 1000"
    )
    assert str(error) == "frame.depth = float64 array of shape (4, 5): must be metres; divide by 1000"


@pytest.mark.parametrize(
    "error",
    [
        SettingsError("a.b", 1, "is not a setting", remedy="did you mean a.c?"),
        MissingExtra("reading bags", extra="ros"),
        JournalDamaged("home.lastseen", "malformed"),
        JournalLocked("home.lastseen", "12"),
        JournalChanged("home.lastseen", "was replaced"),
        StorageFull("home.lastseen"),
        errors.JournalForeign("home.lastseen", "it is empty"),
        errors.JournalIncomplete("home.lastseen", "home.lastseen-wal"),
        errors.PlanError("plan", "x", "is no plan", remedy="ask again", reason="odd"),
        errors.IndexUnreachable("milvus://here:1/c", "timeout"),
        errors.DownloadError("clip", "is gone", remedy="try later"),
        errors.BackendError("gemini", "is busy", remedy="wait", transient=True),
        errors.HomeRefused("no place"),
    ],
)
def test_errors_cross_process_borders(error: LastseenError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_missing_extra_says_what_to_install() -> None:
    told = str(MissingExtra("reading bags", extra="ros"))
    assert "pip install 'lastseen[ros]'" in told
    assert "'.[ros]'" in told


def test_several_missing_extras_are_named_at_once() -> None:
    told = str(MissingExtra("lastseen serve", extra="server,sim"))
    assert told.startswith("lastseen serve needs the extras 'server,sim'; install them with")
    assert "'.[server,sim]'" in told


def test_a_failed_import_names_its_extra() -> None:
    with pytest.raises(MissingExtra, match=r"lastseen\[ros\]"), needs_extra("reading bags", extra="ros"):
        raise ImportError("No module named 'rosbags'")
    with pytest.raises(ValueError, match="other"), needs_extra("reading bags", extra="ros"):
        raise ValueError("other")


def test_long_and_binary_values_are_shortened() -> None:
    assert shorten("a" * 500 + "/file.txt").endswith("/file.txt'")
    assert len(shorten("x" * 500)) == 80
    assert shorten(b"123") == "3 bytes"
    assert shorten(1 << 99_999) == "int too long to show"
    assert shorten([1 << 99_999]) == "list too long to show"
    assert "\n" not in shorten("a\nb")
