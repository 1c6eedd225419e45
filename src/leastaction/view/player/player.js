"use strict";
// Plays a scene: reads it from the page, moves the bodies, and answers to the mouse, the keys and the buttons.

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

async function unpack(text) {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

class Player {
  constructor(scene, buffer) {
    this.scene = scene;
    this.data = (ref) => new { f: Float32Array, u: Uint32Array, b: Int8Array }[ref.type](buffer, ref.start, ref.count);
    this.renderer = new Renderer($("view"));
    this.meshes = scene.meshes.map((m) => this.renderer.mesh(this.data(m.vertices), this.data(m.normals), this.data(m.faces)));
    this.t = this.data(scene.t);
    this.actors = scene.actors.map((a) => ({
      ...a, poses: this.data(a.poses), traces: a.traces.map((x) => this.data(x)),
      points: a.points && this.data(a.points), forces: a.forces && this.data(a.forces),
    }));
    this.curves = scene.panels.map((panel) => ({ ...panel, values: this.data(panel.values) }));
    this.frames = this.t.length;
    this.time = this.t[0];
    this.speed = 1;
    this.playing = this.frames > 1;
    this.drawn = 0;
    this.on = { axes: false, contacts: false, forces: true, traces: true, follow: scene.follow, side: scene.side, plots: true };
    this.resetCamera();
    this.makeControls();
    this.makePanels();
    new ResizeObserver(() => this.resize()).observe($("stage"));
    this.resize();
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  get duration() { return this.t[this.frames - 1] - this.t[0]; }

  // The frame before the time, and how far it is from there to the next, 0 to 1.
  get place() {
    let low = 0, high = this.frames - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.t[middle] <= this.time) low = middle; else high = middle;
    }
    if (this.frames === 1) return [0, 0];
    if (this.time >= this.t[high]) return [high, 0];
    return [low, Math.max(0, (this.time - this.t[low]) / (this.t[high] - this.t[low]))];
  }

  get frame() { const [k, s] = this.place; return s < 0.5 ? k : k + 1; }

  seek(time) {
    this.time = Math.min(Math.max(time, this.t[0]), this.t[this.frames - 1]);
    this.dirty = true;
  }

  step(count) {
    this.setPlaying(false);
    this.seek(this.t[Math.min(Math.max(this.frame + count, 0), this.frames - 1)]);
  }

  setPlaying(playing) {
    if (playing && this.time >= this.t[this.frames - 1]) this.time = this.t[0];
    this.playing = playing && this.frames > 1;
    $("play").textContent = this.playing ? "❚❚" : "▶";
    this.dirty = true;
  }

  tick(now) {
    const passed = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    if (this.playing) {
      this.time += passed * this.speed;
      if (this.time > this.t[this.frames - 1]) this.time = this.t[0];
      this.dirty = true;
    }
    if (this.dirty) this.draw();
    requestAnimationFrame((next) => this.tick(next));
  }

  // Pose of a body between two frames: position on a line, quaternion on the shorter arc.
  pose(actor, body, [k, s]) {
    const count = actor.bodies, index = body < 0 ? count - 1 : body, p = actor.poses;
    const a = 7 * (k * count + index), b = s > 0 ? a + 7 * count : a;
    const shift = this.on.side ? actor.offset : [0, 0, 0];
    const position = [0, 1, 2].map((i) => p[a + i] + s * (p[b + i] - p[a + i]) + shift[i]);
    let sign = 0;
    for (let i = 3; i < 7; i++) sign += p[a + i] * p[b + i];
    sign = sign < 0 ? -1 : 1;
    const q = [3, 4, 5, 6].map((i) => (1 - s) * p[a + i] + s * sign * p[b + i]);
    const norm = Math.hypot(...q);
    return { position, turn: q.map((x) => x / norm) };
  }

  draw() {
    this.dirty = false;
    const place = this.place, bodies = [], tubes = [], scene = this.scene;
    const hidden = new Set([...(this.on.axes ? [] : ["axis"]), ...(this.on.contacts ? [] : ["contact"])]);
    for (const actor of this.actors) {
      const poses = new Map();
      const pose = (body) => {
        if (!poses.has(body)) poses.set(body, this.pose(actor, body, place));
        return poses.get(body);
      };
      for (const part of actor.parts) {
        if (hidden.has(part.role)) continue;
        const color = [...part.color.slice(0, 3), part.color[3] * actor.opacity];
        bodies.push({ mesh: this.meshes[part.mesh], color, ...pose(part.body) });
      }
      const world = ([body, point]) => vec.add(pose(body).position, vec.turn(pose(body).turn, point));
      for (const path of actor.paths) {
        let points = path.points.map(world);
        if (path.kind === "spring") points = coil(points[0], points[1], 4 * path.radius);
        if (path.bends.length) points = bent(points, path.bends, world, (body, axis) => vec.turn(pose(body).turn, axis));
        chain(tubes, points, path.radius, path.color);
      }
      const shift = this.on.side ? actor.offset : [0, 0, 0];
      if (this.on.traces) for (const trace of actor.traces) {
        const points = [];
        for (let k = 0; k <= place[0]; k++) points.push([0, 1, 2].map((i) => trace[3 * k + i] + shift[i]));
        chain(tubes, points, 0.0034 * scene.size, actor.color);
      }
      if (this.on.forces && actor.forces) this.arrows(tubes, actor, this.frame, shift);
    }
    this.moveCamera(place);
    this.renderer.draw({
      bodies, tubes, camera: this.view, light: scene.light, floor: scene.floor, cell: scene.cell,
      center: this.camera.target, radius: this.reach, reach: 2.2 * this.camera.distance,
    });
    $("scrub").value = this.frame;
    $("clock").textContent = `${(this.time - 0).toFixed(2)} / ${this.t[this.frames - 1].toFixed(2)} s`;
    for (const panel of this.curves) this.drawPanel(panel);
    this.drawn += 1;
  }

  arrows(tubes, actor, frame, shift) {
    const scene = this.scene, color = scene.forceColor, radius = 0.008 * scene.size;
    for (let k = 0; k < actor.contacts; k++) {
      const at = 3 * (frame * actor.contacts + k);
      const start = [0, 1, 2].map((i) => actor.points[at + i] + shift[i]);
      const v = [0, 1, 2].map((i) => actor.forces[at + i] * scene.forceScale), length = Math.hypot(...v);
      if (length < 0.01 * scene.size) continue;
      const neck = vec.add(start, vec.scale(v, 1 - Math.min(0.06 * scene.size / length, 0.5)));
      tubes.push(...start, radius, ...neck, radius, ...color, ...neck, 2.6 * radius, ...vec.add(start, v), 0, ...color);
    }
  }

  // ---------------------------------------------------------------- camera

  resetCamera() {
    this.camera = { ...this.scene.camera, target: [...this.scene.camera.target] };
    this.followed = this.focus([0, 0]);
    this.reach = this.scene.reach;
    this.dirty = true;
  }

  focus(place) {
    const actor = this.actors[0], n = actor.bodies - 1;
    let sum = [0, 0, 0];
    for (let b = 0; b < n; b++) sum = vec.add(sum, this.pose(actor, b, place).position);
    return vec.scale(sum, 1 / Math.max(n, 1));
  }

  moveCamera(place) {
    const c = this.camera;
    if (this.on.follow) {
      const now = this.focus(place);
      c.target = vec.add(c.target, vec.add(now, vec.scale(this.followed, -1)));
      this.followed = now;
    }
    const [ca, sa, ce, se] = [Math.cos(c.azimuth), Math.sin(c.azimuth), Math.cos(c.elevation), Math.sin(c.elevation)];
    const right = [-sa, ca, 0], up = [-se * ca, -se * sa, ce], back = [ce * ca, ce * sa, se];
    const eye = vec.add(c.target, vec.scale(back, c.distance)), canvas = $("view");
    // A tall, narrow picture must not cut off what a wide one shows.
    const aspect = canvas.width / canvas.height;
    const opening = 2 * Math.atan(Math.tan(c.opening / 2) * Math.max(1, 1.4 / aspect));
    const projection = mat.perspective(opening, aspect, 0.01 * c.distance, 200 * c.distance);
    this.view = {
      eye, right, up, matrix: mat.times(projection, mat.look(eye, right, up, back)),
      inverse: mat.inverseView(projection, eye, right, up, back),
    };
  }

  orbit(dx, dy) {
    this.camera.azimuth -= 0.008 * dx;
    this.camera.elevation = Math.min(Math.max(this.camera.elevation + 0.008 * dy, -1.5), 1.5);
    this.dirty = true;
  }

  pan(dx, dy) {
    const scale = 1.2 * this.camera.distance * Math.tan(this.camera.opening / 2) * 2 / $("view").clientHeight;
    this.camera.target = vec.add(this.camera.target,
      vec.add(vec.scale(this.view.right, -dx * scale), vec.scale(this.view.up, dy * scale)));
    this.dirty = true;
  }

  zoom(factor) {
    this.camera.distance *= factor;
    this.dirty = true;
  }

  // ---------------------------------------------------------------- controls

  makeControls() {
    const scrub = $("scrub"), speed = $("speed");
    scrub.max = this.frames - 1;
    scrub.addEventListener("input", () => { this.setPlaying(false); this.seek(this.t[Number(scrub.value)]); });
    $("play").addEventListener("click", () => this.setPlaying(!this.playing));
    for (const s of SPEEDS) speed.add(new Option(`${s}×`, s, s === 1, s === 1));
    speed.addEventListener("change", () => { this.speed = Number(speed.value); });
    const some = (test) => this.actors.some(test);
    const switches = {
      axes: some((a) => a.parts.some((p) => p.role === "axis")),
      contacts: some((a) => a.parts.some((p) => p.role === "contact")),
      forces: some((a) => a.forces), traces: some((a) => a.traces.length), follow: this.frames > 1,
      side: this.actors.length > 1, plots: this.curves.length > 0,
    };
    const titles = { axes: "joint axes", side: "side by side" };
    for (const [name, there] of Object.entries(switches)) if (there) {
      const button = document.createElement("button");
      button.id = `switch-${name}`;
      button.textContent = titles[name] || name;
      button.setAttribute("aria-pressed", this.on[name]);
      button.addEventListener("click", () => this.toggle(name));
      $("switches").append(button);
    }
    const reset = document.createElement("button");
    reset.textContent = "reset view";
    reset.addEventListener("click", () => this.resetCamera());
    $("switches").append(reset);
    if (this.frames === 1) for (const id of ["play", "scrub", "clock", "speed"]) $(id).hidden = true;
    if (this.actors.length > 1) for (const actor of this.actors) $("legend").append(key("div", actor.label, actor.color));
    this.setPlaying(this.playing);
    this.listen($("view"));
  }

  toggle(name) {
    this.on[name] = !this.on[name];
    $(`switch-${name}`).setAttribute("aria-pressed", this.on[name]);
    if (name === "follow") this.followed = this.focus(this.place);
    if (name === "plots") { $("panels").classList.toggle("closed", !this.on.plots); this.resize(); }
    this.dirty = true;
  }

  listen(canvas) {
    const held = new Map();
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.focus();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) return;
      const [x, y] = held.get(event.pointerId), dx = event.clientX - x, dy = event.clientY - y;
      const others = [...held].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      if (others.length) { // two fingers: pinch and move
        const before = Math.hypot(x - others[0][0], y - others[0][1]);
        const after = Math.hypot(event.clientX - others[0][0], event.clientY - others[0][1]);
        this.zoom(Math.max(before, 1) / Math.max(after, 1));
        this.pan(dx / 2, dy / 2);
      } else if (event.buttons & 2 || event.buttons & 4 || event.shiftKey) this.pan(dx, dy);
      else this.orbit(dx, dy);
      held.set(event.pointerId, [event.clientX, event.clientY]);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => held.delete(e.pointerId));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(0.0012 * event.deltaY));
    }, { passive: false });
    addEventListener("keydown", (event) => {
      if (/^(INPUT|SELECT|BUTTON)$/.test(event.target.tagName)) return;
      const act = {
        " ": () => this.setPlaying(!this.playing), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1),
        Home: () => this.step(-this.frames), End: () => this.step(this.frames), r: () => this.resetCamera(),
      }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }

  resize() {
    const canvas = $("view"), ratio = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    this.draw();
  }

  // ---------------------------------------------------------------- plots

  makePanels() {
    for (const panel of this.curves) {
      const title = document.createElement("h2"), legend = document.createElement("div");
      title.textContent = panel.title;
      panel.canvas = document.createElement("canvas");
      legend.className = "key";
      panel.labels.forEach((label, k) => legend.append(key("span", label, panel.colors[k])));
      $("panels").append(title, panel.canvas, legend);
      const seek = (event) => {
        if (!event.buttons) return;
        const box = panel.canvas.getBoundingClientRect();
        const s = (event.clientX - box.left - 52) / (box.width - 60);
        this.seek(this.t[0] + s * this.duration);
      };
      panel.canvas.addEventListener("pointerdown", seek);
      panel.canvas.addEventListener("pointermove", seek);
    }
  }

  drawPanel(panel) {
    const canvas = panel.canvas, ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w || !h) return;
    if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const g = canvas.getContext("2d"), n = panel.labels.length, [left, right, top, bottom] = [52, w - 8, 8, h - 20];
    if (!panel.range) {
      let low = Infinity, high = -Infinity;
      for (const x of panel.values) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
      if (!(low < high)) { const m = Number.isFinite(low) ? low : 0; low = m - 0.5 * (Math.abs(m) || 1); high = m + 0.5 * (Math.abs(m) || 1); }
      panel.range = [low - 0.05 * (high - low), high + 0.05 * (high - low)];
    }
    const [low, high] = panel.range, duration = this.duration || 1;
    const x = (t) => left + (right - left) * (t - this.t[0]) / duration;
    const y = (v) => bottom - (bottom - top) * (v - low) / (high - low);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = "10.5px system-ui, sans-serif";
    g.strokeStyle = "#e3e8ec"; g.fillStyle = "#5b6670"; g.lineWidth = 1;
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const v of ticks(low, high, 5)) {
      g.beginPath(); g.moveTo(left, y(v)); g.lineTo(right, y(v)); g.stroke();
      g.fillText(number(v), left - 5, y(v));
    }
    g.textAlign = "center"; g.textBaseline = "top";
    for (const v of ticks(this.t[0], this.t[0] + duration, 5)) g.fillText(`${number(v)} s`, Math.min(x(v), right - 10), bottom + 5);
    g.lineWidth = 1.6; g.lineJoin = "round";
    const stride = Math.max(1, Math.floor(this.frames / 1200));
    for (let k = 0; k < n; k++) {
      g.strokeStyle = css(panel.colors[k]);
      g.beginPath();
      for (let f = 0; f < this.frames; f += stride) g.lineTo(x(this.t[f]), y(panel.values[f * n + k]));
      g.stroke();
    }
    g.strokeStyle = "#20262e"; g.lineWidth = 1;
    g.beginPath(); g.moveTo(x(this.time), top); g.lineTo(x(this.time), bottom); g.stroke();
    for (let k = 0; k < n; k++) {
      g.fillStyle = css(panel.colors[k]);
      g.beginPath(); g.arc(x(this.time), y(panel.values[this.frame * n + k]), 3, 0, 7); g.fill();
    }
  }
}

