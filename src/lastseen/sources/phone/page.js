// What the phone sees, sent to lastseen: camera image, depth and pose, ten times a second.
"use strict";

const INTERVAL = 100; // ms between two frames: as many as memory looks at
const LONGER_SIDE = 640; // px of the image that is sent
const DEPTH_SIDE = 160; // px of the longer side of depth: about what phones measure
const QUALITY = 0.8; // of the JPEG
const MAX_WAITING = 2e6; // bytes that may wait in the socket before frames are left out
const RETRY = 2000; // ms until a lost connection is tried again
const REFUSED = 4401; // the token is used or wrong: trying again would not help

const shown = (id) => document.getElementById(id);
const say = (id, text) => (shown(id).textContent = String(text));
const counts = { sent: 0, left: 0 };

const token = new URLSearchParams(location.hash.slice(1)).get("token");
// the token is good once: nobody should find it in the history
history.replaceState(null, "", location.pathname);

let socket = null;
let session = null;
let busy = false;
let sequence = 0;

function leaveOut(why) {
  say("left", ++counts.left);
  say("why", `(${why})`);
}

// --- the connection

function connect() {
  say("connection", "connecting");
  socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/frames`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => socket.send(JSON.stringify({ token, session: sessionStorage.getItem("lastseen") }));
  socket.onmessage = (event) => {
    const told = JSON.parse(event.data);
    if (told.session) {
      sessionStorage.setItem("lastseen", told.session);
      say("connection", "connected");
    }
    say("taken", told.received);
  };
  socket.onclose = (event) => {
    say("connection", event.reason || "lost");
    if (event.code === REFUSED) say("problem", `${event.reason}: scan the code that lastseen shows now.`);
    else setTimeout(connect, RETRY);
  };
}

// --- what the browser has

async function lacking() {
  if (!window.isSecureContext) return "The page did not come over https: browsers give it no camera then.";
  if (!navigator.xr) return "This browser has no WebXR. Use Chrome on Android; for iPhones see docs/phones.md.";
  if (!(await navigator.xr.isSessionSupported("immersive-ar")))
    return "This phone has no augmented reality: install Google Play Services for AR, or use another phone.";
  return "";
}

async function look() {
  const problem = await lacking();
  say("browser", problem ? "cannot do it" : "WebXR with augmented reality");
  say("problem", problem);
  shown("begin").disabled = Boolean(problem);
  if (!problem) connect();
}

// --- one session of the camera

async function begin() {
  shown("begin").disabled = true;
  say("problem", "");
  try {
    session = await navigator.xr.requestSession("immersive-ar", {
      optionalFeatures: ["camera-access", "depth-sensing", "dom-overlay"],
      domOverlay: { root: document.body },
      depthSensing: {
        usagePreference: ["cpu-optimized"],
        dataFormatPreference: ["luminance-alpha", "unsigned-short", "float32"],
      },
    });
  } catch (error) {
    say("problem", `The browser gave no session (${error.message}): allow camera and augmented reality.`);
    shown("begin").disabled = false;
    return;
  }
  const missing = ["camera-access", "depth-sensing"].filter((one) => !(session.enabledFeatures ?? []).includes(one));
  if (missing.length) {
    say("problem", `This browser has no ${missing.join(" and no ")}: lastseen needs image and depth.`);
    await session.end();
    shown("begin").disabled = false;
    return;
  }
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { xrCompatible: true });
  await gl.makeXRCompatible?.();
  session.updateRenderState({ baseLayer: new XRWebGLLayer(session, gl) });
  const space = await session.requestReferenceSpace("local");
  const camera = new Camera(gl, new XRWebGLBinding(session, gl));
  session.addEventListener("end", () => (shown("begin").disabled = false));
  let last = -INTERVAL;
  session.requestAnimationFrame(function onFrame(time, frame) {
    frame.session.requestAnimationFrame(onFrame);
    if (time - last < INTERVAL) return;
    last = time;
    try {
      take(frame, space, camera, time);
    } catch (error) {
      leaveOut(error.message);
    }
  });
}

function take(frame, space, camera, time) {
  const pose = frame.getViewerPose(space);
  if (!pose || pose.emulatedPosition) return leaveOut("the phone does not know where it is");
  if (socket.readyState !== WebSocket.OPEN) return leaveOut("not connected");
  if (busy || socket.bufferedAmount > MAX_WAITING) return leaveOut("the network is slow");
  const view = pose.views[0];
  if (!view.camera) return leaveOut("no camera image");
  const measured = frame.getDepthInformation(view);
  if (!measured) return leaveOut("no depth yet");
  const image = camera.read(view.camera);
  const depth = millimetres(measured, frame.session.depthDataFormat, image.width / image.height);
  busy = true;
  send(image, depth, view, time).finally(() => (busy = false));
}

async function send(image, depth, view, time) {
  const color = await image.jpeg();
  const { position: p, orientation: q } = view.transform;
  const matrix = view.projectionMatrix;
  const header = {
    format: "lastseen-frame",
    version: 1,
    sequence: sequence++,
    stamp: (performance.timeOrigin + time) / 1000,
    color: { encoding: "jpeg", width: image.width, height: image.height },
    depth: { encoding: "16UC1", width: depth.width, height: depth.height, per_metre: 1000 },
    // the middle of the first pixel is 0; the image shows what the view's projection shows
    camera: {
      fx: (image.width / 2) * matrix[0],
      fy: (image.height / 2) * matrix[5],
      cx: (image.width / 2) * (1 - matrix[8]) - 0.5,
      cy: (image.height / 2) * (1 + matrix[9]) - 0.5,
      width: image.width,
      height: image.height,
    },
    pose: { translation: [p.x, p.y, p.z], quaternion: [q.x, q.y, q.z, q.w] },
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const message = new Uint8Array(8 + text.length + color.byteLength + depth.values.byteLength);
  const lengths = new DataView(message.buffer);
  lengths.setUint32(0, text.length, true);
  lengths.setUint32(4, color.byteLength, true);
  message.set(text, 8);
  message.set(new Uint8Array(color), 8 + text.length);
  message.set(new Uint8Array(depth.values.buffer), 8 + text.length + color.byteLength);
  if (socket.readyState !== WebSocket.OPEN) return leaveOut("not connected");
  socket.send(message);
  say("sent", ++counts.sent);
}

// Depth in millimetres on a grid that covers the image; the phone's own buffer may lie on its side.
function millimetres(measured, format, aspect) {
  const raw = format === "float32" ? new Float32Array(measured.data) : new Uint16Array(measured.data);
  const width = Math.round(aspect >= 1 ? DEPTH_SIDE : DEPTH_SIDE * aspect);
  const height = Math.round(aspect >= 1 ? DEPTH_SIDE / aspect : DEPTH_SIDE);
  const to = measured.normDepthBufferFromNormView.matrix;
  const values = new Uint16Array(width * height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const x = (column + 0.5) / width;
      const y = (row + 0.5) / height;
      const u = Math.floor((to[0] * x + to[4] * y + to[12]) * measured.width);
      const v = Math.floor((to[1] * x + to[5] * y + to[13]) * measured.height);
      if (u < 0 || v < 0 || u >= measured.width || v >= measured.height) continue;
      const metres = raw[v * measured.width + u] * measured.rawValueToMeters;
      // 0 is "nothing measured", also for what does not fit into two bytes
      values[row * width + column] = metres > 0 && metres < 65 ? Math.round(1000 * metres) : 0;
    }
  }
  return { width, height, values };
}

// Reads the camera's texture, made smaller by the GPU.
class Camera {
  constructor(gl, binding) {
    this.gl = gl;
    this.binding = binding;
    this.program = this.link(
      "#version 300 es\nout vec2 at; void main() { at = vec2(gl_VertexID & 1, gl_VertexID >> 1);" +
        " gl_Position = vec4(2.0 * at - 1.0, 0.0, 1.0); }",
      "#version 300 es\nprecision highp float; uniform sampler2D image; in vec2 at; out vec4 color;" +
        " void main() { color = texture(image, at); }",
    );
    this.target = gl.createFramebuffer();
    this.canvas = document.createElement("canvas");
  }

  link(vertex, fragment) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    return program;
  }

  resize(width, height) {
    const { gl } = this;
    this.canvas.width = width;
    this.canvas.height = height;
    this.pixels = new Uint8Array(4 * width * height);
    this.small = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.small);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.small, 0);
  }

  read(camera) {
    const { gl } = this;
    const scale = Math.min(1, LONGER_SIDE / Math.max(camera.width, camera.height));
    const [width, height] = [Math.round(camera.width * scale), Math.round(camera.height * scale)];
    if (this.canvas.width !== width || this.canvas.height !== height || !this.pixels) this.resize(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, width, height);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.useProgram(this.program);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.binding.getCameraImage(camera));
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    for (const axis of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, axis, gl.CLAMP_TO_EDGE);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, this.pixels);
    // the first row of OpenGL is the lowest one
    const image = new ImageData(width, height);
    for (let row = 0; row < height; row++)
      image.data.set(this.pixels.subarray(4 * width * (height - 1 - row), 4 * width * (height - row)), 4 * width * row);
    this.canvas.getContext("2d").putImageData(image, 0, 0);
    const jpeg = () =>
      new Promise((done) => this.canvas.toBlob((blob) => done(blob.arrayBuffer()), "image/jpeg", QUALITY));
    return { width, height, jpeg };
  }
}

shown("begin").addEventListener("click", begin);
look();
