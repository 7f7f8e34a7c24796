"""What no source reads: files and folders that people have, what they are, and what to give instead."""

from __future__ import annotations

from pathlib import Path

from lastseen.errors import SourceError

PACKED = (".zip", ".tgz", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".7z", ".rar")
"""How the names of packed folders end, as datasets are downloaded."""

_AS_IMAGES = "export colour, depth and poses as images: docs/sources.md, a folder of your own"
_NO_DEPTH = ("is a video without depth", "give its folder, with depth/ and poses beside it")
_MODEL = ("is a model, not a recording", "give the images it was made from")
_NUMBERS = ("is a file of arrays that is laid out differently by everybody", _AS_IMAGES)
_TABLES = ("is a dataset for training", _AS_IMAGES)
_ZED = ("is a ZED camera's own file", "export it to a ROS bag, or to images with depth and poses")
_IMAGE = ("is a single image", "give the folder of the recording")
_RGBD = "give a recording with depth: lastseen needs RGB-D"
FOREIGN = {
    ".sens": ("is ScanNet's own file", "export it with its SensReader"),
    **dict.fromkeys((".svo", ".svo2"), _ZED),
    ".oni": ("is OpenNI's own file", "export colour, depth and poses as images"),
    ".klg": ("is a log of ElasticFusion without poses", _AS_IMAGES),
    ".vrs": ("is a VRS file", "export colour, depth and poses as images"),
    ".rrd": ("is a recording of rerun", "give what it was made from"),
    ".db": ("is a database, such as RTAB-Map's", "rtabmap-export --images_id --poses_camera map.db writes a folder"),
    **dict.fromkeys((".ply", ".obj", ".glb", ".gltf", ".usdz", ".pcd", ".las", ".laz", ".e57"), _MODEL),
    **dict.fromkeys((".mat", ".h5", ".hdf5", ".npz"), _NUMBERS),
    **dict.fromkeys((".tfrecord", ".parquet"), _TABLES),
    ".dump": (
        "is raw data of NYU Depth",
        "its colour and depth are not registered and have no poses: no source reads it",
    ),
    ".mp4": _NO_DEPTH,
    ".mkv": (
        _NO_DEPTH[0],
        "give its folder, with depth/ and poses beside it; an Azure Kinect's: Open3D's azure_kinect_mkv_reader",
    ),
    ".mov": _NO_DEPTH,
    ".avi": _NO_DEPTH,
    **dict.fromkeys((".heic", ".jpg", ".jpeg", ".png"), _IMAGE),
}
"""Files by how their names end, the more telling ones of a folder first: what they are, and what to give instead."""

_PARTS = {
    "meta/info.json": ("is a LeRobot dataset, whose cameras have no poses", _AS_IMAGES),
    "mav0": ("is of EuRoC's layout, which has no depth", "give a recording with depth: lastseen needs RGB-D"),
    "sequences": (
        "is of KITTI's layout, which has no depth images",
        "give a recording with depth: lastseen needs RGB-D",
    ),
    "undistorted_depth_images": ("is of Matterport3D: views from tripods, no walk", "give a recording of a walk"),
    "features.json": ("is a dataset of TensorFlow for training", _AS_IMAGES),
    "trajectory.h5": ("is raw data of DROID", "export its SVO files with ZED's tools, with poses beside them"),
}
"""Folders by what lies in them."""

MAX_ENTRIES = 2000
"""Entries that are looked at to say what a folder is."""

_IN_FOLDERS = frozenset(FOREIGN) - {".db", ".npz", ".obj", ".jpg", ".jpeg", ".png"}
"""Files that say what a folder is; the others lie beside many things."""


def about(path: Path) -> SourceError | None:
    """What a file or folder is that no source reads, as an error with its remedy; None where that is not known."""
    if path.is_dir():
        return _about_folder(path)
    if path.name.lower().endswith(PACKED):
        return SourceError("source", str(path), "is packed", remedy="unpack it, and give the folder that comes out")
    known = FOREIGN.get(path.suffix.lower())
    return None if known is None else SourceError("source", str(path), known[0], remedy=known[1])


def _about_folder(path: Path) -> SourceError | None:
    part = next((part for part in _PARTS if any((one / part).exists() for one in _with_only_child(path))), None)
    if part is not None:
        return SourceError("source", str(path), _PARTS[part][0], remedy=_PARTS[part][1])
    files = [one for one in _below(path) if one.name[0] != "."]
    packed = [one.name for one in files if one.name.lower().endswith(PACKED)]
    if packed:
        names = ", ".join(packed[:3]) + (" ..." if len(packed) > 3 else "")
        return SourceError("source", str(path), f"holds packed parts ({names})", remedy="unpack them first")
    for end in (end for end in FOREIGN if end in _IN_FOLDERS):
        found = next((one for one in files if one.suffix.lower() == end or f"{end}-" in one.name), None)
        if found is not None:
            problem, remedy = FOREIGN[end]
            return SourceError("source", str(path), f"has only {found.name}, which {problem}", remedy=remedy)
    if any(one.suffix.lower() in {".jpg", ".jpeg", ".png", ".ppm"} for one in files):
        remedy = "add depth images and poses: docs/sources.md, a folder of your own"
        return SourceError("source", str(path), "has images, but no layout that is known here", remedy=remedy)
    return None


def _with_only_child(path: Path) -> list[Path]:
    children = [one for one in path.iterdir() if one.is_dir()]
    return [path, *children[:1]] if len(children) == 1 else [path]


def _below(path: Path) -> list[Path]:
    """Files in a folder and three further down, in order, as many as are looked at."""
    files: list[Path] = []
    within = [path]
    for _ in range(4):
        entries = [one for folder in within for one in sorted(folder.iterdir())[:MAX_ENTRIES]][:MAX_ENTRIES]
        files += [one for one in entries if one.is_file()]
        within = [one for one in entries if one.is_dir()]
    return files
