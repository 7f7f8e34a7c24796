from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.errors import SettingsError, SourceError
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.options import TAKEN
from lastseen.sources.registry import SCHEMES, register_source


def test_a_folder_is_known_by_its_files(stored_walk: Path) -> None:
    assert type(open_source(stored_walk)).__name__ == "SequenceSource"


def test_the_options_file_in_the_folder_counts(short_walk: Path) -> None:
    SourceOptions(world_up="y").save(short_walk / "source.toml")
    assert open_source(short_walk).options.world_up == "y"
    assert open_source(short_walk, SourceOptions()).options.world_up == "z"


def test_options_may_be_a_file(short_walk: Path, tmp_path: Path) -> None:
    SourceOptions(pose_inverted=True).save(tmp_path / "o.toml")
    assert open_source(f"layout://{short_walk}", tmp_path / "o.toml").options.pose_inverted


@pytest.mark.parametrize(("address", "message"), [("gopher://x", "unknown scheme"), ("no/such", "does not exist")])
def test_an_unknown_address_is_one_clear_error(address: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(address)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no recording that is known"):
        open_source(tmp_path)


def test_a_source_of_ones_own_can_be_registered(stored_walk: Path) -> None:
    register_source("mine", "lastseen.sources.layouts:open_layout")
    try:
        assert open_source(f"mine://{stored_walk}").length() == 16
    finally:
        del SCHEMES["mine"]


@pytest.mark.parametrize(
    ("address", "word"), [("sim://7", "color_topic=/cam"), ("zmq://127.0.0.1:5599", "odom_frame=o")]
)
def test_an_option_that_a_source_would_ignore_is_refused_with_those_it_takes(address: str, word: str) -> None:
    with pytest.raises(SettingsError, match=r"means nothing to a (sim|zmq) source; it takes world_up, .*max_pixels"):
        open_source(address, changes=[word])


def test_topics_are_no_option_of_a_folder(stored_walk: Path) -> None:
    with pytest.raises(SettingsError, match=r"color_topic.*means nothing to a layout source; .*min_confidence"):
        open_source(stored_walk, changes=["color_topic=/cam"])


def test_every_option_is_taken_by_some_source() -> None:
    assert set(SourceOptions.names()) == set().union(*TAKEN.values())


@pytest.mark.parametrize("port", ["0", "65536", "123456"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    pytest.importorskip("zmq")
    with pytest.raises(SourceError, match="has no port from 1 to 65535"):
        open_source(f"zmq://127.0.0.1:{port}")
