// Operations: one array per row, indexes into one list of strings.
const { strings, sides, rows, metrics, total } = data.operations;
const [STEP, RANK, ORDER, OP, MODULE, TENSOR, KIND, STATE, REASON, ERROR, LIMIT, LEFT, RIGHT, METRICS] = Array(14).keys();
// A side: its own row name (null where it is the row's), element type, shape, then max, min, mean, norm or a value.
const [SIDE_TENSOR, SIDE_TYPE, SIDE_SHAPE, SIDE_VALUES] = Array(4).keys();
const STATISTICS = ["max", "min", "mean", "norm"];
/** Properties that no error explains: what differs in them differs of itself. */
const OWN = new Set(["dtype", "shape", "requires_grad", "kind"]);

let chosenUnit = 0;
let chosenModule = null;
let inModule = null;

const unitName = (row) => (row[RANK] === null ? `step ${row[STEP]}` : `step ${row[STEP]} rank ${row[RANK]}`);
const unitAt = new Map(data.units.map((unit) => [`${unit.step} ${unit.rank}`, unit]));
const unitOf = (row) => unitAt.get(`${row[STEP]} ${row[RANK]}`);

const inUnit = (row) => {
  const unit = data.units[chosenUnit];
  return !unit || (row[STEP] === unit.step && row[RANK] === unit.rank);
};

/** Whether a row is the first wrong value of its step and rank. */
const isFirst = (row) => unitOf(row)?.culprit_tensor === strings[row[TENSOR]];

/** Whether what its operation received explains the difference of a row. */
function isInherited(row) {
  if (row[STATE] !== "differs" || OWN.has(strings[row[REASON]])) return false;
  const unit = unitOf(row);
  if (unit !== undefined && unit.culprit === null && unit.inherited_from !== null) return true;
  const [error, limit] = [number(row[ERROR]), number(row[LIMIT])];
  return typeof limit === "number" && typeof error === "number" && !(error > limit);
}

/** State of a row as the table calls it: `first`, `inherited`, or as the result has it. */
function stateOf(row) {
  if (row[STATE] !== "differs") return row[STATE];
  if (isFirst(row)) return "first";
  return isInherited(row) ? "inherited" : "differs";
}

const stateName = (state) => word(`state_${state}`, NAMES);
const sideOf = (row, column) => (row[column] === null ? null : sides[row[column]]);
/** A side's element type; an argument that is None has none. */
const typeOf = (side) => {
  const type = strings[side[SIDE_TYPE]];
  return type === "null" ? "None" : `${type} ${strings[side[SIDE_SHAPE]]}`.trim();
};
const statistic = (side, index) => (side === null ? NOTHING : recorded(side[SIDE_VALUES + index]));

/** A statistic of both sides: with more digits where five do not tell them apart. */
function pairOf(both, index) {
  const texts = both.map((side) => statistic(side, index));
  const raw = both.map((side) => Number(side?.[SIDE_VALUES + index]));
  const isClose = texts[0] === texts[1] && raw.every(Number.isFinite) && raw[0] !== raw[1];
  return isClose ? raw.map((value) => String(Number(value.toPrecision(9)))) : texts;
}

/** Titles for an empty cell: it says why it is empty. */
function whyEmpty(row, side) {
  if (side === null) return word("page_not_there");
  return strings[side[SIDE_TYPE]] === "null" ? word("page_is_none") : word("page_not_recorded");
}

/** The relative difference of a statistic. */
function apart(left, right) {
  const [a, b] = [Number(left), Number(right)];
  if (left === NOTHING || right === NOTHING || !Number.isFinite(a) || !Number.isFinite(b)) return left === right ? "0" : NOTHING;
  return relative(a === b ? 0 : Math.abs(b - a) / Math.abs(a || 1));
}

const cellOf = (side, index, text, differs, row) => {
  const title = text === NOTHING ? whyEmpty(row, side) : side[SIDE_VALUES + index];
  return element("td", { class: differs ? "parts" : null, title }, text);
};

/** Both sides of a row on two lines: for the first screen. */
function shortSides(row) {
  const both = [sideOf(row, LEFT), sideOf(row, RIGHT)];
  const count = Math.max(1, ...both.map((side) => (side === null ? 0 : side.length - SIDE_VALUES)));
  const names = count === 1 ? [word("page_value")] : STATISTICS.slice(0, count).map((name) => word(`page_${name}`));
  const types = both.map((side) => (side === null ? NOTHING : typeOf(side)));
  const isOther = types[0] !== types[1];
  const pairs = names.map((_, index) => pairOf(both, index));
  const line = (side, index) => element("tr", {},
    element("th", { scope: "row", class: index === 0 ? "baseline" : "candidate" }, data.labels[index]),
    isOther ? element("td", { class: "parts" }, types[index]) : null,
    ...pairs.map((pair, at) => cellOf(side, at, pair[index], pair[0] !== pair[1], row)));
  return element("table", { class: "sides" },
    element("caption", {}, element("code", {}, strings[row[TENSOR]]), isOther ? "" : ` ${types[0]}`),
    element("thead", {}, element("tr", {}, element("th"), isOther ? element("th", {}, word("page_type")) : null, ...names.map((name) => element("th", {}, name)))),
    element("tbody", {}, ...both.map(line)));
}

/** Both sides of a row beside each other, a line for everything that is known of them. */
function longSides(row) {
  const [left, right] = [sideOf(row, LEFT), sideOf(row, RIGHT)];
  const line = (name, pair, difference, titles = []) => element("tr", {}, element("th", { scope: "row" }, name),
    ...pair.map((text, index) => element("td", { class: pair[0] === pair[1] ? null : "parts", title: titles[index] ?? null }, text)),
    element("td", {}, difference));
  const told = (pick) => [left, right].map((side) => (side === null ? NOTHING : pick(side)));
  const names = told((side) => strings[side[SIDE_TENSOR] ?? row[TENSOR]]);
  const count = Math.max(1, ...[left, right].map((side) => (side === null ? 0 : side.length - SIDE_VALUES)));
  const values = STATISTICS.slice(0, count).map((name, index) => {
    const pair = pairOf([left, right], index);
    const titles = [left, right].map((side, at) => (pair[at] === NOTHING ? whyEmpty(row, side) : side[SIDE_VALUES + index]));
    return line(word(count === 1 ? "page_value" : `page_${name}`), pair, apart(...pair), titles);
  });
  return element("table", { class: "sides" },
    element("thead", {}, element("tr", {}, element("th"), element("th", { class: "baseline" }, BASELINE),
      element("th", { class: "candidate" }, CANDIDATE), element("th", {}, word("page_difference")))),
    element("tbody", {}, names[0] === names[1] ? null : line(word("page_tensor"), names, ""), line(word("page_type"), told(typeOf), ""), ...values));
}
