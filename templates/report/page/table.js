// The table of operations: only the rows in sight are in the document.
const ROW = 44;
const body = byId("grid-body");
const space = byId("grid-space");
let shown = [];
let chosenRow = -1;
let sorting = { column: "state", down: false };

/** What is wrong comes first: the first wrong value, then what no input explains, then its consequences. */
const STATES = ["first", "differs", "missing-on-candidate", "missing-on-baseline", "not-compared", "inherited", "agrees"];
const size = (row) => {
  const [error, limit] = [number(row[ERROR]), number(row[LIMIT])];
  if (error === null || error === undefined) return -1;
  if (!Number.isFinite(error)) return Infinity;
  return limit > 0 ? error / limit : error > 0 ? Infinity : 0;
};
const ofCandidate = (row, index) => Number(sideOf(row, RIGHT)?.[SIDE_VALUES + index] ?? 0) || 0;
const columns = [
  { name: "order", of: (row) => row[ORDER] },
  { name: "tensor", of: (row) => strings[row[TENSOR]] },
  { name: "state", of: (row) => STATES.indexOf(stateOf(row)) },
  { name: "error", of: size },
  { name: "type", of: (row) => typeOf(sideOf(row, RIGHT) ?? sideOf(row, LEFT)) },
  { name: "side", of: null },
  ...STATISTICS.map((name, index) => ({ name, of: (row) => ofCandidate(row, index) })),
];

const cellWith = (kind, title, ...children) => element("div", { role: "cell", class: kind, title }, ...children);
const lines = (pair, title = pair.join("\n")) => cellWith("two mono", title, pair.join("\n"));

/** Operation above, value of it below; the start of a long name gives way. */
function nameCell(row) {
  const [tensor, op] = [strings[row[TENSOR]], strings[row[OP]]];
  const rest = tensor.startsWith(`${op}.`) ? tensor.slice(op.length + 1) : "";
  const where = byId("all-units").checked ? `${unitName(row)} · ` : "";
  return cellWith("mono", tensor,
    element("div", { class: "operation" }, element("bdi", {}, rest === "" ? tensor : op)),
    element("span", { class: "quiet" }, `${where}${rest === "" ? word(`kind_${row[KIND]}`) : rest}`));
}

/** Element type above, shape below; both sides where they are not alike. */
function typeCell(row) {
  const both = [sideOf(row, LEFT), sideOf(row, RIGHT)].map((side) => (side === null ? NOTHING : typeOf(side)));
  const known = both.filter((type) => type !== NOTHING);
  if (known.length === 2 && both[0] !== both[1]) return lines(both, both.map((type, at) => `${data.labels[at]}: ${type}`).join("\n"));
  const [type, ...shape] = known[0].split(" ");
  return lines([type, shape.join(" ")], known[0]);
}

function valueCell(row, index) {
  const both = [sideOf(row, LEFT), sideOf(row, RIGHT)];
  const texts = both.map((side) => statistic(side, index));
  const titles = both.map((side, at) => `${data.labels[at]}: ${texts[at] === NOTHING ? whyEmpty(row, side) : side[SIDE_VALUES + index]}`);
  return lines(texts, titles.join("\n"));
}

/** The error above, what rounding and inputs explain of it below. */
function errorCell(row) {
  if (row[ERROR] === null) return cellWith("mono", word("page_no_error"), NOTHING);
  const [error, limit] = [relative(row[ERROR]), relative(row[LIMIT])];
  return lines([error, limit], `${word("page_error")} ${error}\n${word("page_limit")} ${limit}`);
}

function cell(row, name, state) {
  switch (name) {
    case "order": return cellWith(null, unitName(row), String(row[ORDER]));
    case "tensor": return nameCell(row);
    case "state": return cellWith(`s-${state}`, strings[row[REASON]] === "" ? null : `${word("page_reason")}: ${strings[row[REASON]]}`, stateName(state));
    case "error": return errorCell(row);
    case "type": return typeCell(row);
    case "side": return lines(data.labels);
    default: return valueCell(row, STATISTICS.indexOf(name));
  }
}

/** Few rows leave no empty table behind. */
const tall = () => Math.min(484, Math.max(3 * ROW, shown.length * ROW));

function drawRows() {
  const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 4);
  const last = Math.min(shown.length, first + Math.ceil(body.clientHeight / ROW) + 8);
  const made = [];
  for (let index = first; index < last; index += 1) {
    const row = rows[shown[index]];
    const state = stateOf(row);
    const look = { first: "grid-row first", inherited: "grid-row dim" }[state] ?? "grid-row";
    const line = element("div", { class: look, role: "row", "aria-rowindex": index + 1, "aria-selected": String(index === chosenRow) },
      ...columns.map((column) => cell(row, column.name, state)));
    line.style.top = `${index * ROW}px`;
    line.addEventListener("click", () => choose(index));
    made.push(line);
  }
  space.style.height = `${shown.length * ROW}px`;
  space.replaceChildren(...made);
}

