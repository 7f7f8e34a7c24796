"""One network for all tests here: it has 54 million parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.search.policy.pixelnav.views import NO_TORCH

if TYPE_CHECKING:
    from lastseen.search.policy.pixelnav.network import PixelNavNetwork


@pytest.fixture(scope="session")
def network() -> PixelNavNetwork:
    """A network with seeded random weights under which different views give clearly different answers."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    from lastseen.search.policy.pixelnav.network import PixelNavNetwork

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = PixelNavNetwork()
    for module in network.modules():
        # the default fades out over eighteen layers, and then every view looks the same
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight, mode="fan_out")
    ready: PixelNavNetwork = network.eval().requires_grad_(False)
    return ready
