"""The page and its login: static files of the viewer, and a token exchanged for a cookie."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from lastseen.server.responses import errors, json_response
from lastseen.server.schemas import StrictBody
from lastseen.server.security import Access

FOLDER = Path(__file__).parent / "viewer"
_NOT_BUILT = (
    "<!doctype html><title>lastseen</title><p>The viewer is not built. "
    "Build it in web/, as CONTRIBUTING.md says; the API is described at /openapi.json."
)


class Login(StrictBody):
    """The token of the server."""

    token: Annotated[str, Field(max_length=512)]


class SessionState(BaseModel):
    """Whether a token is wanted, and whether this browser has shown it."""

    required: bool
    authenticated: bool


def routes(access: Access) -> APIRouter:
    """Login, logout, and whether either is needed."""
    router = APIRouter(tags=["session"], prefix="/session", responses=errors(400, 405, 413))

    @router.get("", response_model=SessionState)
    def session(request: Request) -> Response:
        """Whether a token is wanted, and whether this browser has shown it."""
        return json_response({"required": access.token is not None, "authenticated": access.allows(request)})

    @router.post("", status_code=204, response_class=Response, responses=errors(401, 408, 411, 415, 422, 503))
    def login(body: Login) -> Response:
        """Exchange the token for a cookie that scripts cannot read and other sites cannot send."""
        if not access.token_fits(body.token):
            raise HTTPException(401, "this is not the token of this server")
        answer = Response(status_code=204)
        answer.set_cookie(access.cookie, access.sessions.begin(), httponly=True, samesite="strict", path="/")
        return answer

    @router.delete("", status_code=204, response_class=Response)
    def logout(request: Request) -> Response:
        """End the session."""
        access.sessions.end(request.cookies.get(access.cookie))
        answer = Response(status_code=204)
        answer.delete_cookie(access.cookie, path="/", httponly=True, samesite="strict")
        return answer

    return router


def mount(app: FastAPI) -> None:
    """Serve the page at /viewer/ and lead / to it."""

    @app.get("/", include_in_schema=False)
    def root() -> Response:
        return RedirectResponse("/viewer/")

    if (FOLDER / "index.html").is_file():
        # the folder is fixed and StaticFiles keeps within it: a request names a file of the wheel or nothing
        # without the slash a mount answers nothing before the guard has seen a token
        app.get("/viewer", include_in_schema=False)(root)
        app.mount("/viewer", StaticFiles(directory=FOLDER, html=True, follow_symlink=False))
        return

    @app.get("/viewer/", include_in_schema=False)
    def not_built() -> Response:
        return HTMLResponse(_NOT_BUILT)