function filter() {
  const wanted = byId("search").value.trim().toLowerCase();
  const state = byId("state").value;
  const kind = byId("kind").value;
  const everywhere = byId("all-units").checked;
  const matches = new Map();
  const has = (index) => {
    if (!matches.has(index)) matches.set(index, strings[index].toLowerCase().includes(wanted));
    return matches.get(index);
  };
  const isWanted = { "": () => true, wrong: (row) => row[STATE] !== "agrees" }[state] ?? ((row) => stateOf(row) === state);
  shown = [];
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index];
    if (!everywhere && !inUnit(row)) continue;
    if (inModule !== null && !inModule.has(row[OP])) continue;
    if (!isWanted(row)) continue;
    if (kind !== "" && row[KIND] !== kind) continue;
    if (wanted !== "" && !has(row[TENSOR]) && !has(row[MODULE]) && !has(row[REASON])) continue;
    shown.push(index);
  }
  sort();
  const left = total > rows.length ? ` ${word("page_left_out", { total })}` : "";
  byId("count").textContent = word("page_count", { shown: shown.length, total: rows.length }) + left;
  body.style.height = `${tall()}px`;
  body.scrollTop = 0;
  // The first wrong value is open from the start; anything else waits to be chosen.
  choose(shown.length > 0 && isFirst(rows[shown[0]]) ? 0 : -1);
}

function sort() {
  if (sorting.column === "order" && !sorting.down) return;
  const key = columns.find((column) => column.name === sorting.column).of;
  const keys = new Map(shown.map((index) => [index, key(rows[index])]));
  const sign = sorting.down ? -1 : 1;
  shown.sort((a, b) => {
    const [left, right] = [keys.get(a), keys.get(b)];
    return left === right ? a - b : left < right ? -sign : sign;
  });
}

function choose(index) {
  chosenRow = Math.min(index, shown.length - 1);
  if (chosenRow >= 0) {
    const top = chosenRow * ROW;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + ROW > body.scrollTop + body.clientHeight) body.scrollTop = top + ROW - body.clientHeight;
  }
  drawRows();
  detail(chosenRow < 0 ? null : rows[shown[chosenRow]]);
}

/** Everything a row knows, below the table. */
function detail(row) {
  const host = byId("detail");
  host.replaceChildren();
  if (row === null) return;
  const told = (name, text) => [element("dt", {}, name), element("dd", {}, text)];
  const code = (text) => element("code", {}, text);
  const state = stateOf(row);
  const measured = metrics.map((name, index) => [name, row[METRICS + index]]).filter(([, value]) => value !== null && value !== undefined);
  const facts = element("dl", {},
    ...told(word("page_operation"), code(`${unitName(row)}: ${strings[row[OP]]}`)),
    ...(strings[row[MODULE]] === "" ? [] : told(word("page_module").replace(/[:：]$/, ""), code(strings[row[MODULE]]))),
    ...told(word("page_state"), element("span", { class: `s-${state}` }, strings[row[REASON]] === "" ? stateName(state) : `${stateName(state)} (${strings[row[REASON]]})`)),
    ...(row[ERROR] === null ? [] : [...told(word("page_error"), relative(row[ERROR])), ...told(word("page_limit"), relative(row[LIMIT]))]),
    ...measured.flatMap(([name, value]) => told(code(name), short(value))));
  host.append(element("h3", {}, code(strings[row[TENSOR]])), element("div", { class: "two-up" }, longSides(row), facts));
}

function heads() {
  for (const column of columns) {
    const sorted = column.name !== sorting.column ? "none" : sorting.down ? "descending" : "ascending";
    const head = element("div", { role: "columnheader", "aria-sort": column.of === null ? null : sorted });
    byId("grid-head").append(head);
    if (column.of === null) continue;
    const button = element("button", { type: "button" }, word(`page_${column.name}`));
    head.append(button);
    button.addEventListener("click", () => {
      const down = sorting.column === column.name ? !sorting.down : column.name === "error";
      sorting = { column: column.name, down };
      byId("grid-head").querySelectorAll("[aria-sort]").forEach((one) => one.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      filter();
    });
  }
}

function choices(id, names) {
  byId(id).append(...names.map(([value, text]) => element("option", { value }, text)));
}

function keys(event) {
  const page = Math.floor(body.clientHeight / ROW);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  if (event.key in moves) choose(Math.max(0, chosenRow + moves[event.key]));
  else if (event.key === "Home") choose(0);
  else if (event.key === "End") choose(shown.length - 1);
  else return;
  event.preventDefault();
}

function startTable() {
  byId("operations").hidden = false;
  heads();
  const isWrong = rows.some((row) => row[STATE] !== "agrees");
  choices("state", [...(isWrong ? [["wrong", word("page_wrong")]] : []), ["", word("page_all")], ...STATES.map((state) => [state, stateName(state)])]);
  choices("kind", [["", word("page_all")], ...["input", "parameter", "output", "parameter-gradient", "value"].map((kind) => [kind, word(`kind_${kind}`)])]);
  if (!isWrong) sorting = { column: "order", down: false };
  let typing;
  byId("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(filter, 120);
  });
  ["state", "kind", "all-units"].forEach((id) => byId(id).addEventListener("change", filter));
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("filter").addEventListener("reset", () => setTimeout(filter));
  body.addEventListener("scroll", () => requestAnimationFrame(drawRows));
  body.addEventListener("keydown", keys);
}
