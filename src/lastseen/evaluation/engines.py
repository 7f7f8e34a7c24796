"""Where the units of an evaluation run: in this process, in several, or on a Ray cluster.

An engine knows nothing of episodes. It gets one function and groups of units, keeps a group together because its
units share what is slow to make, and hands each result over as soon as it is there. A unit depends on itself alone,
so the engine decides when a result comes and never what it is.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any, TypeVar

from lastseen import __version__
from lastseen.errors import InvalidValue, LastseenError, needs_extra

Unit = TypeVar("Unit")
Result = TypeVar("Result")

ENGINES = ("processes", "ray")
_ANSWER = 5.0
"""Seconds for the head of a cluster to take a connection; one that is there does so at once."""
_LOCAL_STORE = 100_000_000
"""Bytes of shared memory for a Ray of one machine; plans and records are a few kilobytes, Ray asks for 75 MB."""


def check_engine(engine: str, *, jobs: int) -> None:
    """Refuse an engine that cannot be used, before anything is made for it."""
    if jobs < 1:
        raise InvalidValue("jobs", jobs, "must be at least 1", remedy="one process per core is best")
    if engine not in ENGINES:
        raise InvalidValue("engine", engine, "is not known", remedy=f"choose one of {', '.join(ENGINES)}")
    if engine == "ray":
        _ray()


def spread(
    one: Callable[[Unit], Result], groups: Sequence[Sequence[Unit]], *, engine: str = "processes", jobs: int = 1
) -> Iterator[Result]:
    """The result of every unit, as they come; ``jobs`` is the number of processes on this machine.

    With the engine ``ray`` and RAY_ADDRESS set, the cluster there is used, all of it. Closing the iterator, or an
    interrupt, gives up what has not been started and leaves no process behind.
    """
    check_engine(engine, jobs=jobs)
    if engine == "ray":
        return _on_ray(_ray(), one, groups, jobs)
    if jobs == 1 or sum(map(len, groups)) < 2:
        return (one(unit) for group in groups for unit in group)
    return _in_processes(one, groups, jobs)


def _in_processes(one: Callable[[Unit], Result], groups: Sequence[Sequence[Unit]], jobs: int) -> Iterator[Result]:
    # a process forked from one with threads (FAISS, a Ray that was shut down) may crash: each begins afresh
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[list[Result]]] = {pool.submit(_group, one, group) for group in groups}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield from future.result()
        finally:
            for future in waiting:
                future.cancel()


def _group(one: Callable[[Unit], Result], group: Sequence[Unit]) -> list[Result]:
    return [one(unit) for unit in group]


def _on_ray(ray: Any, one: Callable[[Unit], Result], groups: Sequence[Sequence[Unit]], jobs: int) -> Iterator[Result]:
    if not groups:
        return
    _connect(ray, jobs)
    waiting: list[Any] = []
    try:
        task = ray.remote(num_cpus=1)(_group_of_version)
        waiting = [task.remote(__version__, one, group) for group in groups]
        while waiting:
            finished, waiting = ray.wait(waiting, num_returns=1)
            for reference in finished:
                yield from _result(ray, reference)
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)
        ray.shutdown()


def _ray() -> Any:
    """Import Ray, and tell it beforehand what it takes from the environment only."""
    # reporting its use to its makers, and a warning of a default to come about GPUs
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if not os.environ.get("RAY_ADDRESS") and "ray" not in sys.modules:
        # a Ray of this machine alone listens on loopback, as it does on other systems than Linux, and to us only; it
        # reads this when it is imported, and told later it would not know its own server
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    with needs_extra("the engine ray", extra="ray"):
        import ray
    return ray


def _connect(ray: Any, jobs: int) -> None:
    if ray.is_initialized():
        raise InvalidValue(
            "engine", "ray", "is in use by this process already", remedy="call ray.shutdown() before the evaluation"
        )
    quiet = {"log_to_driver": False, "logging_level": "warning", "include_dashboard": False}
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        ray.init(
            address="local",
            num_cpus=jobs,
            object_store_memory=_LOCAL_STORE,
            _node_ip_address="127.0.0.1",
            **quiet,
        )
        return
    del quiet["include_dashboard"]
    try:
        _knock(address)
        ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        first = str(error).partition("\n")[0]
        raise InvalidValue(
            "RAY_ADDRESS", address, f"does not answer ({first})", remedy="start the cluster, or unset it"
        ) from error


def _knock(address: str) -> None:
    """Raise ``OSError`` where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_ANSWER).close()


def _group_of_version(version: str, one: Callable[[Unit], Result], group: Sequence[Unit]) -> list[Result]:
    """Run a group on a worker; another version of lastseen there would give other results without a word."""
    if version != __version__:
        raise InvalidValue(
            "lastseen on the worker",
            __version__,
            f"is not {version}",
            remedy="install the same version on every node",
        )
    return _group(one, group)


def _result(ray: Any, reference: Any) -> list[Any]:
    try:
        found: list[Any] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        # what the episode raised, as it would be without Ray: its own message is the worker's whole traceback
        raise error.cause from None
    except ray.exceptions.RayError as error:
        first = str(error).partition("\n")[0]
        raise LastseenError(f"a Ray worker was lost ({first}); run the same command again, it goes on") from error
    return found
