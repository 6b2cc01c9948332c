// Fewer points where they hide each other: of those in one cell of a grid, the first is drawn.
const MOST = 1500;

export function thinned(rows, x, y) {
  if (rows.length <= MOST) return rows;
  const range = (of) => rows.reduce(([a, b], r) => [Math.min(a, of(r)), Math.max(b, of(r))], [Infinity, -Infinity]);
  const [[x0, x1], [y0, y1]] = [range(x), range(y)];
  for (let cells = 160; ; cells = Math.floor(cells * 0.8)) {
    const seen = new Map();
    for (const row of rows) {
      const column = Math.floor((cells * (x(row) - x0)) / (x1 - x0 || 1));
      const line = Math.floor((cells * 0.5 * (y(row) - y0)) / (y1 - y0 || 1));
      const key = column * 1024 + line;
      if (!seen.has(key)) seen.set(key, row);
    }
    if (seen.size <= MOST || cells < 10) return [...seen.values()];
  }
}
