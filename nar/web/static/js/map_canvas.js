// The map itself: points written as pixels, a view that zooms and moves, and what lights up above.
// Pixels are set one by one in memory: a quarter of a million points take about 5 ms, as
// benchmark/speed/page.py measures.

import { Grid } from "./grid.js";

const FULL = 65_536;
const REACH_PX = 10;
const STEP = 1.6;
const CLOSEST = 400;
// Around a query at least so much is shown, for it is its surroundings that tell.
const CONTEXT = 2_600;

export class MapCanvas {
  // `hovered(row)` and `picked(row)` are called; a row of -1 is none.
  constructor(canvas, points, { hovered, picked }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.points = points;
    this.grid = new Grid(points);
    this.colours = new Uint32Array(points.length / 2);
    this.shown = new Uint8Array(points.length / 2).fill(1);
    this.marks = { rows: [], centre: null };
    this.view = { x: FULL / 2, y: FULL / 2, zoom: 1 };
    this.hover = -1;
    this.told = { hovered, picked };
    this.pending = 0;
    this.frames = [];
    listen(this);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.paint();
  }

  // Pixels for one step of the coordinates.
  get scale() {
    return (0.96 * Math.min(this.canvas.width, this.canvas.height) * this.view.zoom) / FULL;
  }

  toScreen(x, y) {
    const scale = this.scale;
    return [(x - this.view.x) * scale + this.canvas.width / 2, (y - this.view.y) * scale + this.canvas.height / 2];
  }

  toMap(left, top) {
    const scale = this.scale;
    return [(left - this.canvas.width / 2) / scale + this.view.x, (top - this.canvas.height / 2) / scale + this.view.y];
  }

  paint() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      const began = performance.now();
      this.draw();
      this.frames = [...this.frames.slice(-59), performance.now() - began];
    });
  }

  draw() {
    if (!this.pixels) return;
    const style = getComputedStyle(this.canvas);
    this.pixels.fill(packed(style.getPropertyValue("--map")));
    const size = this.pointSize();
    this.dots(size, 0);
    this.dots(size, 1);
    this.context.putImageData(this.image, 0, 0);
    this.drawMarks(style);
  }

  pointSize() {
    const ratio = devicePixelRatio || 1;
    const base = this.shown.length > 60_000 ? 1.4 : 2.8;
    return Math.max(1, Math.round(Math.min(7, base * ratio * Math.sqrt(Math.sqrt(this.view.zoom)) * 1.05)));
  }

  // Points that are hidden are drawn first, as a faint ground; then those that are shown.
  dots(size, shown) {
    const { width, height } = this.canvas;
    const { points, pixels, colours, shown: isShown } = this;
    const scale = this.scale;
    const left = width / 2 - this.view.x * scale - (size - 1) / 2;
    const top = height / 2 - this.view.y * scale - (size - 1) / 2;
    const faint = packed(getComputedStyle(this.canvas).getPropertyValue("--map-faint"));
    for (let row = 0; row < colours.length; row++) {
      if (isShown[row] !== shown) continue;
      const x = (points[2 * row] * scale + left) | 0;
      const y = (points[2 * row + 1] * scale + top) | 0;
      if (x < 0 || y < 0 || x + size > width || y + size > height) continue;
      const colour = shown ? colours[row] : faint;
      for (let j = 0, start = y * width + x; j < size; j++, start += width) {
        // Corners stay free where a point is large enough to be round.
        const inset = size > 2 && (j === 0 || j === size - 1) ? 1 : 0;
        for (let at = start + inset; at < start + size - inset; at++) pixels[at] = colour;
      }
    }
  }

  drawMarks(style) {
    const { context } = this;
    const ratio = devicePixelRatio || 1;
    const accent = style.getPropertyValue("--accent");
    context.strokeStyle = accent;
    context.lineWidth = ratio;
    const centre = this.marks.centre && this.toScreen(...this.marks.centre);
    for (const row of this.marks.rows) {
      const [x, y] = this.at(row);
      if (centre) {
        context.globalAlpha = 0.35;
        line(context, ...centre, x, y);
        context.globalAlpha = 1;
      }
      ring(context, x, y, 4.5 * ratio);
    }
    if (centre) {
      context.fillStyle = accent;
      context.beginPath();
      context.arc(...centre, 5.5 * ratio, 0, 2 * Math.PI);
      context.fill();
      context.lineWidth = 2 * ratio;
      ring(context, ...centre, 10 * ratio);
    }
    if (this.hover >= 0) {
      context.strokeStyle = style.getPropertyValue("--ink");
      context.lineWidth = 1.5 * ratio;
      ring(context, ...this.at(this.hover), 6 * ratio);
    }
  }

  at(row) {
    return this.toScreen(this.points[2 * row], this.points[2 * row + 1]);
  }

  rowAt(event) {
    const ratio = devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = this.toMap((event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio);
    return this.grid.nearest(x, y, (REACH_PX * ratio) / this.scale, (row) => this.shown[row] === 1);
  }

  zoomBy(factor, left = this.canvas.width / 2, top = this.canvas.height / 2) {
    const [x, y] = this.toMap(left, top);
    this.view.zoom = Math.max(0.8, Math.min(CLOSEST, this.view.zoom * factor));
    const [nowX, nowY] = this.toMap(left, top);
    this.view.x += x - nowX;
    this.view.y += y - nowY;
    this.paint();
  }

  moveBy(left, top) {
    this.view.x -= left / this.scale;
    this.view.y -= top / this.scale;
    this.paint();
  }

  // Rows whose points the view shows.
  inSight() {
    const { width, height } = this.canvas;
    const [left, top] = this.toMap(0, 0);
    const [right, bottom] = this.toMap(width, height);
    const rows = [];
    for (let row = 0; row < this.colours.length; row++) {
      const x = this.points[2 * row];
      const y = this.points[2 * row + 1];
      if (x >= left && x <= right && y >= top && y <= bottom) rows.push(row);
    }
    return rows;
  }

  // Show some rows, and what lies between them.
  frame(rows, centre) {
    this.marks = { rows, centre };
    const all = [...rows.map((row) => [this.points[2 * row], this.points[2 * row + 1]]), ...(centre ? [centre] : [])];
    if (!all.length) return this.paint();
    const [x, y] = centre ?? all[0];
    const far = all.map((point) => Math.max(Math.abs(point[0] - x), Math.abs(point[1] - y))).sort((a, b) => a - b);
    const reach = Math.max(CONTEXT, far[Math.floor(0.8 * (far.length - 1))]);
    this.view = { x, y, zoom: Math.max(1, Math.min(CLOSEST, (0.3 * FULL) / reach)) };
    this.paint();
  }

  reset() {
    this.view = { x: FULL / 2, y: FULL / 2, zoom: 1 };
    this.paint();
  }

  lookAt(row) {
    this.hover = row;
    this.paint();
  }
}

