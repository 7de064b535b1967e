// All rows of the table, by columns: packed in blocks behind the scripts, in the form that src/report/page/block.rs describes.
const { rows: fullRows, strings, names, units: unitPlaces, metrics, count, wrong, total } = data.operations;
const INTEGERS = ["unit", "order", "op", "tensor", "module", "kind", "state", "reason", "leftType", "rightType", "leftTensor", "rightTensor", "counts"];
const STATISTICS = ["max", "min", "mean", "norm"];
/** Bits of a number that is text, and those of them that are the index. */
const [TEXT, TEXT_INDEX] = [0x7fc00000, 0x3fffff];

/** A column of numbers as their bits; a number that is NaN may be a text. */
function numbersColumn() {
  const bits = new Uint32Array(count).fill(TEXT);
  return { bits, floats: new Float32Array(bits.buffer) };
}

const columns = Object.fromEntries(INTEGERS.map((name) => [name, new Uint32Array(count)]));
const numbers = { error: numbersColumn(), limit: numbersColumn(), metrics: metrics.map(numbersColumn) };
/** Values of both sides. */
const values = [0, 1].map(() => STATISTICS.map(numbersColumn));
/** Texts by index, and those of numbers by block. */
const texts = Array(names).fill("");
const words = [];
let blockRows = 1;

/** Numbers of the rows that are known: at first those in full. */
let known = Uint32Array.from(fullRows, ([row]) => row);
/** Rows in full by their numbers: whole numbers, error, limit, values of both sides, metrics. */
const full = new Map(fullRows.map(([row, ...rest]) => [row, rest]));
const [ERROR, LIMIT, LEFT, RIGHT, METRICS] = Array.from({ length: 5 }, (_, index) => INTEGERS.length + index);
for (const [index, text] of Object.entries(strings)) texts[index] = text;
for (const [row, cells] of full) INTEGERS.forEach((name, index) => { columns[name][row] = cells[index]; });

/** A number, its text where it is none, or null where there is nothing. */
function numberAt({ bits, floats }, row) {
  if (!Number.isNaN(floats[row])) return floats[row];
  const text = words[Math.floor(row / blockRows)]?.[bits[row] & TEXT_INDEX] ?? "";
  return text === "" ? null : text;
}

async function unpacked(packed) {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = text.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const signedOf = (size) => (size >>> 1) ^ -(size & 1);

/** Takes a block behind `first` rows and `told` texts, and returns how many it has of both. */
function takeBlock(bytes, first, told) {
  const [rows, metricCount] = [0, 4].map((at) => new DataView(bytes.buffer).getUint32(at, true));
  let offset = 8;
  const take = (column, of) => {
    for (let row = 0; row < rows; row += 1) {
      const at = offset + row;
      const cell = bytes[at] | (bytes[at + rows] << 8) | (bytes[at + 2 * rows] << 16) | (bytes[at + 3 * rows] << 24);
      column[first + row] = of(cell, first + row);
    }
    offset += 4 * rows;
  };
  const plain = (cell) => cell;
  for (const name of INTEGERS) {
    let before = 0;
    take(columns[name], (cell) => (before += signedOf(cell)));
  }
  for (const { bits } of [numbers.error, numbers.limit, ...values[0]]) take(bits, plain);
  values[1].forEach(({ bits }, index) => {
    const left = values[0][index].bits;
    take(bits, (cell, row) => left[row] + signedOf(cell));
  });
  for (const { bits } of numbers.metrics.slice(0, metricCount)) take(bits, plain);
  const tail = JSON.parse(new TextDecoder().decode(bytes.subarray(offset)));
  tail.texts.forEach((text, index) => { texts[told + index] = text; });
  words.push(tail.values);
  return [rows, tail.texts.length];
}

/** Takes all blocks, one after the other: what a reader does goes in between. */
async function takeBlocks() {
  const packed = byId("blocks").textContent.trim().split("\n");
  byId("blocks").remove();
  let [first, told] = [0, 0];
  for (const block of packed) {
    const [rows, more] = takeBlock(await unpacked(block), first, told);
    if (first === 0) blockRows = rows;
    first += rows;
    told += more;
  }
  known = Uint32Array.from({ length: count }, (_, row) => row);
}
