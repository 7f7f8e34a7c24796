"""Compiled loops over the pixels of the segmenter's working image: geometry, colour, and sums over labels.

Each is one pass with a few comparisons a pixel; as array expressions they take ten times as long, most of it for
sums over three channels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

REACH = 2
"""Pixels to each side over which a normal is read."""
FOLD_GAP = 3
"""Pixels between the two normals whose lean tells a fold."""
MIN_SLANT = 0.2
"""Cosine; steeper views are not trusted beyond this factor of area."""


@compiled
def surface_geometry(
    depth: Floats,
    x: Floats,
    y: Floats,
    rotation: Floats,
    translation: Floats,
    world: Floats,
    normals: Floats,
    areas: Floats,
) -> None:
    """Write world points, unit normals towards the camera (zero at the border) and square metres behind each pixel.

    ``x`` and ``y`` are the viewing rays of columns and rows at one metre.
    """
    height, width = depth.shape
    pixel = abs(x[1] - x[0]) * abs(y[1] - y[0])
    for row in range(height):
        for column in range(width):
            z = depth[row, column]
            a, b = x[column] * z, y[row] * z
            for axis in range(3):
                world[row, column, axis] = (
                    a * rotation[axis, 0] + b * rotation[axis, 1] + z * rotation[axis, 2] + translation[axis]
                )
                normals[row, column, axis] = 0.0
            areas[row, column] = z * z * pixel / np.float32(MIN_SLANT)
    for row in range(REACH, height - REACH):
        for column in range(REACH, width - REACH):
            # in the camera's axes, where differences are not lost in large coordinates
            left, right = depth[row, column - REACH], depth[row, column + REACH]
            up, down = depth[row - REACH, column], depth[row + REACH, column]
            ax, ay = x[column + REACH] * right - x[column - REACH] * left, y[row] * (right - left)
            az = right - left
            dx, dy = x[column] * (down - up), y[row + REACH] * down - y[row - REACH] * up
            dz = down - up
            nx, ny, nz = dy * az - dz * ay, dz * ax - dx * az, dx * ay - dy * ax
            length = np.sqrt(nx * nx + ny * ny + nz * nz) + np.float32(1e-12)
            nx, ny, nz = nx / length, ny / length, nz / length
            for axis in range(3):
                normals[row, column, axis] = nx * rotation[axis, 0] + ny * rotation[axis, 1] + nz * rotation[axis, 2]
            ray = np.sqrt(x[column] * x[column] + y[row] * y[row] + np.float32(1.0))
            slant = abs(nx * x[column] + ny * y[row] + nz) / ray
            z = depth[row, column]
            areas[row, column] = z * z * pixel / max(slant, np.float32(MIN_SLANT))


@compiled
def outlines(
    depth: Floats,
    world: Floats,
    normals: Floats,
    limit: Floats,
    crease: float,
    steps: Bools,
    folds: Bools,
) -> None:
    """Mark pixels at a step in depth beyond ``limit`` and pixels in an inward fold of the surface."""
    height, width = depth.shape
    for row in range(height):
        for column in range(width):
            for axis in range(2):
                down, right = (1, 0) if axis == 0 else (0, 1)
                if row + down < height and column + right < width:
                    jump = abs(depth[row + down, column + right] - depth[row, column])
                    if jump > limit[row, column]:
                        steps[row, column] = True
                far_row, far_column = row + FOLD_GAP * down, column + FOLD_GAP * right
                if far_row >= height or far_column >= width:
                    continue
                lean, long = np.float32(0.0), np.float32(0.0)
                for k in range(3):
                    apart = world[far_row, far_column, k] - world[row, column, k]
                    lean += (normals[far_row, far_column, k] - normals[row, column, k]) * apart
                    long += apart * apart
                # normals that lean towards each other: a valley, as between a thing and what it stands on
                if lean / (np.sqrt(long) + np.float32(1e-6)) < -crease:
                    folds[row + down, column + right] = True


@compiled
def region_contacts(
    labels: Labels,
    depth: Floats,
    folds: Bools,
    usable: Bools,
    step: Floats,
    outlines: tuple[Doubles, Doubles, Doubles],
    contacts: tuple[Doubles, Doubles],
) -> None:
    """Add up each label's outline along rows and columns, and how labels meet.

    ``outlines`` (labels) are pixel pairs of the whole outline, where what is behind is farther than ``step``, and
    where something nearer hides it; ``contacts`` (labels, labels) those that meet without a step, and of these those
    in a fold.
    """
    outline, own, hidden = outlines
    smooth, folded = contacts
    for axis in range(2):
        lines, length = labels.shape if axis == 0 else labels.shape[::-1]
        for line in range(lines):
            last = -1
            for at in range(length):
                row, column = (line, at) if axis == 0 else (at, line)
                if not usable[row, column]:
                    continue
                b = labels[row, column]
                if last < 0:
                    outline[b] += 1.0
                    own[b] += at > 0
                else:
                    row_a, column_a = (line, last) if axis == 0 else (last, line)
                    a = labels[row_a, column_a]
                    gap = depth[row, column] - depth[row_a, column_a]
                    limit = max(step[row_a, column_a], step[row, column])
                    if a != b or abs(gap) > limit:
                        outline[a] += 1.0
                        outline[b] += 1.0
                        if gap > limit:
                            own[a] += 1.0
                            hidden[b] += 1.0
                        elif gap < -limit:
                            own[b] += 1.0
                            hidden[a] += 1.0
                        elif last == at - 1 and a > 0 and b > 0:
                            low, high = min(a, b), max(a, b)
                            smooth[low, high] += 1.0
                            folded[low, high] += folds[row, column] or folds[row_a, column_a]
                last = at
            if last >= 0:
                row, column = (line, last) if axis == 0 else (last, line)
                outline[labels[row, column]] += 1.0
                own[labels[row, column]] += last < length - 1


@compiled
def grow(labels: Labels, free: Bools, rgb: Floats, rounds: int) -> None:
    """Give free pixels without a label that of the neighbour whose colour is nearest, in place, round by round."""
    height, width = labels.shape
    rows, columns = np.empty(labels.size, dtype=np.int32), np.empty(labels.size, dtype=np.int32)
    chosen = np.empty(labels.size, dtype=np.int32)
    for _ in range(rounds):
        count = 0
        for row in range(height):
            for column in range(width):
                if not free[row, column] or labels[row, column] != 0:
                    continue
                best, best_label = np.float32(np.inf), np.int32(0)
                for side in range(4):
                    r = row + (side == 2) - (side == 3)
                    c = column + (side == 0) - (side == 1)
                    if r < 0 or r >= height or c < 0 or c >= width or labels[r, c] == 0:
                        continue
                    difference = np.float32(0.0)
                    for k in range(3):
                        difference += abs(rgb[r, c, k] - rgb[row, column, k])
                    if difference < best:
                        best, best_label = difference, labels[r, c]
                if best_label > 0:
                    rows[count], columns[count], chosen[count] = row, column, best_label
                    count += 1
        for index in range(count):
            labels[rows[index], columns[index]] = chosen[index]


@compiled
def label_means(labels: Labels, values: Floats, step: int, means: Doubles, sizes: Doubles) -> None:
    """Write the mean of each channel over every label, of each ``step``-th row and column; 0 where there is none."""
    means[:], sizes[:] = 0.0, 0.0
    for row in range(0, labels.shape[0], step):
        for column in range(0, labels.shape[1], step):
            label = labels[row, column]
            sizes[label] += 1.0
            for k in range(means.shape[1]):
                means[label, k] += values[row, column, k]
    for label in range(len(sizes)):
        for k in range(means.shape[1]):
            means[label, k] /= max(sizes[label], 1.0)


@compiled
def label_spreads(
    labels: Labels, groups: Labels, world: Floats, step: int, means: Doubles, sizes: Doubles, spreads: Doubles
) -> None:
    """Write the covariance (n, 3, 3) of the points of each label's group; ``means`` are those of ``label_means``."""
    spreads[:] = 0.0
    for row in range(0, labels.shape[0], step):
        for column in range(0, labels.shape[1], step):
            label = groups[labels[row, column]]
            for i in range(3):
                for j in range(i, 3):
                    spreads[label, i, j] += (world[row, column, i] - means[label, i]) * (
                        world[row, column, j] - means[label, j]
                    )
    for label in range(len(sizes)):
        for i in range(3):
            for j in range(i, 3):
                spreads[label, i, j] /= max(sizes[label], 1.0)
                spreads[label, j, i] = spreads[label, i, j]


