// A row by its number: where it is, how it is called, what each side has.
const [AGREES, DIFFERS] = [0, 1];
/** What is wrong comes first: the first wrong value, then what no input explains, then its consequences. */
const STATES = ["first", "differs", "missing-on-candidate", "missing-on-baseline", "not-compared", "inherited", "agrees"];
/** States as rows have them; a further bit tells that rounding and inputs explain the error. */
const CODES = ["agrees", "differs", "not-compared", "missing-on-candidate", "missing-on-baseline"];
const EXPLAINED = 8;
const KINDS = ["input", "parameter", "output", "parameter-gradient", "value"];
/** Properties that no error explains: what differs in them differs of itself. */
const OWN = new Set(["dtype", "shape", "requires_grad", "kind"]);

let chosenUnit = 0;
let chosenModule = null;
let inModule = null;

const placeName = ([step, rank]) => (rank === null ? word("page_place", { step }) : word("page_place_rank", { step, rank }));
const nameOfUnit = (unit) => placeName([unit.step, unit.rank]);
const unitName = (row) => placeName(unitPlaces[columns.unit[row]]);
const unitAt = new Map(data.units.map((unit) => [nameOfUnit(unit), unit]));
const unitsOfPlaces = unitPlaces.map((place) => unitAt.get(placeName(place)));
const unitOf = (row) => unitsOfPlaces[columns.unit[row]];

/** Numbers of the known rows of a unit. */
function rowsOf(unit) {
  const place = unitPlaces.findIndex(([step, rank]) => step === unit.step && rank === unit.rank);
  return known.filter((row) => columns.unit[row] === place);
}

const codeOf = (row) => columns.state[row] % EXPLAINED;
const kindOf = (row) => KINDS[columns.kind[row]];
const opOf = (row) => texts[columns.op[row]];
const moduleOf = (row) => texts[columns.module[row]];
const reasonOf = (row) => texts[columns.reason[row]];

/** A name is stored whole, or as its end behind the operation. */
const isWhole = (name) => name % 2 === 1;
const textOf = (name) => texts[name >>> 1];
const nameOf = (op, name) => (isWhole(name) ? textOf(name) : `${op}.${textOf(name)}`);
const tensorOf = (row) => nameOf(opOf(row), columns.tensor[row]);

/** Whether a row is about a tensor, without making its name. */
function isCalled(row, tensor) {
  const name = columns.tensor[row];
  if (isWhole(name)) return textOf(name) === tensor;
  const [op, end] = [opOf(row), textOf(name)];
  return tensor.length === op.length + 1 + end.length && tensor.startsWith(op) && tensor.endsWith(end) && tensor[op.length] === ".";
}

/** Whether a row is the first wrong value of its step and rank. */
function isFirst(row) {
  const tensor = unitOf(row)?.culprit_tensor ?? null;
  return tensor !== null && isCalled(row, tensor);
}

/** Whether what its operation received explains the difference of a row. */
function isInherited(row) {
  if (codeOf(row) !== DIFFERS || OWN.has(reasonOf(row))) return false;
  const unit = unitOf(row);
  if (unit !== undefined && unit.culprit === null && unit.inherited_from !== null) return true;
  return columns.state[row] >= EXPLAINED;
}

/** State of a row as the table calls it: `first`, `inherited`, or as the result has it. */
function stateOf(row) {
  if (codeOf(row) !== DIFFERS) return CODES[codeOf(row)];
  if (isFirst(row)) return "first";
  return isInherited(row) ? "inherited" : "differs";
}

const stateName = (state) => word(`state_${state}`, NAMES);
const errorOf = (row) => (full.has(row) ? full.get(row)[ERROR] : numberAt(numbers.error, row));
const limitOf = (row) => (full.has(row) ? full.get(row)[LIMIT] : numberAt(numbers.limit, row));

/** The metrics of a row that has them, with their names. */
function metricsOf(row) {
  const of = (index) => (full.has(row) ? full.get(row)[METRICS + index] ?? null : numberAt(numbers.metrics[index], row));
  return metrics.map((name, index) => [name, of(index)]).filter(([, value]) => value !== null);
}

/** The shortest text of a number with 32 bits. */
function shortest(value) {
  const digits = Number.isInteger(value) ? 17 : [7, 8].find((some) => Math.fround(Number(value.toPrecision(some))) === value) ?? 9;
  return String(Number(value.toPrecision(digits)));
}

const countOf = (row, side) => (side === 0 ? columns.counts[row] & 15 : columns.counts[row] >>> 4);

/** A value of one side as text. */
function valueOf(row, side, index) {
  if (full.has(row)) return full.get(row)[LEFT + side][index];
  if (index >= countOf(row, side)) return undefined;
  const value = numberAt(values[side][index], row);
  return typeof value === "number" ? shortest(value) : value ?? "";
}

