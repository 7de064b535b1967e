// The table of operations: only the rows in sight are in the document.
const ROW = 44;
const body = byId("grid-body");
const space = byId("grid-space");
/** Known rows in the order of the table, and those of them that the filter leaves. */
let sorted = known;
let shown = sorted;
let chosenRow = -1;
let sorting = { column: "state", down: false };

const size = (row) => {
  const [error, limit] = [number(errorOf(row)), number(limitOf(row))];
  if (error === null || error === undefined) return -1;
  if (!Number.isFinite(error)) return Infinity;
  return limit > 0 ? error / limit : error > 0 ? Infinity : 0;
};
const typeText = (row) => texts[(columns.rightType[row] || columns.leftType[row]) - 1] ?? "";
const columnsShown = [
  { name: "order", of: (row) => columns.order[row] },
  { name: "tensor", of: tensorOf },
  { name: "state", of: (row) => STATES.indexOf(stateOf(row)) },
  { name: "error", of: size },
  { name: "type", of: typeText },
  { name: "side", of: null },
  ...STATISTICS.map((name, index) => ({ name, of: (row) => Number(valueOf(row, 1, index) ?? 0) || 0 })),
];

const cellWith = (kind, title, ...children) => element("div", { role: "cell", class: kind, title }, ...children);
const lines = (pair, title = pair.join("\n")) => cellWith("two mono", title, pair.join("\n"));

/** Operation above, value of it below; the start of a long name gives way. */
function nameCell(row) {
  const [tensor, op] = [tensorOf(row), opOf(row)];
  const rest = tensor.startsWith(`${op}.`) ? tensor.slice(op.length + 1) : "";
  const where = byId("all-units").checked ? `${unitName(row)} · ` : "";
  return cellWith("mono", tensor,
    element("div", { class: "operation" }, element("bdi", {}, rest === "" ? tensor : op)),
    element("span", { class: "quiet" }, `${where}${rest === "" ? word(`kind_${kindOf(row)}`) : rest}`));
}

/** Element type above, shape below; both sides where they are not alike. */
function typeCell(sides) {
  const both = sides.map((side) => (side === null ? NOTHING : typeOf(side)));
  const known = both.filter((type) => type !== NOTHING);
  if (known.length === 2 && both[0] !== both[1]) return lines(both, both.map((type, at) => `${data.labels[at]}: ${type}`).join("\n"));
  const [type, ...shape] = known[0].split(" ");
  return lines([type, shape.join(" ")], known[0]);
}

function valueCell(sides, index) {
  const shownTexts = sides.map((side) => statistic(side, index));
  const titles = sides.map((side, at) => `${data.labels[at]}: ${shownTexts[at] === NOTHING ? whyEmpty(side) : side.values[index]}`);
  return lines(shownTexts, titles.join("\n"));
}

/** The error above, what rounding and inputs explain of it below. */
function errorCell(row) {
  if (errorOf(row) === null) return cellWith("mono", word("page_no_error"), NOTHING);
  const [error, limit] = [relative(errorOf(row)), relative(limitOf(row))];
  return lines([error, limit], `${word("page_error")} ${error}\n${word("page_limit")} ${limit}`);
}

function cell(row, sides, name, state) {
  switch (name) {
    case "order": return cellWith(null, unitName(row), String(columns.order[row]));
    case "tensor": return nameCell(row);
    case "state": return cellWith(`s-${state}`, reasonOf(row) === "" ? null : `${word("page_reason")}: ${reasonOf(row)}`, stateName(state));
    case "error": return errorCell(row);
    case "type": return typeCell(sides);
    case "side": return lines(data.labels);
    default: return valueCell(sides, STATISTICS.indexOf(name));
  }
}

/** Few rows leave no empty table behind. */
const tall = () => Math.min(484, Math.max(3 * ROW, shown.length * ROW));

function drawRows() {
  const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 4);
  const last = Math.min(shown.length, first + Math.ceil(body.clientHeight / ROW) + 8);
  const made = [];
  for (let index = first; index < last; index += 1) {
    const row = shown[index];
    const [state, sides] = [stateOf(row), sidesOf(row)];
    const look = { first: "grid-row first", inherited: "grid-row dim" }[state] ?? "grid-row";
    const line = element("div", { class: look, role: "row", "aria-rowindex": index + 1, "aria-selected": String(index === chosenRow) },
      ...columnsShown.map((column) => cell(row, sides, column.name, state)));
    line.style.top = `${index * ROW}px`;
    line.addEventListener("click", () => choose(index));
    made.push(line);
  }
  space.style.height = `${shown.length * ROW}px`;
  space.replaceChildren(...made);
}

