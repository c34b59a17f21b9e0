// A grid over points, to find the one under the pointer: a counting sort into square cells.

const CELLS = 256;
const FULL = 65_536;

export class Grid {
  // `points`: x, y, x, y, ... from 0 to 65,535.
  constructor(points) {
    this.points = points;
    const count = points.length / 2;
    this.starts = new Uint32Array(CELLS * CELLS + 1);
    const cells = new Uint32Array(count);
    for (let row = 0; row < count; row++) {
      cells[row] = cellOf(points[2 * row]) + CELLS * cellOf(points[2 * row + 1]);
      this.starts[cells[row] + 1]++;
    }
    for (let cell = 0; cell < CELLS * CELLS; cell++) this.starts[cell + 1] += this.starts[cell];
    const next = this.starts.slice();
    this.rows = new Uint32Array(count);
    for (let row = 0; row < count; row++) this.rows[next[cells[row]]++] = row;
  }

  // The nearest row within a distance for which `passes(row)` holds; -1 where there is none.
  nearest(x, y, distance, passes) {
    let best = -1;
    let least = distance * distance;
    const [left, right, top, bottom] = [x - distance, x + distance, y - distance, y + distance].map(cellOf);
    for (let j = top; j <= bottom; j++) {
      for (let at = this.starts[left + CELLS * j]; at < this.starts[right + CELLS * j + 1]; at++) {
        const row = this.rows[at];
        const dx = this.points[2 * row] - x;
        const dy = this.points[2 * row + 1] - y;
        const square = dx * dx + dy * dy;
        if (square < least && passes(row)) [best, least] = [row, square];
      }
    }
    return best;
  }
}

function cellOf(value) {
  return Math.max(0, Math.min(CELLS - 1, Math.floor((value * CELLS) / FULL)));
}
