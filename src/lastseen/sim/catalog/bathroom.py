"""What stands in bathrooms and laundries, and the small things around it."""

from __future__ import annotations

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import BRIGHTS, CERAMIC, DARK_METAL, LINENS, METAL, PAPER, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern


@kind(
    "toilet",
    Group.FURNITURE,
    depth=(0.64, 0.70),
    width=(0.37, 0.42),
    height=(0.76, 0.84),
    colors=("white", "beige"),
)
def toilet(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A foot, a bowl, a seat, a tank with a button."""
    depth, width, height = size
    tank = 0.18
    bowl = (depth - tank) / 2
    x = tank / 2
    s.turned([(0.55, 0), (0.6, 0.22), (1, 0.38)], (x, 0, 0), ink, stretch=(bowl, width / 2))
    s.turned([(1, 0), (0.98, 0.035)], (x, 0, 0.38), shade(ink, 0.92), stretch=(bowl, width / 2))
    s.turned([(0.7, 0), (0.7, 0.004)], (x + 0.02, 0, 0.415), shade(ink, 0.6), stretch=(bowl, width / 2))
    s.box((tank, width * 0.6, 0.38), (-depth / 2 + tank / 2, 0, 0), ink)
    s.box((tank, width, height - 0.40), (-depth / 2 + tank / 2, 0, 0.38), ink)
    s.box((tank + 0.01, width + 0.01, 0.02), (-depth / 2 + tank / 2, 0, height - 0.02), shade(ink, 0.95))
    s.surface(height, (tank - 0.03, width - 0.06), middle=(-depth / 2 + tank / 2, 0))


@kind("sink", Group.FURNITURE, depth=(0.44, 0.52), width=(0.55, 0.80), height=(0.84, 0.88), colors=("white", "grey"))
def sink(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A washbasin on a cabinet with a tap; its rim holds small things."""
    depth, width, height = size
    s.box((depth - 0.04, width - 0.04, height - 0.14), (-0.02, 0, 0), shade(ink, 0.85))
    for y in (-1, 1):
        s.box((0.02, width / 2 - 0.05, height - 0.22), (depth / 2 - 0.04, y * width / 4, 0.04), shade(ink, 0.78))
    s.box((depth, width, 0.14), (0, 0, height - 0.14), CERAMIC)
    reach = min(width - 0.30, 0.40)
    basin = (depth / 2 - 0.08, reach / 2)
    middle = -width / 2 + 0.05 + reach / 2
    s.turned([(1, 0), (1, 0.004)], (0.03, middle, height), (196, 200, 204), stretch=basin)
    s.turned([(0.5, 0), (0.5, 0.006)], (0.03, middle, height), (160, 166, 172), stretch=basin)
    s.cylinder(0.016, 0.16, (-depth / 2 + 0.06, middle, height), METAL, sections=8)
    s.cylinder(0.012, 0.12, (-depth / 2 + 0.06, middle, height + 0.14), METAL, axis="x", sections=8)
    left = width - 0.08 - reach
    s.surface(height, (depth - 0.08, left), middle=(0, width / 2 - 0.01 - left / 2))


@kind("bathtub", Group.FURNITURE, depth=(0.72, 0.80), width=(1.50, 1.70), height=(0.55, 0.60), colors=("white",))
def bathtub(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Four walls about a floor, with a tap at one end."""
    depth, width, height = size
    s.box((depth, width, 0.16), (0, 0, 0), ink)
    for x in (-1, 1):
        s.box((0.08, width, height - 0.16), (x * (depth / 2 - 0.04), 0, 0.16), ink)
    for y in (-1, 1):
        s.box((depth - 0.16, 0.10, height - 0.16), (0, y * (width / 2 - 0.05), 0.16), ink)
    s.box((depth - 0.16, width - 0.20, 0.005), (0, 0, 0.16), (206, 220, 228))
    s.cylinder(0.018, 0.12, (0, -width / 2 + 0.05, height), METAL, sections=8)
    s.cylinder(0.014, 0.12, (0, -width / 2 + 0.04, height + 0.10), METAL, axis="y", sections=8)


@kind(
    "shower", Group.FURNITURE, depth=(0.85, 0.95), width=(0.85, 0.95), height=(2.00, 2.10), colors=("white", "grey")
)
def shower(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A tray with a tiled rear wall, corner posts, a rail and a shower head."""
    depth, width, height = size
    s.box((depth, width, 0.10), (0, 0, 0), ink)
    s.box((depth - 0.14, width - 0.14, 0.004), (0, 0, 0.10), shade(ink, 0.85))
    s.box((0.03, width, height - 0.10), (-depth / 2 + 0.015, 0, 0.10), shade(ink, 0.9), pattern=Pattern.TILES)
    for y in (-1, 1):
        s.box((0.03, 0.03, height - 0.10), (depth / 2 - 0.015, y * (width / 2 - 0.015), 0.10), METAL)
        s.box((depth - 0.06, 0.02, 0.03), (0, y * (width / 2 - 0.01), height - 0.03), METAL)
    s.box((0.03, width - 0.06, 0.03), (depth / 2 - 0.015, 0, height - 0.03), METAL)
    s.cylinder(0.012, 1.0, (-depth / 2 + 0.06, 0, 1.0), METAL, sections=8)
    s.cylinder(0.08, 0.02, (-depth / 2 + 0.14, 0, 1.95), METAL)
    s.box((0.16, 0.015, 0.015), (-depth / 2 + 0.11, 0, 1.97), METAL)


@kind(
    "toilet paper",
    Group.SMALL,
    depth=(0.10, 0.12),
    width=(0.10, 0.12),
    height=(0.10, 0.11),
    colors=("white",),
)
def toilet_paper(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A roll with its core."""
    radius, height = size[0] / 2, size[2]
    s.cylinder(radius, height - 0.002, (0, 0, 0), ink)
    s.cylinder(radius * 0.35, 0.002, (0, 0, height - 0.002), (150, 120, 90), sections=8)


@kind("towel", Group.SMALL, depth=(0.22, 0.30), width=(0.30, 0.40), height=(0.06, 0.10), colors=LINENS)
def towel(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Folded, two layers and a stripe."""
    depth, width, height = size
    s.box((depth, width, height / 2), (0, 0, 0), ink, pattern=Pattern.FABRIC)
    s.box((depth - 0.01, width - 0.01, height / 2), (-0.005, 0, height / 2), shade(ink, 0.93), pattern=Pattern.FABRIC)
    s.box((depth - 0.01, 0.03, 0.003), (-0.005, width / 3, height), shade(ink, 0.6))


@kind(
    "soap bottle",
    Group.SMALL,
    depth=(0.055, 0.07),
    width=(0.065, 0.085),
    height=(0.17, 0.21),
    colors=("green", "blue", "white", "pink", "orange"),
)
def soap_bottle(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body, a neck and a pump."""
    depth, width, height = size
    s.turned([(1, 0), (1, height * 0.6), (0.4, height * 0.68)], (0, 0, 0), ink, stretch=(depth / 2, width / 2))
    s.cylinder(0.008, height * 0.26, (0, 0, height * 0.68), PAPER, sections=8)
    s.box((0.05, 0.016, height * 0.06), (0.012, 0, height * 0.94), PAPER)


@kind("toothbrush", Group.SMALL, depth=(0.07, 0.08), width=(0.07, 0.08), height=(0.19, 0.22), colors=BRIGHTS)
def toothbrush(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """In its beaker."""
    radius, height = size[0] / 2, size[2]
    s.cylinder(radius * 0.85, height * 0.5, (0, 0, 0), (206, 218, 224), top_radius=radius)
    s.box((0.012, 0.012, height * 0.5), (0, 0, height * 0.5), ink)
    s.box((0.022, 0.014, height * 0.12), (0.008, 0, height * 0.86), PAPER)


@kind(
    "scale",
    Group.SMALL,
    depth=(0.28, 0.32),
    width=(0.28, 0.32),
    height=(0.035, 0.05),
    colors=("white", "black", "grey", "pink"),
)
def scale(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A bathroom scale with its display."""
    depth, width, height = size
    s.box((depth, width, height - 0.008), (0, 0, 0.006), ink)
    s.box((0.05, 0.10, 0.002), (depth / 2 - 0.06, 0, height - 0.002), DARK_METAL)
    s.legs((depth - 0.02, width - 0.02), 0.006, DARK_METAL, thick=0.03)


@kind(
    "hair dryer",
    Group.SMALL,
    depth=(0.16, 0.20),
    width=(0.16, 0.19),
    height=(0.08, 0.09),
    colors=("black", "pink", "white", "red", "purple"),
)
def hair_dryer(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Lying on its side: barrel, nozzle, handle."""
    depth, width, height = size
    radius = height / 2
    s.cylinder(radius, depth * 0.6, (-depth / 2, 0, radius), ink, axis="x")
    s.cylinder(
        radius * 0.8, depth * 0.4, (depth * 0.1, 0, radius), shade(ink, 0.6), axis="x", top_radius=radius * 0.6
    )
    s.box((0.035, width - radius, 0.03), (-depth / 4, (width - radius) / 2, 0.02), shade(ink, 0.85))


@kind(
    "detergent",
    Group.SMALL,
    depth=(0.10, 0.12),
    width=(0.16, 0.20),
    height=(0.24, 0.30),
    colors=("blue", "green", "orange", "white", "purple"),
)
def detergent(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A jug with a cap, a label and a handle."""
    depth, width, height = size
    s.box((depth - 0.004, width, height * 0.72), (0, 0, 0), ink)
    s.box((depth, width * 0.6, height * 0.35), (0, 0, height * 0.15), PAPER)
    s.box((depth * 0.6, width * 0.5, height * 0.14), (0, -width * 0.2, height * 0.72), ink)
    s.cylinder(0.03, height * 0.14, (0, -width * 0.2, height * 0.86), shade(ink, 0.6), sections=8)
    s.box((0.03, 0.03, height * 0.2), (0, width * 0.38, height * 0.72), ink)
    s.box((0.03, width * 0.45, 0.03), (0, width * 0.2, height * 0.9 - 0.03), ink)


@kind(
    "bath mat",
    Group.RUG,
    depth=(0.45, 0.55),
    width=(0.70, 0.85),
    height=(0.010, 0.014),
    colors=LINENS,
)
def bath_mat(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A thin mat with a border."""
    depth, width, height = size
    s.box((depth, width, height * 0.7), (0, 0, 0), shade(ink, 0.8), pattern=Pattern.CARPET)
    s.box((depth - 0.08, width - 0.08, height * 0.3), (0, 0, height * 0.7), ink, pattern=Pattern.CARPET)
