// How numbers are printed: three significant digits, SI prefixes, units, intervals.
const PREFIXES = [
  [18, "E"], [15, "P"], [12, "T"], [9, "G"], [6, "M"], [3, "k"], [0, ""], [-3, "m"], [-6, "µ"],
  [-9, "n"], [-12, "p"], [-15, "f"], [-18, "a"],
];
export const MISSING = "–";
const SPACE = "\u00a0"; // no line ends between a number and its unit

export function plain(value, digits = 3) {
  if (!Number.isFinite(value)) return MISSING;
  if (value === 0) return "0";
  const decimals = (v) => digits - 1 - Math.floor(Math.log10(Math.abs(v)));
  // rounding may carry into the next power of ten
  const rounded = Number(value.toPrecision(digits));
  return withDecimals(Math.min(Math.max(0, decimals(rounded)), 20)).format(rounded);
}

// making a format takes far longer than using it
const FORMATS = [];
function withDecimals(shown) {
  FORMATS[shown] ??= new Intl.NumberFormat("en-US", { minimumFractionDigits: shown, maximumFractionDigits: shown });
  return FORMATS[shown];
}

export function prefix(value) {
  if (value === 0 || !Number.isFinite(value)) return [0, ""];
  const size = Math.abs(Number(value.toPrecision(3)));
  return PREFIXES.find(([e]) => size >= 10 ** e * (1 - 1e-12)) ?? PREFIXES.at(-1);
}

export function si(value, unit = "") {
  if (!Number.isFinite(value)) return MISSING;
  const [exponent, letter] = prefix(value);
  return `${plain(value / 10 ** exponent)}${SPACE}${letter}${unit}`.trimEnd();
}

// 1.2 [0.9, 1.6] µJ, all in one prefix
export function span(value, low, high, unit) {
  if (!Number.isFinite(value)) return MISSING;
  if (!Number.isFinite(low) || !Number.isFinite(high)) return si(value, unit);
  const [exponent, letter] = prefix(value);
  const [v, l, h] = [value, low, high].map((x) => plain(x / 10 ** exponent));
  return `${v} [${l}, ${h}]${SPACE}${letter}${unit}`.trimEnd();
}

export function percent(share) {
  if (!Number.isFinite(share)) return MISSING;
  if (share > 0 && share < 1e-6) return `<${SPACE}0.0001${SPACE}%`;
  return `${plain(100 * share, Math.abs(share) < 0.1 ? 2 : 3)}${SPACE}%`;
}

export function percentSpan(share, low, high) {
  if (![share, low, high].every(Number.isFinite) || share < 1e-6) return percent(share);
  const [v, l, h] = [share, low, high].map((x) => plain(100 * x, 2));
  return `${v} [${l}, ${h}]${SPACE}%`;
}

export function whole(value) {
  return Number.isFinite(value) ? withDecimals(0).format(Math.round(value)) : MISSING;
}

// a count: whole below 1000 if it is
export function count(value) {
  return value < 1000 && value === Math.round(value) ? String(value) : si(value);
}

export function several(number, one, many) {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

export function listed(texts) {
  return texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}` : texts.join();
}

// text that Plotly shows literally: it would read angle brackets as markup
export function literal(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// lines of about `width` characters; a word that is too long is cut where the line ends
export function lines(text, width, most = Infinity) {
  const found = [""];
  for (const word of text.split(/\s+/)) {
    const letters = [...word];
    for (let i = 0; i === 0 || i < letters.length; i += width) {
      const piece = letters.slice(i, i + width).join("");
      const line = found.at(-1);
      if (line && [...line].length + 1 + [...piece].length > width) found.push(piece);
      else found[found.length - 1] = i > 0 ? line + piece : line ? `${line} ${piece}` : piece;
      if (i > 0 && [...found.at(-1)].length > width) {
        found[found.length - 1] = line;
        found.push(piece);
      }
    }
  }
  return found.length > most ? [...found.slice(0, most - 1), `${found[most - 1].slice(0, -1)}…`] : found;
}

export function label(text, width = 34, most = 3) {
  return lines(text, width, most).map(literal).join("<br>");
}
