// What figures measure a point by, absolute or as a share of the baseline.
import { percent, percentSpan, si, span } from "./format.js";

export const COSTS = [["energy", "energy"], ["time", "time"], ["bytes", "bytes moved"]];

export function measure(view, name) {
  const { points } = view.data;
  const { boundary } = view.state;
  const columns = (value, low, high) => ({
    value: points[value], low: points[low], high: points[high],
  });
  if (name === "energy") {
    const stem = `${boundary}_energy`;
    return {
      name, unit: "J", title: `Energy, ${boundary} account`,
      ...columns(`${stem}_j`, `${stem}_low_j`, `${stem}_high_j`),
    };
  }
  if (name === "time") {
    return { name, unit: "s", title: "Time", ...columns("time_s", "time_low_s", "time_high_s") };
  }
  if (name === "error") {
    return {
      name, unit: "", title: "Output error", share: true,
      ...columns("rel_error", "rel_error_low", "rel_error_high"),
    };
  }
  return { name, unit: "B", title: "Bytes moved", ...columns("moved_bytes", "moved_bytes", "moved_bytes") };
}

export function isRelative(view) {
  return view.state.values === "relative";
}

export function baseline(view, row) {
  return view.data.counterpart(row, view.state.baseline);
}

// the value of a row with its ends; as a share, both sides at the same end of the constants
export function valueOf(view, by, row) {
  const own = [by.value[row], by.low[row], by.high[row]];
  if (!isRelative(view) || by.share) return own;
  return shareOf(view, by, row);
}

export function shareOf(view, by, row) {
  const base = baseline(view, row);
  if (base < 0) return [NaN, NaN, NaN];
  const shares = [
    by.value[row] / by.value[base], by.low[row] / by.low[base], by.high[row] / by.high[base],
  ];
  return [shares[0], Math.min(...shares), Math.max(...shares)];
}

export function titleOf(view, by) {
  const shown = isRelative(view) && !by.share;
  return shown ? `${by.title}, share of ${view.state.baseline}` : `${by.title} per decode step and layer`;
}

export function printed(view, by, row) {
  const own = [by.value[row], by.low[row], by.high[row]];
  if (by.share) return percentSpan(...own);
  const text = own[1] === own[2] ? si(own[0], by.unit) : span(...own, by.unit);
  const share = shareOf(view, by, row)[0];
  if (!Number.isFinite(share) || baseline(view, row) === row) return text;
  return `${text}, ${percent(share)} of ${view.state.baseline}`;
}
