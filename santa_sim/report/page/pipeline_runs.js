// Runs in time: which point is on show, and what the tables say of its runs.
import { rowLabels } from "./rows.js";

const has = (data, row) => {
  const [from, to] = data.range("events", row);
  return to > from;
};

// the points in the filter that ran in time
export function timedRows({ data, rows }) {
  return rows.filter((row) => has(data, row));
}

export function shownRow(view) {
  const rows = timedRows(view);
  const wanted = rows.find((row) => String(row) === view.state.event);
  return wanted ?? rows.find((row) => view.state.picked.includes(row)) ?? rows[0] ?? -1;
}

export const POINT_MENU = {
  key: "event", label: "Point",
  options: (view) => {
    const rows = timedRows(view);
    const names = rowLabels(view.data, rows);
    return [["", "first in the filter"], ...rows.map((row, i) => [String(row), names[i]])];
  },
};

// the rows of a table that belong to a point, as objects; texts are looked up
export function entries(data, table, row) {
  const { columns } = data.tables[table];
  const [from, to] = data.range(table, row);
  return Array.from({ length: to - from }, (_, i) => Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name, column.words ? column.words[column.codes[from + i]] : column[from + i],
    ]),
  ));
}

// the run that the menu names, else the fastest
export function shownRun(view, runs) {
  const fastest = runs.reduce((best, run) => (run.event_time_s < best.event_time_s ? run : best), runs[0]);
  return runs.find(({ run }) => run === view.state.run) ?? fastest;
}

export const RUN_MENU = {
  key: "run", label: "Run",
  options: (view) => {
    const row = shownRow(view);
    const names = row < 0 ? [] : entries(view.data, "events", row).map(({ run }) => [run, run]);
    return [["", "fastest"], ...names];
  },
};