function listen(map) {
  const { canvas } = map;
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const ratio = devicePixelRatio || 1;
    map.zoomBy(1.0016 ** -event.deltaY, event.offsetX * ratio, event.offsetY * ratio);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const row = map.rowAt(event);
      if (row !== map.hover) {
        map.lookAt(row);
        map.told.hovered(row, event);
      }
      return;
    }
    drag(map, pointers, before, event);
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    pointers.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      pointers.delete(event.pointerId);
      const row = map.rowAt(event);
      if (name === "pointerup" && moved < 5 && row >= 0) map.told.picked(row);
    });
  }
  canvas.addEventListener("pointerleave", () => {
    map.lookAt(-1);
    map.told.hovered(-1);
  });
  canvas.addEventListener("keydown", (event) => {
    const far = 60 * (devicePixelRatio || 1);
    const keys = {
      "+": () => map.zoomBy(STEP), "=": () => map.zoomBy(STEP), "-": () => map.zoomBy(1 / STEP), 0: () => map.reset(),
      ArrowLeft: () => map.moveBy(far, 0), ArrowRight: () => map.moveBy(-far, 0),
      ArrowUp: () => map.moveBy(0, far), ArrowDown: () => map.moveBy(0, -far),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}

// One pointer moves the map, two zoom it.
function drag(map, pointers, before, event) {
  const ratio = devicePixelRatio || 1;
  map.moveBy(((event.clientX - before.clientX) * ratio) / pointers.size, ((event.clientY - before.clientY) * ratio) / pointers.size);
  const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
  if (!other) return;
  const gap = (each) => Math.hypot(each.clientX - other.clientX, each.clientY - other.clientY);
  const box = map.canvas.getBoundingClientRect();
  const middle = [(event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top];
  if (gap(before) > 0) map.zoomBy(gap(event) / gap(before), middle[0] * ratio, middle[1] * ratio);
}

// "#rrggbb" as a pixel of a little-endian machine.
export function packed(colour) {
  const number = parseInt(colour.trim().slice(1), 16);
  return (0xff000000 | ((number & 0xff) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
}

function ring(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function line(context, x, y, toX, toY) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}
