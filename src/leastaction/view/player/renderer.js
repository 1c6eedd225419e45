"use strict";
// A small WebGL2 renderer: lit triangles, tubes, one lamp with shadows, a floor with a grid. The light is that of
// leastaction/raster/kernels.py, so that pages and films look alike.

const HEAD = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
vec3 linear(vec3 c) { return pow(c, vec3(2.2)); }
vec3 screen(vec3 c) { return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2)); }
vec3 turn(vec4 q, vec3 v) { vec3 t = 2.0 * cross(q.yzw, v); return v + q.x * t + cross(q.yzw, t); }
`;

const LIGHT = `
uniform mat4 uLamp;
uniform vec3 uLight, uEye;
uniform sampler2DShadow uShadow;
float lit(vec3 p) {
  vec3 s = (uLamp * vec4(p, 1.0)).xyz * 0.5 + 0.5;
  if (any(lessThan(s, vec3(0.0))) || any(greaterThan(s, vec3(1.0)))) return 1.0;
  float sum = 0.0, texel = 1.0 / float(textureSize(uShadow, 0).x);
  for (int i = -1; i <= 1; i++) for (int j = -1; j <= 1; j++)
    sum += texture(uShadow, vec3(s.xy + texel * vec2(i, j), s.z - 0.0015));
  return sum / 9.0;
}
vec3 backdrop(float rise) {
  return mix(vec3(0.86, 0.89, 0.92), vec3(0.52, 0.63, 0.76), clamp(2.2 * rise, 0.0, 1.0));
}
`;

const SURFACE = HEAD + LIGHT + `
in vec3 vPoint, vNormal;
in vec4 vColor;
out vec4 color;
void main() {
  vec3 view = normalize(uEye - vPoint), n = normalize(vNormal);
  if (dot(n, view) < 0.0) n = -n;
  float bright = lit(vPoint), sky = 0.5 * n.z + 0.5, lambert = max(dot(n, uLight), 0.0) * bright;
  float shine = 0.22 * pow(max(dot(n, normalize(uLight + view)), 0.0), 36.0) * bright;
  float rim = 0.10 * pow(1.0 - max(dot(n, view), 0.0), 4.0);
  vec3 ambient = vec3(0.26, 0.25, 0.25) + sky * vec3(0.22, 0.25, 0.29) + lambert * vec3(0.80, 0.77, 0.72);
  color = vec4(screen(linear(vColor.rgb) * ambient + shine + rim), vColor.a);
}`;

const NOTHING = HEAD + "void main() {}";

const BODY = HEAD + `
layout(location = 0) in vec3 aPoint;
layout(location = 1) in vec3 aNormal;
uniform mat4 uCamera;
uniform vec3 uPosition;
uniform vec4 uTurn, uColor;
out vec3 vPoint, vNormal;
out vec4 vColor;
void main() {
  vPoint = uPosition + turn(uTurn, aPoint);
  vNormal = turn(uTurn, aNormal);
  vColor = uColor;
  gl_Position = uCamera * vec4(vPoint, 1.0);
}`;

const TUBE = HEAD + `
layout(location = 0) in vec3 aPoint;
layout(location = 2) in vec4 aStart;
layout(location = 3) in vec4 aEnd;
layout(location = 4) in vec4 aColor;
uniform mat4 uCamera;
out vec3 vPoint, vNormal;
out vec4 vColor;
void main() {
  vec3 along = aEnd.xyz - aStart.xyz;
  along = length(along) > 1e-9 ? normalize(along) : vec3(1.0, 0.0, 0.0);
  vec3 u = normalize(cross(along, abs(along.z) < 0.9 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0)));
  vNormal = aPoint.x * u + aPoint.y * cross(along, u);
  vPoint = mix(aStart.xyz, aEnd.xyz, aPoint.z) + mix(aStart.w, aEnd.w, aPoint.z) * vNormal;
  vColor = aColor;
  gl_Position = uCamera * vec4(vPoint, 1.0);
}`;

const SHEET = HEAD + `
uniform mat4 uInverse;
out vec3 vFar;
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  vec4 far = uInverse * vec4(corner, 1.0, 1.0);
  vFar = far.xyz / far.w;
  gl_Position = vec4(corner, 0.999999, 1.0);
}`;

const FLOOR = HEAD + LIGHT + `
in vec3 vFar;
uniform mat4 uCamera;
uniform float uLevel, uCell, uReach;
out vec4 color;
float line(vec2 p, float cell, float halfWidth) {
  vec2 off = abs(p / cell - floor(p / cell + 0.5)) * cell, blur = fwidth(p) + 1e-9;
  vec2 cover = clamp(0.5 + (halfWidth - off) / blur, 0.0, 1.0) * min(vec2(1.0), 2.0 * halfWidth / blur + 0.15);
  return max(cover.x, cover.y);
}
void main() {
  vec3 ray = normalize(vFar - uEye);
  vec3 c = backdrop(ray.z);
  float away = (uLevel - uEye.z) / ray.z;
  vec3 p = uEye + away * ray;
  float grid = max(0.45 * line(p.xy, uCell, 0.006 * uCell), 0.8 * line(p.xy, 5.0 * uCell, 0.012 * uCell));
  gl_FragDepth = 0.9999999;
  if (away > 0.0) {
    float bright = 0.50 + 0.58 * uLight.z * lit(p);
    vec3 own = mix(vec3(0.74, 0.76, 0.78), vec3(0.50, 0.54, 0.58), grid) * vec3(bright, bright, bright + 0.01);
    c = mix(backdrop(0.0), own, exp(-pow(away / uReach, 2.0)));
    vec4 clip = uCamera * vec4(p, 1.0);
    gl_FragDepth = clamp(0.5 * clip.z / clip.w + 0.5, 0.0, 0.9999999);
  }
  color = vec4(screen(c), 1.0);
}`;

const vec = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  scale: (a, s) => [a[0] * s, a[1] * s, a[2] * s],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  unit: (a) => vec.scale(a, 1 / Math.hypot(a[0], a[1], a[2])),
  turn: (q, v) => {
    const u = q.slice(1), t = vec.scale(vec.cross(u, v), 2);
    return vec.add(vec.add(v, vec.scale(t, q[0])), vec.cross(u, t));
  },
};

// Matrices are column-major, as WebGL wants them.
const mat = {
  times(a, b) {
    const c = new Float32Array(16);
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
    return c;
  },
  perspective(opening, aspect, near, far) {
    const f = 1 / Math.tan(opening / 2);
    return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
  },
  orthographic: (r, near, far) => [1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (far + near) / (near - far), 1],
  look(eye, right, up, back) {
    return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -vec.dot(right, eye), -vec.dot(up, eye), -vec.dot(back, eye), 1];
  },
  // Of projection times look: undo the projection, then the rigid motion.
  inverseView(projection, eye, right, up, back) {
    const p = projection, c = new Float32Array(16);
    const unproject = [1 / p[0], 0, 0, 0, 0, 1 / p[5], 0, 0, 0, 0, 0, 1 / p[14], 0, 0, -1, p[10] / p[14]];
    c.set([right[0], right[1], right[2], 0, up[0], up[1], up[2], 0, back[0], back[1], back[2], 0, eye[0], eye[1], eye[2], 1]);
    return mat.times(c, unproject);
  },
};

class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser offers no WebGL 2, which the view needs.");
    this.gl = gl;
    this.canvas = canvas;
    this.programs = {
      body: this.program(BODY, SURFACE), bodyDepth: this.program(BODY, NOTHING),
      tube: this.program(TUBE, SURFACE), tubeDepth: this.program(TUBE, NOTHING), floor: this.program(SHEET, FLOOR),
    };
    this.empty = gl.createVertexArray();
    this.makeShadow(2048);
    this.makeTubes();
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = {};
    const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
    for (let i = 0; i < count; i++) {
      const name = gl.getActiveUniform(program, i).name;
      places[name] = gl.getUniformLocation(program, name);
    }
    return { program, places };
  }

  makeShadow(size) {
    const gl = this.gl;
    this.shadowSize = size;
    this.shadow = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, size, size, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    this.target = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadow, 0);
    gl.drawBuffers([gl.NONE]);
    gl.readBuffer(gl.NONE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  attribute(place, data, size, type, normalized) {
    const gl = this.gl, buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, normalized, 0, 0);
  }

  mesh(vertices, normals, faces) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    this.attribute(0, vertices, 3, gl.FLOAT, false);
    this.attribute(1, normals, 4, gl.BYTE, true);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, count: faces.length };
  }

  makeTubes(sides = 10) {
    const gl = this.gl, corners = [];
    for (let k = 0; k <= sides; k++) for (const z of [0, 1]) {
      const a = 2 * Math.PI * k / sides;
      corners.push(Math.cos(a), Math.sin(a), z);
    }
    this.tubes = { array: gl.createVertexArray(), count: corners.length / 3, buffer: gl.createBuffer() };
    gl.bindVertexArray(this.tubes.array);
    this.attribute(0, new Float32Array(corners), 3, gl.FLOAT, false);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.tubes.buffer);
    for (let k = 0; k < 3; k++) {
      gl.enableVertexAttribArray(2 + k);
      gl.vertexAttribPointer(2 + k, 4, gl.FLOAT, false, 48, 16 * k);
      gl.vertexAttribDivisor(2 + k, 1);
    }
    gl.bindVertexArray(null);
  }

  use(name, camera, settings) {
    const gl = this.gl, { program, places } = this.programs[name];
    gl.useProgram(program);
    if (places.uCamera) gl.uniformMatrix4fv(places.uCamera, false, camera);
    if (places.uLamp) {
      gl.uniformMatrix4fv(places.uLamp, false, settings.lamp);
      gl.uniform3fv(places.uLight, settings.light);
      gl.uniform3fv(places.uEye, settings.eye);
      gl.uniform1i(places.uShadow, 0);
    }
    return places;
  }

  // bodies: {mesh, position, turn, color}; tubes: flat numbers, 12 for each: start, radius, end, radius, color.
  draw({ bodies, tubes, camera, light, center, radius, floor, cell, reach }) {
    const gl = this.gl, back = vec.unit(light);
    const side = vec.unit(vec.cross([0, 0, 1], back)), up = vec.cross(back, side);
    const from = vec.add(center, vec.scale(back, 2 * radius));
    const lamp = mat.times(mat.orthographic(radius, 0.2 * radius, 6 * radius), mat.look(from, side, up, back));
    const settings = { lamp, light: back, eye: camera.eye };
    gl.bindBuffer(gl.ARRAY_BUFFER, this.tubes.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(tubes), gl.DYNAMIC_DRAW);
    const count = tubes.length / 12, solid = bodies.filter((b) => b.color[3] > 0.999);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, this.shadowSize, this.shadowSize);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.drawBodies("bodyDepth", lamp, settings, solid);
    this.drawTubes("tubeDepth", lamp, settings, count);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    const places = this.use("floor", camera.matrix, settings);
    gl.uniformMatrix4fv(places.uInverse, false, camera.inverse);
    gl.uniform1f(places.uLevel, floor);
    gl.uniform1f(places.uCell, cell);
    gl.uniform1f(places.uReach, reach);
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    this.drawBodies("body", camera.matrix, settings, solid);
    this.drawTubes("tube", camera.matrix, settings, count);
    // Of the transparent ones only the front is seen: first their depth, then their colour.
    const glass = bodies.filter((b) => b.color[3] <= 0.999);
    gl.colorMask(false, false, false, false);
    this.drawBodies("bodyDepth", camera.matrix, settings, glass);
    gl.colorMask(true, true, true, true);
    gl.enable(gl.BLEND);
    this.drawBodies("body", camera.matrix, settings, glass);
    gl.disable(gl.BLEND);
    gl.bindVertexArray(null);
  }

  drawBodies(name, matrix, settings, bodies) {
    const gl = this.gl, places = this.use(name, matrix, settings);
    for (const body of bodies) {
      gl.uniform3fv(places.uPosition, body.position);
      gl.uniform4fv(places.uTurn, body.turn);
      if (places.uColor) gl.uniform4fv(places.uColor, body.color);
      gl.bindVertexArray(body.mesh.array);
      gl.drawElements(gl.TRIANGLES, body.mesh.count, gl.UNSIGNED_INT, 0);
    }
  }

  drawTubes(name, matrix, settings, count) {
    const gl = this.gl;
    this.use(name, matrix, settings);
    gl.bindVertexArray(this.tubes.array);
    if (count) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, this.tubes.count, count);
  }
}

// A path with what it goes around between its points. The same as `string` in leastaction/spatial/wrapping.py.
function bent(points, bends, world, turned) {
  const out = [points[0]];
  bends.forEach((bend, k) => {
    if (bend) {
      const centre = world(bend.centre), from = (x) => vec.add(x, vec.scale(centre, -1));
      const axis = bend.axis && turned(...bend.axis), side = bend.side && from(world(bend.side));
      const arc = around(from(points[k]), from(points[k + 1]), axis, bend.radius, side);
      out.push(...arc.map((x) => vec.add(centre, x)));
    }
    out.push(points[k + 1]);
  });
  return out;
}

// Points where a string from a to b lies on a sphere, or on a cylinder about an axis; none where it is straight.
function around(a, b, axis, r, side, count = 25) {
  const across = (x) => (axis ? vec.add(x, vec.scale(axis, -vec.dot(x, axis))) : x), height = (x) => (axis ? vec.dot(x, axis) : 0);
  const p = across(a), q = across(b), ra = Math.hypot(...p), rb = Math.hypot(...q);
  if (ra <= r || rb <= r) return [];
  let m = vec.cross(p, q);
  const sine = Math.hypot(...m);
  m = sine > 1e-12 ? vec.scale(m, 1 / sine) : axis || [0, 0, 1];
  const phi = Math.atan2(sine, vec.dot(p, q)), u = vec.scale(p, 1 / ra), t = vec.cross(m, u);
  const bx = rb * Math.cos(phi), by = rb * Math.sin(phi), dx = bx - ra, dd = dx * dx + by * by;
  const share = dd > 1e-15 ? Math.min(Math.max((-dx * ra) / dd, 0), 1) : 0;
  const cut = Math.hypot(ra + share * dx, share * by) <= r, la = Math.acos(r / ra), lb = Math.acos(r / rb);
  const sx = side ? vec.dot(side, u) : 0, sy = side ? vec.dot(side, t) : 0;
  let first = la, last = phi - lb, before = Math.sqrt(ra * ra - r * r), after = Math.sqrt(rb * rb - r * r);
  if (side && Math.hypot(...side) < r) {
    if (cut) return [];
    const reach = (d, x) => Math.sqrt(d * d + r * r - 2 * d * r * Math.cos(x));
    let low = Math.max(0, phi - lb), high = Math.min(phi, la);
    for (let i = 0; i < 50; i++) {
      const x = 0.5 * (low + high), y = phi - x;
      if ((ra * Math.sin(x)) / reach(ra, x) > (rb * Math.sin(y)) / reach(rb, y)) high = x; else low = x;
    }
    first = last = low;
    before = reach(ra, low);
    after = reach(rb, phi - low);
  } else if (side && sy < 0 && sy * Math.cos(phi) > sx * Math.sin(phi)) {
    first = -la;
    last = phi + lb - 2 * Math.PI;
  } else if (!cut) return [];
  const whole = before + after + r * Math.abs(last - first), za = height(a), zb = height(b), points = [];
  for (let k = 0; k < count; k++) {
    const s = k / (count - 1), x = first + (last - first) * s;
    const on = vec.add(vec.scale(u, r * Math.cos(x)), vec.scale(t, r * Math.sin(x)));
    const z = za + ((zb - za) * (before + r * Math.abs(last - first) * s)) / whole;
    points.push(axis ? vec.add(on, vec.scale(axis, z)) : on);
  }
  return points;
}
