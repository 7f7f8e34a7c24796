"""The models that can be had by name: files, addresses, licences, and the sha256 that each file must have.

A hash stands here only where another public project publishes it for the same address; where none is known the
entry says so, and fetching it needs the user's trust. A wrong entry cannot harm: what does not match is not loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.errors import InvalidValue

_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: its place in the model's folder, where it comes from, and what it must be.

    ``size`` is in bytes, rounded where the exact one is not known; ``sha256`` is None where no hash is known.
    """

    path: str
    url: str
    size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model by name: what it is for, its licence and its files."""

    name: str
    use: str
    licence: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def verified(self) -> bool:
        """Whether the hash of every file is known."""
        return all(file.sha256 is not None for file in self.files)


def _files(repository: str, revision: str, *files: tuple[str, int, str | None], below: str = "") -> list[ModelFile]:
    return [
        ModelFile(below + path, f"{_HUB}/{repository}/resolve/{revision}/{path}", size, sha256)
        for path, size, sha256 in files
    ]


_CLIP = (
    *_files(
        "Qdrant/clip-ViT-B-32-vision",
        "e0c24ed0fa57fa3e4f97f30de74c51d944036ace",
        ("model.onnx", 351_686_194, "c68d3d9a200ddd2a8c8a5510b576d4c94d1ae383bf8b36dd8c084f94e1fb4d63"),
        ("preprocessor_config.json", 780, "ce945ef831c9972c135b5b198a03d8eeb70478cd69c0238f24caf1903a9965e6"),
        below="vision/",
    ),
    *_files(
        "Qdrant/clip-ViT-B-32-text",
        "48ca1db27cb4063eb311ec2aa7f087a808112876",
        ("model.onnx", 254_102_519, "4dbe762b11e36488304471e439cde89da053ad7acaddbf9e096745d142ec8d8b"),
        ("config.json", 1_000, "4d5923d94bbc4e29864de837df14c138c12b93a0b738c64f3ca41f0c539e17b7"),
        ("tokenizer.json", 2_300_000, "b68d571997a1f81bf521fb73806740ddb91e4ed6666cb6e996c066bb289cf55b"),
        ("tokenizer_config.json", 705, "6bdcee9ccce2a16ca2b4c0c5ed00b42c50ea225f4472a8c4c1e963a2902c2881"),
        ("special_tokens_map.json", 588, "2cdb3b8331a60c92fc1e55a13e9fd61fd2293c5a51275fdcccd62b780052530e"),
        below="text/",
    ),
)
_SIGLIP2 = _files(
    "onnx-community/siglip2-base-patch16-224-ONNX",
    "ba1f3b0843f24bc5417d38e19c37b287d719b2f4",
    ("onnx/vision_model.onnx", 371_807_752, "c0573e3f4140c3a7c4e9cc5912bd6b26a033b46a6a8e8af26cbea262b163bcad"),
    ("onnx/text_model.onnx", 1_130_000_000, "baf12d941beabafafb14f7b4adb38dc15be18681b964a84410ec53d9d65e6293"),
    ("config.json", 435, "e43a9f7692d3819886a82cb2097048258d444f123c67d37ec825f9345b019cf2"),
    ("preprocessor_config.json", 394, "9b36b57ebaf20f09bf4c22100ccc21877ea6bfe5aead0c00c59f8af8ccefacfc"),
    ("tokenizer.json", 34_363_039, "cb9140fae3ac5122c972d37adf83e1248471a38147ad76f8215c8872c6fd8322"),
    ("tokenizer_config.json", 47_240, "7c3a247599e741bceba1a3fe0285aea88d1044dc1fad2caa1e48cdd9fd25f630"),
    ("special_tokens_map.json", 636, "baec30ea10906f16adb8c18af7a34023002c1746542612b8b41c9f09e1351351"),
)
_DFINE_N = _files(
    "onnx-community/dfine_n_coco-ONNX",
    "380d2839c327efaf65dd0fe0c2c10ab7fadd5473",
    ("onnx/model.onnx", 15_258_358, "0f684f409618ee8a822410e754a29caa817d1aa16283ce89cad936d0a48e2f35"),
    ("config.json", 6_597, "a5c7533f3b72be6bb102b93e1b34ca3643af4e0590408a7881543cbb0aa80c4c"),
)
_DFINE_S = _files(
    "onnx-community/dfine_s_coco-ONNX",
    "a3cf03147a9b86c78475139115c8ac142577352d",
    ("onnx/model.onnx", 41_535_197, "cd8a49a945feda6d28c6304ae8ae85c2759ba1d78a5a83a22c5ce8db82ef7238"),
    ("config.json", 6_656, "9338ef3863d6e95627d4ab06009fa85b1dd523b346b5c3595de2b08862136e99"),
)
_RTDETR = _files(
    "onnx-community/rtdetr_v2_r18vd-ONNX",
    "main",
    ("onnx/model.onnx", 81_057_510, "583a236ac21c95a7fd94f284fc21485e42355bfef82c27011ba78fbc09ee87e2"),
)
_GROUNDING_DINO = _files(
    "IDEA-Research/grounding-dino-tiny",
    "a2bb814dd30d776dcf7e30523b00659f4f141c71",
    ("model.safetensors", 689_359_096, None),
    ("config.json", 2_000, None),
    ("preprocessor_config.json", 500, None),
    ("tokenizer.json", 712_000, None),
    ("tokenizer_config.json", 1_300, None),
    ("special_tokens_map.json", 130, None),
    ("vocab.txt", 232_000, None),
)
_SAM = _files(
    "facebook/sam-vit-base",
    "main",
    ("model.safetensors", 375_042_383, None),
    ("config.json", 7_000, None),
    ("preprocessor_config.json", 500, None),
)

_DETECTOR = "names 80 kinds"
_TOWERS = "words, images"
CATALOGUE: dict[str, Model] = {
    model.name: model
    for model in (
        Model("clip", f"{_TOWERS} (CLIP)", "MIT", tuple(_CLIP)),
        Model("dfine-n", f"{_DETECTOR}, fastest", "Apache-2.0", tuple(_DFINE_N)),
        Model("dfine-s", _DETECTOR, "Apache-2.0", tuple(_DFINE_S)),
        Model("grounding-dino", "finds what you name", "Apache-2.0", tuple(_GROUNDING_DINO)),
        Model("rtdetr", f"{_DETECTOR}, largest", "Apache-2.0", tuple(_RTDETR)),
        Model("sam", "outlines of things", "Apache-2.0", tuple(_SAM)),
        Model("siglip2", f"{_TOWERS} (SigLIP 2)", "Apache-2.0", tuple(_SIGLIP2)),
    )
}
"""Every model known by name, in the order of the names."""


def known_model(name: str) -> Model:
    """The catalogue's entry of that name."""
    if name not in CATALOGUE:
        raise InvalidValue("model", name, "is not in the catalogue", remedy=f"choose one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]
