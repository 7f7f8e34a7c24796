"""Which files of a rosbag2 folder are the recording: those its metadata names, or the numbered parts of one name.

A folder without metadata is either a recording whose recorder did not come to its end, or just a place where somebody
keeps recordings; the second is never read as one.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from lastseen.errors import SourceError

METADATA = "metadata.yaml"
STORAGES = (".mcap", ".db3")

_PART = re.compile(r"(?P<stem>.+)_(?P<number>\d+)")


def files_of_folder(folder: Path) -> list[Path]:
    """The files of the one recording in a folder, in the order of time; several recordings are refused by name."""
    there = sorted(one for one in folder.iterdir() if one.suffix in STORAGES)
    if (folder / METADATA).exists():
        named = _named_files(folder / METADATA)
        return [file for file in there if file.name in named]
    if len(there) <= 1:
        return there
    parts = [(_PART.fullmatch(file.stem), file) for file in there]
    numbered = [(int(part["number"]), part["stem"] + file.suffix, file) for part, file in parts if part]
    if len(numbered) < len(there) or len({name for _, name, _ in numbered}) > 1:
        raise SourceError(
            "bag",
            str(folder),
            f"holds several recordings ({', '.join(file.name for file in there)}) and no {METADATA}",
            remedy="give one of the files",
        )
    return [file for _, _, file in sorted(numbered)]


def _named_files(metadata: Path) -> set[str]:
    """The names in the metadata; none where it cannot be read, which its reader will tell."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        tree = YAML(typ="safe").load(metadata.read_text(encoding="utf-8"))
        return {PurePath(name).name for name in tree["rosbag2_bagfile_information"]["relative_file_paths"]}
    except (YAMLError, OSError, ValueError, LookupError, TypeError):
        return set()
