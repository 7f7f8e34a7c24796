"""Fetching a model by name: over https, resumed where it stopped, and put in place only when it is the right file."""

from __future__ import annotations

import http.client
import ipaddress
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from lastseen.errors import DownloadError, InvalidValue
from lastseen.models.catalogue import Model, ModelFile
from lastseen.models.folder import models_folder, read_trusted, sha256_of, write_trusted

Progress = Callable[[str, int, int], None]
"""Told of each piece: the file's path, the bytes there are, the bytes there will be."""

_PIECE = 1 << 20
_TIMEOUT = 30.0
_SLACK = 1 << 20
"""Bytes by which a file may be larger than twice its rounded size in the catalogue: more is something else."""


def pull(
    model: Model,
    *,
    trust: bool = False,
    folder: Path | None = None,
    progress: Progress | None = None,
    http_on_loopback: bool = False,
) -> Path:
    """Fetch what is missing of a model and return its folder; files that are there and right are left alone.

    A file whose sha256 is not known needs ``trust``; its hash is then written down, so that it cannot change later.
    ``http_on_loopback`` allows plain http to this machine itself, for mirrors and tests.
    """
    home = (folder or models_folder()) / model.name
    trusted = read_trusted(home)
    unknown = [file.path for file in model.files if file.sha256 is None and file.path not in trusted]
    if unknown and not trust:
        raise InvalidValue(
            "model",
            model.name,
            f"has files whose sha256 is not known here ({', '.join(unknown[:3])})",
            remedy="add --trust to take them as they come",
        )
    for file in model.files:
        _check_address(file.url, http_on_loopback=http_on_loopback)
    opener = urllib.request.build_opener(_SafeRedirects(http_on_loopback=http_on_loopback))
    for file in model.files:
        target = home / file.path
        expected = file.sha256 or trusted.get(file.path)
        if target.is_file() and expected is not None and sha256_of(target) == expected:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        _fetch(opener, model, file, part, progress)
        found = sha256_of(part)
        if expected is not None and found != expected:
            part.unlink()
            raise DownloadError(
                model.name,
                f"{file.path} has sha256 {found}, which must be {expected}; it was removed",
                remedy="try again later; if it stays so, the file was changed where it comes from",
            )
        if expected is None:
            write_trusted(home, file.path, found)
        os.replace(part, target)
    return home


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to addresses that would be allowed at first."""

    def __init__(self, *, http_on_loopback: bool) -> None:
        self._http_on_loopback = http_on_loopback

    def redirect_request(  # noqa: PLR0917 - the signature is urllib's
        self,
        req: urllib.request.Request,
        fp: object,
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Refuse a way out of https."""
        _check_address(newurl, http_on_loopback=self._http_on_loopback)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _check_address(url: str, *, http_on_loopback: bool) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if http_on_loopback and parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return
    raise InvalidValue("url", url, "is not https", remedy="models are fetched over https only")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _fetch(
    opener: urllib.request.OpenerDirector, model: Model, file: ModelFile, part: Path, progress: Progress | None
) -> None:
    """Bring the file to ``part``, going on from what is there; what was received stays when it breaks off."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(file.url, headers={"User-Agent": "lastseen"})  # noqa: S310 - checked above
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with opener.open(request, timeout=_TIMEOUT) as response:
            resumed = response.status == http.client.PARTIAL_CONTENT and _starts_at(response, have)
            have = have if resumed else 0
            left = response.headers.get("Content-Length")
            total = have + int(left) if left and left.isdigit() else file.size
            limit = 2 * file.size + _SLACK
            if total > limit:
                raise _failed(model, f"{file.path} is {total} bytes, far more than the {file.size} expected")
            with part.open("ab" if resumed else "wb") as sink:
                while piece := response.read(_PIECE):
                    have += len(piece)
                    if have > limit:
                        raise _failed(model, f"{file.path} is more than twice the {file.size} bytes expected")
                    sink.write(piece)
                    if progress is not None:
                        progress(file.path, have, total)
        if left and have < total:
            raise _broken_off(model, file, have, total)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            # all of it was there already, or more than there should be: the hash will tell
            return
        raise _failed(model, f"{file.url} answered {error.code} {error.reason}") from error
    except http.client.IncompleteRead as error:
        raise _broken_off(model, file, have, have + (error.expected or 0)) from error
    except (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise _failed(model, f"{urllib.parse.urlsplit(file.url).hostname} cannot be reached ({reason})") from error


def _starts_at(response: http.client.HTTPResponse, have: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {have}-")


def _broken_off(model: Model, file: ModelFile, have: int, total: int) -> DownloadError:
    return _failed(model, f"{file.path} broke off at {have} of {total} bytes")


def _failed(model: Model, problem: str) -> DownloadError:
    remedy = "check the network and run it again: it goes on where it stopped; or copy the files there by hand"
    return DownloadError(model.name, problem, remedy=remedy)