/** Which rows hold a text in the name of their tensor, their module or their reason. */
function searched(wanted) {
  if (wanted === "") return () => true;
  // A name is looked at once, however many rows have it.
  const has = Uint8Array.from(texts, (text) => text.toLowerCase().includes(wanted));
  const isAcross = wanted.includes(".");
  return (row) => {
    const tensor = columns.tensor[row];
    if (has[tensor >>> 1] || has[columns.module[row]] || has[columns.reason[row]]) return true;
    if (isWhole(tensor)) return false;
    return has[columns.op[row]] === 1 || (isAcross && tensorOf(row).toLowerCase().includes(wanted));
  };
}

/** Which rows are in the chosen step and rank, or in all of them. */
function inUnit() {
  const unit = data.units[chosenUnit];
  if (!unit || byId("all-units").checked) return () => true;
  const place = unitPlaces.findIndex(([step, rank]) => step === unit.step && rank === unit.rank);
  return (row) => columns.unit[row] === place;
}

/** Shows the rows that are wanted, in the order of the table. */
function filter() {
  const state = byId("state").value;
  const kind = KINDS.indexOf(byId("kind").value);
  const isWanted = { "": () => true, wrong: (row) => codeOf(row) !== AGREES }[state] ?? ((row) => stateOf(row) === state);
  const [isInUnit, has] = [inUnit(), searched(byId("search").value.trim().toLowerCase())];
  const isInModule = (row) => inModule === null || inModule.has(columns.op[row]);
  const isKind = (row) => kind === -1 || columns.kind[row] === kind;
  shown = sorted.filter((row) => isInUnit(row) && isWanted(row) && isKind(row) && isInModule(row) && has(row));
  const isReading = byId("operations").getAttribute("aria-busy") === "true";
  const notes = [total > count ? word("page_left_out", { total }) : "", isReading ? word("page_reading") : ""];
  byId("count").textContent = [word("page_count", { shown: shown.length, total: count }), ...notes].filter(Boolean).join(" ");
  body.style.height = `${tall()}px`;
  body.scrollTop = 0;
  // The first wrong value is open from the start; anything else waits to be chosen.
  choose(shown.length > 0 && isFirst(shown[0]) ? 0 : -1);
}

/** Brings the known rows into the order of a column; equal ones stay in the order in which they ran. */
function sort() {
  const { column, down } = sorting;
  sorted = known;
  if (column === "order" && !down) return;
  const of = columnsShown.find(({ name }) => name === column).of;
  const cells = Array.from(known, of);
  const sign = down ? -1 : 1;
  const compare = (a, b) => (cells[a] === cells[b] ? a - b : cells[a] < cells[b] ? -sign : sign);
  sorted = known.map((_, index) => index).sort(compare).map((index) => known[index]);
}

function choose(index) {
  chosenRow = Math.min(index, shown.length - 1);
  if (chosenRow >= 0) {
    const top = chosenRow * ROW;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + ROW > body.scrollTop + body.clientHeight) body.scrollTop = top + ROW - body.clientHeight;
  }
  drawRows();
  detail(chosenRow < 0 ? null : shown[chosenRow]);
}

/** Everything a row knows, below the table. */
function detail(row) {
  const host = byId("detail");
  host.replaceChildren();
  if (row === null) return;
  const told = (name, text) => [element("dt", {}, name), element("dd", {}, text)];
  const code = (text) => element("code", {}, text);
  const [state, module, reason] = [stateName(stateOf(row)), moduleOf(row), reasonOf(row)];
  const facts = element("dl", {},
    ...told(word("page_operation"), code(`${unitName(row)}: ${opOf(row)}`)),
    ...(module === "" ? [] : told(word("page_module").replace(/[:：]$/, ""), code(module))),
    ...told(word("page_state"), element("span", { class: `s-${stateOf(row)}` }, reason === "" ? state : `${state} (${reason})`)),
    ...(errorOf(row) === null ? [] : [...told(word("page_error"), relative(errorOf(row))), ...told(word("page_limit"), relative(limitOf(row)))]),
    ...metricsOf(row).flatMap(([name, value]) => told(code(name), short(value))));
  host.append(element("h3", {}, code(tensorOf(row))), element("div", { class: "two-up" }, longSides(row), facts));
}

function heads() {
  for (const column of columnsShown) {
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
      sort();
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
  choices("state", [...(wrong > 0 ? [["wrong", word("page_wrong")]] : []), ["", word("page_all")], ...STATES.map((state) => [state, stateName(state)])]);
  choices("kind", [["", word("page_all")], ...KINDS.map((kind) => [kind, word(`kind_${kind}`)])]);
  if (wrong === 0) sorting = { column: "order", down: false };
  heads();
  sort();
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
