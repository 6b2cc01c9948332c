// The chosen points as a CSV file, every column of the page's table.
function cell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

// float32 holds seven digits and a little more
const digits = (column, value) => (column instanceof Float32Array ? Number(value.toPrecision(8)) : value);

export function toCsv(data, rows) {
  const names = Object.keys(data.points);
  const value = (name, row) => {
    const column = data.points[name];
    return column.words ? column.words[column.codes[row]] : digits(column, column[row]);
  };
  const lines = [names.join(","), ...rows.map((row) => names.map((name) => cell(value(name, row))).join(","))];
  return `${lines.join("\r\n")}\r\n`;
}

export function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
