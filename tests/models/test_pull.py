"""Fetching over a real server on this machine: resume, mismatch, redirects, and no network at all."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lastseen.errors import DownloadError, InvalidValue
from lastseen.models.catalogue import Model, ModelFile
from lastseen.models.folder import checked_folder, models_folder, read_trusted
from lastseen.models.pull import pull

BODY = bytes(range(256)) * 8000
SHA = hashlib.sha256(BODY).hexdigest()


@dataclass
class Mirror:
    """What the server does, and what it was asked for."""

    url: str = ""
    break_after: int | None = None
    ranges: bool = True
    redirect: str | None = None
    asked: list[str | None] = field(default_factory=list)


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    behaviour = Mirror()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            behaviour.asked.append(wanted)
            if self.path.startswith("/missing"):
                self.send_error(404)
                return
            if behaviour.redirect is not None:
                self.send_response(302)
                self.send_header("Location", behaviour.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and behaviour.ranges else 0
            if start >= len(BODY):
                self.send_error(416)
                return
            self.send_response(206 if wanted and behaviour.ranges else 200)
            self.send_header("Content-Length", str(len(BODY) - start))
            if wanted and behaviour.ranges:
                self.send_header("Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
            self.end_headers()
            # whoever refuses a file hangs up in the middle of it
            with contextlib.suppress(ConnectionError):
                self.wfile.write(BODY[start : behaviour.break_after])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    behaviour.url = f"http://127.0.0.1:{server.server_port}/weights.onnx"
    yield behaviour
    server.shutdown()
    thread.join()
    server.server_close()


def model(url: str, *, sha256: str | None = SHA, size: int = len(BODY)) -> Model:
    return Model("clip", "a test", "MIT", (ModelFile("onnx/weights.onnx", url, size, sha256),))


def test_a_file_is_fetched_checked_and_put_in_place(mirror: Mirror, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    home = pull(model(mirror.url), folder=tmp_path, http_on_loopback=True, progress=lambda *facts: seen.append(facts))
    assert (home / "onnx" / "weights.onnx").read_bytes() == BODY
    assert seen[-1] == ("onnx/weights.onnx", len(BODY), len(BODY))
    assert not list(tmp_path.rglob("*.part"))


def test_what_is_there_and_right_is_not_fetched_again(mirror: Mirror, tmp_path: Path) -> None:
    for _ in range(2):
        pull(model(mirror.url), folder=tmp_path, http_on_loopback=True)
    assert len(mirror.asked) == 1


@pytest.mark.parametrize("ranges", [True, False])
def test_a_transfer_that_broke_off_goes_on(mirror: Mirror, tmp_path: Path, ranges: bool) -> None:
    mirror.break_after, mirror.ranges = 1_500_000, ranges
    with pytest.raises(DownloadError, match="it goes on where it stopped"):
        pull(model(mirror.url), folder=tmp_path, http_on_loopback=True)
    part = tmp_path / "clip" / "onnx" / "weights.onnx.part"
    received = part.stat().st_size
    assert 0 < received <= 1_500_000
    mirror.break_after = None
    home = pull(model(mirror.url), folder=tmp_path, http_on_loopback=True)
    assert (home / "onnx" / "weights.onnx").read_bytes() == BODY
    assert mirror.asked[-1] == f"bytes={received}-"


def test_a_part_that_is_whole_already_is_taken(mirror: Mirror, tmp_path: Path) -> None:
    part = tmp_path / "clip" / "onnx" / "weights.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(BODY)
    home = pull(model(mirror.url), folder=tmp_path, http_on_loopback=True)
    assert (home / "onnx" / "weights.onnx").read_bytes() == BODY


def test_a_file_that_is_not_the_known_one_is_removed(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="which must be"):
        pull(model(mirror.url, sha256="0" * 64), folder=tmp_path, http_on_loopback=True, trust=True)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_unknown_file_needs_trust_and_is_remembered(mirror: Mirror, tmp_path: Path) -> None:
    unknown = model(mirror.url, sha256=None)
    with pytest.raises(InvalidValue, match="add --trust"):
        pull(unknown, folder=tmp_path, http_on_loopback=True)
    assert mirror.asked == []
    home = pull(unknown, folder=tmp_path, http_on_loopback=True, trust=True)
    assert read_trusted(home) == {"onnx/weights.onnx": SHA}
    pull(unknown, folder=tmp_path, http_on_loopback=True)
    assert len(mirror.asked) == 1


def test_http_is_for_this_machine_alone_and_only_when_asked_for(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="is not https"):
        pull(model(mirror.url), folder=tmp_path)
    with pytest.raises(InvalidValue, match="is not https"):
        pull(model("http://192.0.2.1/weights.onnx"), folder=tmp_path, http_on_loopback=True)
    assert mirror.asked == []


@pytest.mark.parametrize("target", ["http://192.0.2.1/x", "file:///etc/hostname"])
def test_a_redirect_out_of_https_is_refused(mirror: Mirror, tmp_path: Path, target: str) -> None:
    mirror.redirect = target
    with pytest.raises((InvalidValue, DownloadError), match=r"is not (https|allowed)"):
        pull(model(mirror.url), folder=tmp_path, http_on_loopback=True)


def test_a_file_far_too_large_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="far more than the 100 expected"):
        pull(model(mirror.url, size=100), folder=tmp_path, http_on_loopback=True)


def test_an_address_that_is_gone_and_a_server_that_is_away_are_one_line(mirror: Mirror, tmp_path: Path) -> None:
    gone = mirror.url.replace("/weights", "/missing")
    with pytest.raises(DownloadError, match="answered 404"):
        pull(model(gone), folder=tmp_path, http_on_loopback=True)
    with pytest.raises(DownloadError, match="cannot be reached") as caught:
        pull(model("http://127.0.0.1:9/weights.onnx"), folder=tmp_path, http_on_loopback=True)
    assert "\n" not in str(caught.value)


def test_the_models_folder_is_the_users_choice(tmp_path: Path) -> None:
    assert models_folder({"LASTSEEN_MODELS": str(tmp_path)}) == tmp_path
    assert models_folder({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "lastseen" / "models"
    assert models_folder({}).parts[-2:] == ("lastseen", "models")


def test_a_file_put_there_by_hand_needs_trust_where_no_hash_is_known(tmp_path: Path) -> None:
    from lastseen.models.catalogue import known_model

    for file in known_model("sam").files:
        (tmp_path / "sam").mkdir(exist_ok=True)
        (tmp_path / "sam" / file.path).write_text("{}")
    with pytest.raises(InvalidValue, match="models pull sam --trust"):
        checked_folder("sam", folder=tmp_path)
