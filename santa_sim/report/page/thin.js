// Fewer points where they hide each other: of those in one cell of a grid, the first is drawn.
const MOST = 500;

export function thinned(rows, x, y, most = MOST) {
  if (rows.length <= most) return rows;
  const [xs, ys] = [rows.map(x), rows.map(y)];
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const [[x0, x1], [y0, y1]] = [range(xs), range(ys)];
  for (let cells = 160; ; cells = Math.floor(cells * 0.7)) {
    const seen = new Map();
    rows.forEach((row, i) => {
      const column = Math.floor((cells * (xs[i] - x0)) / (x1 - x0 || 1));
      const line = Math.floor((cells * 0.5 * (ys[i] - y0)) / (y1 - y0 || 1));
      const key = column * 1024 + line;
      if (!seen.has(key)) seen.set(key, row);
    });
    if (seen.size <= most || cells < 10) return [...seen.values()];
  }
}
