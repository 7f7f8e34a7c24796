from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.search.policy import protocol
from lastseen.search.policy.geometric import GeometricPixelPolicy
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.policy.protocol import PixelPolicy, allow
from tests.search.policy.box_world import BoxWorld

PIXEL = GoalPixel(40, 50, "floor", (2.0, 0.0, 0.0))


def geometric() -> PixelPolicy:
    return GeometricPixelPolicy()


def pixelnav() -> PixelPolicy:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'lastseen[torch]'")
    from lastseen.search.policy.pixelnav.network import PixelNavNetwork
    from lastseen.search.policy.pixelnav.policy import PixelNavPolicy

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return PixelNavPolicy(PixelNavNetwork(), image_size=32)


@pytest.fixture(scope="module", params=[geometric, pixelnav])
def made(request: pytest.FixtureRequest) -> PixelPolicy:
    make: Callable[[], PixelPolicy] = request.param
    return make()


@pytest.fixture
def policy(made: PixelPolicy) -> PixelPolicy:
    made.reset()
    return made


def test_it_has_the_members_of_the_protocol(policy: PixelPolicy) -> None:
    assert isinstance(policy, PixelPolicy)


def test_every_walk_ends_with_a_stop_and_its_reason(policy: PixelPolicy) -> None:
    world = BoxWorld()
    policy.see(world.look())
    policy.follow(PIXEL)
    for _ in range(60):
        assert policy.stop_reason is None
        policy.see(world.look())
        action = policy.act()
        if action is Action.STOP:
            break
        policy.moved(action, collided=world.step(action))
    assert policy.stop_reason is not None


def test_without_a_goal_it_stops_as_blocked(policy: PixelPolicy) -> None:
    policy.see(BoxWorld().look())
    assert policy.act() is Action.STOP
    assert policy.stop_reason == "blocked"


def test_a_new_goal_clears_the_reason_of_the_last_stop(policy: PixelPolicy) -> None:
    policy.see(BoxWorld().look())
    policy.act()
    policy.follow(PIXEL)
    assert policy.stop_reason is None


def test_actions_that_a_robot_lacks_are_masked_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    class Tilting(GeometricPixelPolicy):
        def allow(self, actions: Collection[Action]) -> None:
            self.allowed = set(actions)

    protocol._say_masked.cache_clear()
    policy = Tilting(Settings().policy)
    for _ in range(2):
        allow(policy, (Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT, Action.STOP))
    assert Action.LOOK_UP not in policy.allowed
    assert caplog.messages == ["the robot cannot do look_up or look_down: the policy is never allowed to choose that"]
