// The constants of the accelerators by their dotted paths.
const KNOWN = new WeakMap();

// {value, low, high, unit, source, confidence} or undefined
export function constantOf(data, accelerator, path) {
  if (!KNOWN.has(data)) {
    const { rows, columns } = data.tables.constants;
    const text = (name, i) => columns[name].words[columns[name].codes[i]];
    const found = new Map();
    for (let i = 0; i < rows; i += 1) {
      found.set(`${text("accelerator", i)}\n${text("path", i)}`, {
        value: columns.value[i], low: columns.low[i], high: columns.high[i], unit: text("unit", i),
        source: text("source", i), confidence: text("confidence", i),
      });
    }
    KNOWN.set(data, found);
  }
  return KNOWN.get(data).get(`${accelerator}\n${path}`);
}
