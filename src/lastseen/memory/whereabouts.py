"""Where the robot is and has been: the newest pose and the spatial memory, as one part of a memory file."""

from __future__ import annotations

from collections.abc import Mapping

from lastseen.config import Settings
from lastseen.memory.last_pose import LastPose
from lastseen.memory.places.journaled import spatial_from_meta, spatial_to_meta
from lastseen.memory.places.standing import Standing


class Whereabouts:
    """The places of every episode and the newest pose, read from a journal's meta entries."""

    def __init__(self, meta: Mapping[str, str], settings: Settings) -> None:
        self.spatial = spatial_from_meta(meta, settings)
        self.pose = self._kept_pose = LastPose.from_meta(meta)
        self._kept_revision = self.spatial.revision
        self._reach = settings.live.place_reach
        self._standing: tuple[int, Standing] | None = None

    def take_unkept(self) -> dict[str, str]:
        """The meta entries that changed since the last call; whoever calls puts them into the journal."""
        meta: dict[str, str] = {}
        if self.spatial.revision != self._kept_revision:
            self._kept_revision = self.spatial.revision
            meta |= spatial_to_meta(self.spatial)
        if self.pose is not None and self.pose is not self._kept_pose:
            self._kept_pose = self.pose
            meta |= self.pose.to_meta()
        return meta

    def standing(self) -> Standing:
        """Tells the place of points; made anew when the spatial memory changed."""
        if self._standing is None or self._standing[0] != self.spatial.revision:
            self._standing = self.spatial.revision, Standing(self.spatial.graph, reach=self._reach)
        return self._standing[1]
