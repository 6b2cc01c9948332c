// Reads what Python packed: a header of JSON, then the columns of all tables by byte planes.
const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

async function gunzip(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

function readColumn({ type, words }, rows, bytes, offset) {
  const size = Number(type[1]);
  const target = new Uint8Array(rows * size);
  for (let plane = 0; plane < size; plane += 1) {
    const from = offset + plane * rows;
    for (let i = 0, at = plane; i < rows; i += 1, at += size) target[at] = bytes[from + i];
  }
  const values = new ARRAYS[type](target.buffer);
  return words ? { codes: values, words } : values;
}

// {facts, tables: name -> {rows, columns: name -> typed array, or {codes, words} for text}}
export async function unpack(base64) {
  const bytes = await gunzip(base64);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let offset = 4 + length;
  const tables = {};
  for (const [name, { rows, columns }] of Object.entries(header.tables)) {
    tables[name] = { rows, columns: {} };
    for (const column of columns) {
      tables[name].columns[column.name] = readColumn(column, rows, bytes, offset);
      offset += Number(column.type[1]) * rows;
    }
  }
  return { facts: header.facts, tables };
}
