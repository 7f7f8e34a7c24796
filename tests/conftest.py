"""What all tests share: the soak scale, the skip budget, and the property-test profile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
NO_RECORDINGS = "no recordings"
NO_MODELS = "no real weights"

# derandomized: a red run is red for everyone, and stays red until it is mended
settings.register_profile("test", max_examples=60, deadline=None, derandomize=True)
settings.register_profile(
    "soak", max_examples=600, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long counts: ten times those of make test")
    parser.addoption("--skip-budget", metavar="FILE", help="fail when more tests skip than the number in FILE")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if config.getoption("--soak") else "test")
    if not hasattr(config, "workerinput"):
        # once, before workers and the processes that tests start would all compile the same; they find it also where
        # a test gives them another home
        os.environ.setdefault("XDG_CACHE_HOME", str(Path("~/.cache").expanduser()))
        from lastseen.perception.warm_up import warm_up

        warm_up()


@pytest.fixture(scope="session")
def soak(request: pytest.FixtureRequest) -> int:
    """The factor for long counts: 10 under ``make soak``, else 1."""
    return 10 if request.config.getoption("--soak") else 1


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real recordings; tests that need it skip with the reason where it is not."""
    folder = Path(os.environ.get("LASTSEEN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"{NO_RECORDINGS} at {folder}; set LASTSEEN_DATA")
    return folder


@pytest.fixture(scope="session")
def real_model() -> Callable[[str], Path]:
    """Gives the checked folder of a model by name; tests that need one skip with the reason where it is not."""
    from lastseen.models.folder import VARIABLE, checked_folder, is_present

    def folder(name: str) -> Path:
        if not os.environ.get(VARIABLE):
            pytest.skip(f"{NO_MODELS}: set {VARIABLE} to a folder of models")
        if not is_present(name):
            pytest.skip(f"{NO_MODELS} of {name} in {VARIABLE}: lastseen models pull {name}")
        return checked_folder(name)

    return folder


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which more tests skipped than the committed number: a silent skip is a lost test."""
    budget_file = session.config.getoption("--skip-budget")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not budget_file or reporter is None or hasattr(session.config, "workerinput"):
        return
    budget = int(Path(str(budget_file)).read_text().split()[0])
    reports = reporter.stats.get("skipped", [])
    # whoever has no recordings or no weights is told so by each test; those skips are expected and count for nothing
    expected = (NO_RECORDINGS, NO_MODELS)
    skipped = sum(not any(reason in str(report.longrepr) for reason in expected) for report in reports)
    if skipped > budget:
        reporter.write_line(f"{skipped} tests skipped, the budget in {budget_file} is {budget}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
