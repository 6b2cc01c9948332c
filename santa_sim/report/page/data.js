// The tables of the page, and the questions that figures ask of them. Nothing here changes.
export const FACETS = [
  { name: "folder", label: "Run" },
  { name: "attention", label: "Attention", one: "kind of attention", many: "kinds of attention" },
  { name: "context", label: "Context", unit: "tokens", number: true },
  { name: "batch", label: "Batch", number: true },
  { name: "accelerator", label: "Accelerator" },
  { name: "method", label: "Method" },
  { name: "samples", label: "S", column: "samples_requested", number: true },
];

export const NO_SAMPLES = "none";
const UNKNOWN = -2;

export class Data {
  constructor({ facts, tables }) {
    this.facts = facts;
    this.tables = tables;
    this.points = tables.points.columns;
    this.rows = tables.points.rows;
    this.facets = Object.fromEntries(FACETS.map((facet) => [facet.name, this.facet(facet)]));
    this.starts = {};
    this.index = null;
    this.counterparts = new Map();
  }

  // {codes: one per row, values: their texts in order}
  facet({ name, column = name, number }) {
    if (!this.points[column]) return { codes: new Uint8Array(this.rows), values: [""] };
    if (this.facts.facets) return this.knownFacet(column, this.facts.facets[name]);
    const values = this.points[column];
    if (!number) return { codes: values.codes, values: values.words };
    const sorted = [...new Set(values)].sort((a, b) => (a - b) || (Number.isNaN(a) ? -1 : 1));
    const distinct = [...new Set(sorted.map((v) => (Number.isNaN(v) ? NO_SAMPLES : String(v))))];
    const code = new Map(distinct.map((v, i) => [v, i]));
    const codes = Uint16Array.from(values, (v) => code.get(Number.isNaN(v) ? NO_SAMPLES : String(v)));
    return { codes, values: distinct };
  }

  // of a page that holds a part of the points: the values of all of them
  knownFacet(column, values) {
    const code = new Map(values.map((value, i) => [value, i]));
    const { codes, words } = this.points[column];
    const text = (i) => (codes ? words[codes[i]] : Number.isNaN(this.points[column][i]) ? NO_SAMPLES : String(this.points[column][i]));
    return { codes: Uint16Array.from({ length: this.rows }, (_, i) => code.get(text(i))), values };
  }

  // what stays the same when a page gets other rows
  idOf(row) {
    return this.points.id ? this.points.id[row] : row;
  }

  rowOf(id) {
    return this.points.id ? this.points.id.indexOf(id) : id < this.rows ? id : -1;
  }

  text(column, row) {
    const { codes, words } = this.points[column];
    return words[codes[row]];
  }

  title(accelerator) {
    return this.facts.titles[accelerator] ?? accelerator;
  }

  // the rows of a detail table that belong to a row of the points, as [from, to)
  range(table, row) {
    if (!this.starts[table]) {
      const starts = new Uint32Array(this.rows + 1);
      for (const of of this.tables[table].columns.row) starts[of + 1] += 1;
      for (let i = 0; i < this.rows; i += 1) starts[i + 1] += starts[i];
      this.starts[table] = starts;
    }
    return [this.starts[table][row], this.starts[table][row + 1]];
  }

  // sums of `value` by what `key` makes of an index into the table; key may return null
  sums(table, row, key, value) {
    const found = new Map();
    const [from, to] = this.range(table, row);
    for (let i = from; i < to; i += 1) {
      const k = key(i);
      if (k !== null) found.set(k, (found.get(k) ?? 0) + value[i]);
    }
    return found;
  }

  // the row of `method` with all else equal; on the machine's reference where it does not run
  counterpart(row, method) {
    if (!this.counterparts.has(method)) this.counterparts.set(method, new Int32Array(this.rows).fill(UNKNOWN));
    const known = this.counterparts.get(method);
    if (known[row] === UNKNOWN) known[row] = this.findCounterpart(row, method);
    return known[row];
  }

  findCounterpart(row, method) {
    const { accelerator, method: methods, case: cases } = this.points;
    const key = (of, machine, name) => (of * accelerator.words.length + machine) * methods.words.length + name;
    this.index ??= new Map(Array.from({ length: this.rows }, (_, i) => [
      key(cases[i], accelerator.codes[i], methods.codes[i]), i,
    ]));
    const machine = this.text("accelerator", row);
    const name = methods.words.indexOf(method);
    for (const where of [machine, this.facts.references[machine]]) {
      const place = accelerator.words.indexOf(where);
      const found = name < 0 || place < 0 ? undefined : this.index.get(key(cases[row], place, name));
      if (found !== undefined && this.points.fits[found]) return found;
    }
    return -1;
  }
}