const css = (c) => `rgb(${c.slice(0, 3).map((x) => Math.round(255 * x)).join(" ")})`;
const number = (v) => (Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(1) : String(Number(v.toPrecision(4))));

function key(tag, label, color) {
  const item = document.createElement(tag), mark = document.createElement("i");
  mark.style.background = css(color);
  item.append(mark, label);
  return item;
}

function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((s) => s * power >= raw) * power, out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) out.push(Math.abs(v) < 1e-9 * step ? 0 : v);
  return out;
}

function chain(tubes, points, radius, color) {
  for (let k = 0; k + 1 < points.length; k++) tubes.push(...points[k], radius, ...points[k + 1], radius, ...color);
}

// A spring between two points: straight ends, a helix between. The same as `coil` in leastaction/view/figure.py.
function coil(a, b, radius, turns = 8) {
  const d = vec.add(b, vec.scale(a, -1)), length = Math.hypot(...d);
  if (length < 1e-9) return [a, b];
  const along = vec.scale(d, 1 / length);
  const u = vec.unit(vec.cross(along, Math.abs(along[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), w = vec.cross(along, u);
  const points = [a], steps = 12 * turns;
  for (let k = 0; k <= steps; k++) {
    const s = k / steps, angle = 2 * Math.PI * turns * s;
    const swell = radius * Math.min(1, Math.min(s, 1 - s) * 4 * turns);
    const ring = vec.add(vec.scale(u, swell * Math.cos(angle)), vec.scale(w, swell * Math.sin(angle)));
    points.push(vec.add(vec.add(a, vec.scale(d, 0.12 + 0.76 * s)), ring));
  }
  return [...points, b];
}

(async () => {
  try {
    const scene = JSON.parse($("scene").textContent);
    window.player = new Player(scene, await unpack($("data").textContent));
  } catch (error) {
    $("message").hidden = false;
    $("message").textContent = `The scene cannot be shown: ${error.message}`;
    console.error(error);
  }
})();