/** One side of a row: its own name of the tensor, type with shape, values as texts; null where it does not have it. */
function sideOf(row, side) {
  const type = columns[side === 0 ? "leftType" : "rightType"][row];
  if (type === 0) return null;
  const name = columns[side === 0 ? "leftTensor" : "rightTensor"][row];
  const tensor = name === 0 ? tensorOf(row) : isWhole(name) ? textOf(name) : `${textOf(name)}.${textOf(columns.tensor[row])}`;
  return { tensor, type: texts[type - 1], values: Array.from({ length: countOf(row, side) }, (_, index) => valueOf(row, side, index)) };
}

const sidesOf = (row) => [sideOf(row, 0), sideOf(row, 1)];
/** A side's element type; an argument that is None has none. */
const typeOf = (side) => (side.type === "null" ? "None" : side.type);
const statistic = (side, index) => (side === null ? NOTHING : recorded(side.values[index]));

/** A statistic of both sides: with more digits where five do not tell them apart. */
function pairOf(both, index) {
  const texts = both.map((side) => statistic(side, index));
  const raw = both.map((side) => Number(side?.values[index]));
  const isClose = texts[0] === texts[1] && raw.every(Number.isFinite) && raw[0] !== raw[1];
  return isClose ? raw.map((value) => String(Number(value.toPrecision(9)))) : texts;
}

/** Titles for an empty cell: it says why it is empty. */
function whyEmpty(side) {
  if (side === null) return word("page_not_there");
  return side.type === "null" ? word("page_is_none") : word("page_not_recorded");
}

/** The relative difference of a statistic. */
function apart(left, right) {
  const [a, b] = [Number(left), Number(right)];
  if (left === NOTHING || right === NOTHING || !Number.isFinite(a) || !Number.isFinite(b)) return left === right ? "0" : NOTHING;
  return relative(a === b ? 0 : Math.abs(b - a) / Math.abs(a || 1));
}

const cellOf = (side, index, text, differs) => {
  const title = text === NOTHING ? whyEmpty(side) : side.values[index];
  return element("td", { class: differs ? "parts" : null, title }, text);
};

/** Both sides of a row on two lines: for the first screen. */
function shortSides(row) {
  const both = sidesOf(row);
  const count = Math.max(1, ...both.map((side) => side?.values.length ?? 0));
  const names = count === 1 ? [word("page_value")] : STATISTICS.slice(0, count).map((name) => word(`page_${name}`));
  const types = both.map((side) => (side === null ? NOTHING : typeOf(side)));
  const isOther = types[0] !== types[1];
  const pairs = names.map((_, index) => pairOf(both, index));
  const line = (side, index) => element("tr", {},
    element("th", { scope: "row", class: index === 0 ? "baseline" : "candidate" }, data.labels[index]),
    isOther ? element("td", { class: "parts" }, types[index]) : null,
    ...pairs.map((pair, at) => cellOf(side, at, pair[index], pair[0] !== pair[1])));
  return element("table", { class: "sides" },
    element("caption", {}, element("code", {}, tensorOf(row)), isOther ? "" : ` ${types[0]}`),
    element("thead", {}, element("tr", {}, element("th"), isOther ? element("th", {}, word("page_type")) : null, ...names.map((name) => element("th", {}, name)))),
    element("tbody", {}, ...both.map(line)));
}

/** Both sides of a row beside each other, a line for everything that is known of them. */
function longSides(row) {
  const [left, right] = sidesOf(row);
  const line = (name, pair, difference, titles = []) => element("tr", {}, element("th", { scope: "row" }, name),
    ...pair.map((text, index) => element("td", { class: pair[0] === pair[1] ? null : "parts", title: titles[index] ?? null }, text)),
    element("td", {}, difference));
  const told = (pick) => [left, right].map((side) => (side === null ? NOTHING : pick(side)));
  const names = told((side) => side.tensor);
  const count = Math.max(1, ...[left, right].map((side) => side?.values.length ?? 0));
  const values = STATISTICS.slice(0, count).map((name, index) => {
    const pair = pairOf([left, right], index);
    const titles = [left, right].map((side, at) => (pair[at] === NOTHING ? whyEmpty(side) : side.values[index]));
    return line(word(count === 1 ? "page_value" : `page_${name}`), pair, apart(...pair), titles);
  });
  return element("table", { class: "sides" },
    element("thead", {}, element("tr", {}, element("th"), element("th", { class: "baseline" }, BASELINE),
      element("th", { class: "candidate" }, CANDIDATE), element("th", {}, word("page_difference")))),
    element("tbody", {}, names[0] === names[1] ? null : line(word("page_tensor"), names, ""), line(word("page_type"), told(typeOf), ""), ...values));
}
