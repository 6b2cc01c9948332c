// What a reader has chosen, and its form in the address of the page.
import { FACETS } from "./data.js";

const TEXTS = {
  boundary: null, budget: null, baseline: null, scale: "auto", values: "absolute", cost: "energy",
  bytes: "moved_bytes", operations: "multiply", along: "context", measure: "energy", page: "0",
  event: "", run: "",
};

export function startState(facts) {
  const { start } = facts;
  const state = { picked: [] };
  for (const { name } of FACETS) state[name] = start[name] ? start[name].map(String) : null;
  for (const [key, value] of Object.entries(TEXTS)) state[key] = value ?? String(start[key]);
  return state;
}

// only what differs from the start, so that an address stays short
export function toHash(state, start, data) {
  const parts = new URLSearchParams();
  for (const { name } of FACETS) {
    if (JSON.stringify(state[name]) === JSON.stringify(start[name])) continue;
    if (state[name] === null) parts.append(name, "");
    for (const value of state[name] ?? []) parts.append(name, value);
    if (state[name]?.length === 0) parts.append(name, "\u0000");
  }
  for (const key of Object.keys(TEXTS)) {
    if (state[key] !== start[key]) parts.set(key, state[key]);
  }
  if (state.picked.length) parts.set("picked", state.picked.map((row) => data.idOf(row)).join(" "));
  return parts.toString();
}

export function fromHash(hash, start, data) {
  const parts = new URLSearchParams(hash);
  const state = structuredClone(start);
  for (const { name } of FACETS) {
    if (!parts.has(name)) continue;
    const given = parts.getAll(name);
    state[name] = given.length === 1 && given[0] === "" ? null : given.filter(
      (value) => data.facets[name].values.includes(value),
    );
  }
  for (const key of Object.keys(TEXTS)) if (parts.has(key)) state[key] = parts.get(key);
  const picked = (parts.get("picked") ?? "").split(" ").filter(Boolean).map(Number);
  state.picked = picked.filter((id) => Number.isInteger(id) && id >= 0).map((id) => data.rowOf(id)).filter((row) => row >= 0);
  return state;
}

// indices of the rows that the filters leave; `except` is a facet that is not applied
export function chosen(data, state, except = null) {
  const masks = [];
  for (const { name } of FACETS) {
    if (state[name] === null || name === except) continue;
    const { codes, values } = data.facets[name];
    const wanted = new Set(state[name]);
    masks.push([codes, Uint8Array.from(values, (value) => wanted.has(value))]);
  }
  const found = [];
  for (let i = 0; i < data.rows; i += 1) {
    if (masks.every(([codes, mask]) => mask[codes[i]])) found.push(i);
  }
  return found;
}