@compiled
def heights_above(
    labels: Labels,
    world: Floats,
    normal: Floats,
    offset: float,
    margin: Floats,
    step: int,
    heights: Doubles,
    below: Doubles,
) -> None:
    """Write each label's mean height over a plane, and the share of its pixels below ``margin`` over it."""
    sizes = np.zeros(len(heights))
    heights[:], below[:] = 0.0, 0.0
    for row in range(0, labels.shape[0], step):
        for column in range(0, labels.shape[1], step):
            label = labels[row, column]
            height = np.float32(-offset)
            for k in range(3):
                height += world[row, column, k] * normal[k]
            sizes[label] += 1.0
            heights[label] += height
            below[label] += height < margin[row, column]
    for label in range(len(sizes)):
        heights[label] /= max(sizes[label], 1.0)
        below[label] /= max(sizes[label], 1.0)


@compiled
def lie_on(
    world: Floats,
    margin: Floats,
    normals: Floats,
    offsets: Floats,
    low: Floats,
    high: Floats,
    free: Bools,
) -> None:
    """Clear ``free`` where a point lies within its margin of one of some planes and within that plane's box."""
    for row in range(free.shape[0]):
        for column in range(free.shape[1]):
            if not free[row, column]:
                continue
            x, y, z = world[row, column, 0], world[row, column, 1], world[row, column, 2]
            for k in range(len(offsets)):
                if (
                    abs(x * normals[k, 0] + y * normals[k, 1] + z * normals[k, 2] - offsets[k]) < margin[row, column]
                    and low[k, 0] <= x <= high[k, 0]
                    and low[k, 1] <= y <= high[k, 1]
                    and low[k, 2] <= z <= high[k, 2]
                ):
                    free[row, column] = False
                    break


