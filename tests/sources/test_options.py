from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import SettingsError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources import SourceOptions

options = st.builds(
    SourceOptions,
    world_up=st.sampled_from([up.value for up in WorldUp]),
    camera_axes=st.sampled_from([axes.value for axes in CameraAxes]),
    pose_inverted=st.booleans(),
    quaternion_order=st.sampled_from(["xyzw", "wxyz"]),
    depth_scale=st.floats(0.0, 1e5),
    pose_delay=st.floats(-10.0, 10.0),
    max_pixels=st.integers(1, 10**9),
)


@given(options)
def test_options_survive_the_file(tmp_path_factory: pytest.TempPathFactory, given_options: SourceOptions) -> None:
    path = tmp_path_factory.getbasetemp() / "options.toml"
    given_options.save(path)
    assert SourceOptions.load(path) == given_options


def test_only_what_differs_is_written() -> None:
    assert "world_up" not in SourceOptions(pose_inverted=True).to_toml()


def test_a_misspelt_option_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text("world_upp = 'y'\n")
    with pytest.raises(SettingsError, match="did you mean world_up"):
        SourceOptions.load(tmp_path / "o.toml")


def test_an_unfit_value_names_the_choices() -> None:
    with pytest.raises(SettingsError, match="choose from z, y"):
        SourceOptions(world_up="north")


@pytest.mark.parametrize(("text", "message"), [("world_up = ", "is not TOML"), (None, "cannot be read")])
def test_an_unreadable_file_is_one_clear_line(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "o.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=message):
        SourceOptions.load(path)


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be written"):
        SourceOptions().save(tmp_path / "missing" / "o.toml")
