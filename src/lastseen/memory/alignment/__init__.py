"""Where one map lies in another, told from the things that both hold.

Gravity fixes two angles; the turn about the vertical and the shift come from the constellation of objects. The
answer is aligned, ambiguous or not aligned, with the reason; see docs/alignment.md.
"""

from lastseen.memory.alignment.aligner import Alignment, Candidate, align
from lastseen.memory.alignment.landmarks import Landmarks, landmarks_of
from lastseen.memory.alignment.transform import FrameTransform

__all__ = ["Alignment", "Candidate", "FrameTransform", "Landmarks", "align", "landmarks_of"]