@compiled
def sectors_of(normals: Floats, upright: float, count: int, sectors: NDArray[np.int16]) -> None:
    """Write which of ``count`` directions around the vertical each upright pixel faces, -1 for the others."""
    for row in range(sectors.shape[0]):
        for column in range(sectors.shape[1]):
            x, y, z = normals[row, column, 0], normals[row, column, 1], normals[row, column, 2]
            sectors[row, column] = -1
            # normals are zero at the border of the image
            if abs(z) < upright and (x != 0.0 or y != 0.0):
                turn = np.arctan2(y, x) / (2.0 * np.pi)
                sectors[row, column] = np.int16((turn + 1.0 if turn < 0.0 else turn) * count) % count


@compiled
def facing_pixels(
    sectors: NDArray[np.int16],
    sector: int,
    count: int,
    regions: Labels,
    normals: Floats,
    facing: Bools,
    mean: Doubles,
) -> int:
    """Mark free pixels that face one of ``count`` directions or its neighbours; returns how many, and their mean."""
    found = 0
    mean[:] = 0.0
    for row in range(sectors.shape[0]):
        for column in range(sectors.shape[1]):
            one = sectors[row, column]
            facing[row, column] = False
            if one < 0 or regions[row, column] != 0:
                continue
            aside = abs((one - sector + count // 2) % count - count // 2)
            if aside <= 1:
                facing[row, column] = True
                found += 1
                for k in range(3):
                    mean[k] += normals[row, column, k]
    for k in range(3):
        mean[k] /= max(found, 1)
    return found


@compiled
def peak_heights(height: Floats, free: Bools, width: float, least: float, near: Floats) -> int:
    """Write the heights of free pixels around the most frequent one, by bins of ``width``; returns their number.

    It is 0 where fewer than ``least`` pixels are free, or around that height.
    """
    total, low, high = 0, np.float32(np.inf), np.float32(-np.inf)
    for row in range(free.shape[0]):
        for column in range(free.shape[1]):
            if free[row, column]:
                total += 1
                low, high = min(low, height[row, column]), max(high, height[row, column])
    if total < least:
        return 0
    counts = np.zeros(int((high - low) / width) + 3, dtype=np.int64)
    for row in range(free.shape[0]):
        for column in range(free.shape[1]):
            if free[row, column]:
                counts[int((height[row, column] - low) / width) + 1] += 1
    peak, most = 1, -1
    for index in range(1, len(counts) - 1):
        around = counts[index - 1] + counts[index] + counts[index + 1]
        if around > most:
            peak, most = index, around
    if most < least:
        return 0
    middle = low + (peak - 0.5) * width
    found = 0
    for row in range(free.shape[0]):
        for column in range(free.shape[1]):
            if free[row, column] and abs(height[row, column] - middle) < 1.5 * width:
                near[found] = height[row, column]
                found += 1
    return found


@compiled
def on_plane(
    height: Floats,
    middle: float,
    margin: Floats,
    seeds: Bools,
    areas: Floats,
    points: Floats,
    distance: Floats,
    facts: Doubles,
) -> None:
    """Write how many margins each pixel is off a plane, and ``facts`` of the seeds on it.

    These are their square metres, the share of the image and of its border that they fill, and the box of their
    points: three lowest and three highest values.
    """
    rows, columns = height.shape
    facts[:3], facts[3:6], facts[6:9] = 0.0, np.inf, -np.inf
    border = 0
    for row in range(rows):
        for column in range(columns):
            off = abs(height[row, column] - np.float32(middle)) / margin[row, column]
            distance[row, column] = off
            if off < 1.0 and seeds[row, column]:
                facts[0] += areas[row, column]
                facts[1] += 1.0
                # two pixels from the border, where normals begin
                border += (row == REACH) + (row == rows - 1 - REACH)
                border += (column == REACH) + (column == columns - 1 - REACH)
                for k in range(3):
                    facts[3 + k] = min(facts[3 + k], points[row, column, k])
                    facts[6 + k] = max(facts[6 + k], points[row, column, k])
    facts[1] /= rows * columns
    facts[2] = border / (2 * (rows + columns))


@compiled
def middle_colors(labels: Labels, rgb: Floats, cut: Bools, colors: Floats) -> None:
    """Write the median of each channel, whole numbers 0 to 255, over each label that ``cut`` names."""
    counts = np.zeros((len(cut), 3, 256), dtype=np.int32)
    sizes = np.zeros(len(cut), dtype=np.int64)
    for row in range(labels.shape[0]):
        for column in range(labels.shape[1]):
            label = labels[row, column]
            if cut[label]:
                sizes[label] += 1
                for k in range(3):
                    counts[label, k, int(rgb[row, column, k])] += 1
    for label in range(len(cut)):
        if not cut[label] or sizes[label] == 0:
            continue
        for k in range(3):
            seen, low, first, second = 0, True, 0, 0
            for value in range(256):
                seen += counts[label, k, value]
                if low and 2 * seen >= sizes[label]:
                    first, low = value, False
                if 2 * seen > sizes[label]:
                    second = value
                    break
            colors[label, k] = 0.5 * (first + second)


@compiled
def differ_in_color(
    labels: Labels,
    rgb: Floats,
    usual: Floats,
    cut: Bools,
    limits: tuple[float, float, float, float],
    differs: Bools,
) -> None:
    """Mark pixels whose colour differs from their label's usual one by more than light does.

    ``limits`` are contrast, tint, contrast where one of the two is dark, and the sum of channels that is dark. A
    pixel whose upper or left neighbour has another label is not marked: regions of two pieces that touch are two.
    """
    contrast, tint, bright, dark = limits
    for row in range(labels.shape[0]):
        for column in range(labels.shape[1]):
            label = labels[row, column]
            differs[row, column] = False
            if (
                not cut[label]
                or (row > 0 and labels[row - 1, column] != label)
                or (column > 0 and labels[row, column - 1] != label)
            ):
                continue
            most, total, usual_total = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for k in range(3):
                most = max(most, abs(rgb[row, column, k] - usual[label, k]))
                total += rgb[row, column, k]
                usual_total += usual[label, k]
            if most <= contrast:
                continue
            if total < dark or usual_total < dark:
                differs[row, column] = most > bright
                continue
            for k in range(3):
                share = rgb[row, column, k] / max(total, np.float32(1.0))
                differs[row, column] |= abs(share - usual[label, k] / max(usual_total, np.float32(1.0))) > tint
