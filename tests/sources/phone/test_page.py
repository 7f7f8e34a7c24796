"""The page in a real browser, with an emulated WebXR device (iwer): pose and depth are its own.

iwer has no camera image: a texture of two colours stands in for it, so what a phone's camera gives is not tested.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lastseen.sources import SourceOptions
from lastseen.sources.phone.source import PhoneSource

CHROMIUM = Path("/usr/bin/chromium")
if not CHROMIUM.is_file():
    pytest.skip(f"no browser at {CHROMIUM}", allow_module_level=True)
pytest.importorskip("segno")

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402
from tools.screenshots import FLAGS  # noqa: E402

pytestmark = pytest.mark.integration

IWER = "2.5.0"
PATIENCE = 30_000
"""Milliseconds: rendering without a GPU on a busy machine."""

DEVICE = """
const config = {...IWER.metaQuest3, supportedFeatures: [...IWER.metaQuest3.supportedFeatures, %s]};
window.device = new IWER.XRDevice(config);
device.installRuntime({forceInstall: true});
device.stereoEnabled = false;
device.position.set(0.5, 1.5, -0.25);
device.quaternion.set(0, Math.SQRT1_2, 0, Math.SQRT1_2);
// a wall two metres away, its lower half a metre away
const room = {
  render() {},
  computeDepthBuffer(view, projection, width, height) {
    const data = new Float32Array(width * height).fill(2);
    data.fill(1, Math.floor(height / 2) * width);
    return {data: data.buffer, width, height, rawValueToMeters: 1};
  },
};
for (const key of Object.getOwnPropertySymbols(device)) device[key].sem = room;
"""
CAMERA = """
Object.defineProperty(XRView.prototype, "camera", {get: () => ({width: 960, height: 720})});
const made = new WeakMap();
window.XRWebGLBinding = class {
  constructor(session, gl) { this.gl = gl; }
  getCameraImage() {
    const {gl} = this;
    if (!made.has(gl)) {
      const texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      // red below, blue above: OpenGL's first row is the lowest
      const rows = new Uint8Array([200, 30, 20, 255, 20, 30, 200, 255]);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 1, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, rows);
      made.set(gl, texture);
    }
    return made.get(gl);
  }
};
"""
ALL = DEVICE % '"camera-access", "depth-sensing"'


@pytest.fixture(scope="module")
def iwer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The emulator's script, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm to get the emulator with")
    folder = tmp_path_factory.mktemp("iwer")
    done = subprocess.run([npm, "install", "--no-save", f"iwer@{IWER}"], cwd=folder, capture_output=True, check=False)
    script = folder / "node_modules" / "iwer" / "build" / "iwer.min.js"
    if done.returncode or not script.is_file():
        pytest.skip("npm cannot get iwer here")
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def phone() -> Iterator[PhoneSource]:
    with PhoneSource("127.0.0.1:0", SourceOptions(backpressure="lossless", end_after=60.0)) as source:
        source.start()
        yield source


def opened(browser: Browser, address: str, *scripts: str) -> Page:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    for script in scripts:
        page.add_init_script(script)
    page.goto(address)
    return page


def test_pose_depth_and_image_arrive_as_frames(browser: Browser, phone: PhoneSource, iwer: str) -> None:
    page = opened(browser, phone.url, iwer, ALL, CAMERA)
    expect(page.locator("#connection")).to_have_text("connected", timeout=PATIENCE)
    assert "token" not in page.url
    page.click("#begin")
    frame = next(phone.frames())
    # the device looks along -x of WebXR's world, 1.5 m up: y there is our z, -z our y
    assert np.linalg.norm(frame.T_world_camera.translation[:2] - [0.5, 0.25]) < 0.05
    assert np.allclose(frame.T_world_camera.rotation[:, 2], [-1.0, 0.0, 0.0], atol=1e-3)
    assert np.allclose(frame.T_world_camera.rotation[:, 1], [0.0, 0.0, -1.0], atol=1e-3)
    rows = frame.depth.shape[0]
    assert np.allclose(frame.depth[: rows // 2 - 2], 2.0, atol=1e-3)
    assert np.allclose(frame.depth[rows // 2 + 2 :], 1.0, atol=1e-3)
    assert frame.rgb.shape == (480, 640, 3)
    assert np.abs(frame.rgb[20].mean(axis=0) - [20, 30, 200]).max() < 12
    assert np.abs(frame.rgb[-20].mean(axis=0) - [200, 30, 20]).max() < 12
    assert abs(frame.intrinsics.cx - 319.5) < 1.0
    page.close()


def test_what_the_browser_lacks_is_said_on_the_page(browser: Browser, phone: PhoneSource, iwer: str) -> None:
    page = opened(browser, phone.url, iwer, DEVICE % '"depth-sensing"')
    page.click("#begin")
    expect(page.locator("#problem")).to_contain_text("no camera-access", timeout=PATIENCE)
    page.close()
    page = opened(browser, phone.url, "delete Navigator.prototype.xr")
    expect(page.locator("#problem")).to_contain_text("no WebXR", timeout=PATIENCE)
    expect(page.locator("#begin")).to_be_disabled()
    page.close()


def test_a_used_address_is_refused_on_the_page(browser: Browser, phone: PhoneSource, iwer: str) -> None:
    address = phone.url
    first = opened(browser, address, iwer, ALL, CAMERA)
    expect(first.locator("#connection")).to_have_text("connected", timeout=PATIENCE)
    second = browser.new_context().new_page()
    for script in (iwer, ALL):
        second.add_init_script(script)
    second.goto(address)
    expect(second.locator("#problem")).to_contain_text("scan the code", timeout=PATIENCE)
    first.close()
    second.context.close()
