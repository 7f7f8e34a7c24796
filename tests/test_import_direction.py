"""Data flows one way: a module imports only from modules above it in this list, lazy imports included."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "lastseen"

ORDER = [
    "lastseen._lazy",
    "lastseen.errors",
    "lastseen.closing",
    "lastseen.finite",
    "lastseen.pose2d",
    "lastseen.config",
    "lastseen.compiled",
    "lastseen.action",
    "lastseen.schemas",
    "lastseen.belief",
    "lastseen.geometry",
    "lastseen.images",
    "lastseen.frame",
    "lastseen.user_function",
    "lastseen.body",
    "lastseen.detection",
    "lastseen.observation",
    "lastseen.box_axes",
    "lastseen.protocols",
    "lastseen.appearance",
    "lastseen.lift",
    "lastseen.models",
    "lastseen.encoders",
    "lastseen.vlm",
    "lastseen.memory.nodes",
    "lastseen.memory.places",
    "lastseen.memory.objects",
    "lastseen.memory.nodes_of_memory",
    "lastseen.memory.alignment",
    "lastseen.memory.store",
    "lastseen.memory.space",
    "lastseen.memory.facts",
    "lastseen.memory.rooms",
    "lastseen.memory.object",
    "lastseen.memory.history",
    "lastseen.memory.query",
    "lastseen.memory.reply",
    "lastseen.memory.language",
    "lastseen.memory.export",
    "lastseen.memory.shared_index",
    "lastseen.memory.session_frames",
    "lastseen.memory.write_path",
    "lastseen.memory.merging",
    "lastseen.memory.session_files",
    "lastseen.memory.session_watch",
    "lastseen.memory.sessions",
    "lastseen.memory.browse",
    "lastseen.memory.reads",
    "lastseen.memory.corrections",
    "lastseen.memory.ask",
    "lastseen.memory.tell",
    "lastseen.memory.memory",
    "lastseen.memory.plan_image",
    "lastseen.memory.map_image",
    "lastseen.memory",
    "lastseen.perception",
    "lastseen.sim",
    "lastseen.sources",
    "lastseen.search",
    "lastseen.runtime",
    "lastseen.evaluation",
    "lastseen.bridges",
    "lastseen.server",
    "lastseen.ros2",
    "lastseen.cli",
    "lastseen.__main__",
]
STANDARD_LIBRARY_ONLY = [
    "lastseen._lazy",
    "lastseen.errors",
    "lastseen.closing",
    "lastseen.pose2d",
    "lastseen.config",
]
STANDARD_LIBRARY_ONLY += [
    "lastseen.action",
    "lastseen.models",
    "lastseen.memory.nodes",
    "lastseen.search.belief_update",
]


def rank(module: str) -> int | None:
    """The place of a module in the order; the longest matching entry counts, the bare package has none."""
    matches = [entry for entry in ORDER if module == entry or module.startswith(entry + ".")]
    return ORDER.index(max(matches, key=len)) if matches else None


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[str]:
    """Every module a file imports, wherever in the file, except what only the type checker sees."""
    found: list[str] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.extend(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_a_module_imports_only_from_above(path: Path) -> None:
    name = module_name(path)
    if name == "lastseen":
        return
    own = rank(name)
    assert own is not None, f"{name} has no place in the order: add it to ORDER and to docs/architecture.md"
    for imported in imports(path):
        if imported.startswith("lastseen.") and imported != "lastseen.__version__":
            # `from lastseen import schemas` names a module, `from lastseen.errors import X` a name in one
            other = rank(imported)
            assert other is not None, f"{name} imports {imported} from the bare package: name the module"
            assert other <= own, f"{name} imports {imported}, which stands below it"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_the_ground_is_standard_library_only(path: Path) -> None:
    name = module_name(path)
    if not any(name == entry or name.startswith(entry + ".") for entry in STANDARD_LIBRARY_ONLY):
        return
    foreign = [
        imported
        for imported in imports(path)
        if imported.split(".")[0] not in sys.stdlib_module_names | {"lastseen", "__future__"}
    ]
    assert not foreign, f"{name} imports {foreign}"


@pytest.mark.parametrize(
    "module", ["lastseen", "lastseen.memory", "lastseen.runtime", "lastseen.belief", "lastseen.cli.main"]
)
def test_importing_it_loads_no_numpy(module: str) -> None:
    code = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "heavy",
    ["torch", "transformers", "rosbags", "rclpy", "google.genai", "openai", "trimesh", "onnxruntime", "fastembed"],
)
def test_the_core_never_imports_heavy_parts(heavy: str) -> None:
    code = f"import sys, lastseen; lastseen.Memory.open(); sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_architecture_page_names_files_that_are_there_and_every_part() -> None:
    page = (PACKAGE.parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    walked = set(re.findall(r"(?<![\w/])((?:memory|search|server)/[\w/]+\.py)", page))
    missing = sorted(path for path in walked if not (PACKAGE / path).is_file())
    assert len(walked) > 20
    assert not missing, f"docs/architecture.md names {missing}, which are not there"
    # a file or folder stands in the tree by its own name
    tree = page[page.index("    src/lastseen/") :]
    parts = [*PACKAGE.iterdir(), *(PACKAGE / "memory").iterdir()]
    names = [f"{one.name}/" if one.is_dir() else one.name for one in parts if not one.name.startswith("_")]
    left_out = sorted(name for name in names if name not in tree and name != "py.typed")
    assert not left_out, f"docs/architecture.md has no line for {left_out}"
