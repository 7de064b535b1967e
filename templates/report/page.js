// Draws what the page's HTML leaves open: curves, divergence profile, module tree and the table of operations.
// Text from artifacts only ever becomes textContent.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const word = (key) => data.words[key] ?? key;
  const byId = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /** An element with attributes, text and children. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** A number as the other documents show it: four significant digits. JSON carries NaN and infinity as words. */
  function short(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "string") return value;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
    return String(Number(value.toPrecision(4)));
  }

  const number = (value) => (typeof value === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] : value);

  // ---- charts ---------------------------------------------------------------------------------------------------

  const charts = [];

  /** Registers a chart: `draw(width)` makes it; it is made again when the colours change. */
  function chart(host, draw) {
    const entry = { host, draw, plot: null };
    charts.push(entry);
    make(entry);
    return entry;
  }

  function make(entry) {
    entry.plot?.destroy();
    entry.host.replaceChildren();
    entry.plot = entry.draw(Math.max(320, entry.host.clientWidth));
  }

  dark.addEventListener("change", () => charts.forEach(make));
  let resizing;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => charts.forEach((entry) => entry.plot?.setSize({
      width: Math.max(320, entry.host.clientWidth), height: entry.plot.height,
    })), 150);
  });

  function axis(label, extra = {}) {
    return {
      label, labelSize: 22, stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 },
      ticks: { stroke: colour("line") }, ...extra,
    };
  }

  /** Shows `text(index)` beside the cursor. */
  function tip(text) {
    let box;
    return {
      hooks: {
        init: (plot) => {
          box = element("div", { class: "tip", hidden: "" });
          plot.over.append(box);
        },
        setCursor: (plot) => {
          const { idx, left, top } = plot.cursor;
          const shown = idx === null || idx === undefined || left < 0 ? "" : text(idx);
          box.hidden = shown === "";
          if (box.hidden) return;
          box.textContent = shown;
          const right = left > plot.over.clientWidth / 2;
          box.style.left = right ? "" : `${left + 14}px`;
          box.style.right = right ? `${plot.over.clientWidth - left + 14}px` : "";
          box.style.top = `${Math.max(0, top - 30)}px`;
        },
      },
    };
  }

  /** A vertical line with a name at `x`. */
  function mark(x, label, name) {
    return {
      hooks: {
        draw: (plot) => {
          if (x === null || x < plot.scales.x.min || x > plot.scales.x.max) return;
          const at = plot.valToPos(x, "x", true);
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.strokeStyle = ctx.fillStyle = colour(name);
          ctx.lineWidth = devicePixelRatio;
          ctx.beginPath();
          ctx.moveTo(at, bbox.top);
          ctx.lineTo(at, bbox.top + bbox.height);
          ctx.stroke();
          ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
          const right = at > bbox.left + bbox.width / 2;
          ctx.textAlign = right ? "right" : "left";
          const start = at + (right ? -6 : 6) * devicePixelRatio;
          const wide = ctx.measureText(label).width;
          ctx.fillStyle = colour("paper");
          ctx.fillRect(right ? start - wide : start, bbox.top + 2 * devicePixelRatio, wide, 16 * devicePixelRatio);
          ctx.fillStyle = colour(name);
          ctx.fillText(label, start, bbox.top + 14 * devicePixelRatio);
          ctx.restore();
        },
      },
    };
  }

  // ---- curves ---------------------------------------------------------------------------------------------------

  function curve(host, unit) {
    const { step, baseline, candidate, band = [] } = unit.series;
    const [left, right] = [baseline.map(number), candidate.map(number)];
    const finite = (values) => values.map((value) => (Number.isFinite(value) ? value : null));
    const difference = left.map((value, index) => {
      const relative = Math.abs(right[index] - value) / Math.abs(value);
      return Number.isFinite(relative) ? relative : null;
    });
    const text = (index) => `${word("page_step")} ${step[index]}\n${word("page_baseline")} ${short(baseline[index])}\n`
      + `${word("page_candidate")} ${short(candidate[index])}\n${word("page_difference")} ${short(difference[index])}`;
    const sync = { key: `curve-${unit.run}-${unit.metric}` };
    const options = (width, height, more) => ({
      width, height, legend: { live: false }, cursor: { sync, drag: { x: true, y: false } }, scales: { x: { time: false } },
      axes: [axis(word("page_step")), axis("", { size: 70, values: (_, splits) => splits.map(short) })], ...more,
    });
    const line = (label, name, extra = {}) => ({ label, stroke: colour(name), width: 1.5, points: { show: step.length < 60 }, ...extra });
    const top = element("div", { class: "chart" });
    const below = element("div", { class: "chart" });
    host.append(top, below);
    chart(top, (width) => new uPlot(options(width, 280, {
      title: `${unit.metric}${unit.run === "" ? "" : ` (${unit.run})`} · ${word(`verdict_${unit.verdict}`)}`,
      series: [{ label: word("page_step") }, line(word("page_baseline"), "baseline"), line(word("page_candidate"), "candidate", { dash: [6, 3] })],
      plugins: [tip(text), mark(unit.first_diverging_step, word("page_first_diverging"), "fail")],
    }), [step, finite(left), finite(right)], top));
    const limits = band.length === step.length ? [band.map(number)] : [];
    chart(below, (width) => new uPlot(options(width, 160, {
      series: [{ label: word("page_step") }, line(word("page_difference"), "candidate"),
        ...limits.map(() => line(word("page_noise_limit"), "limit", { dash: [4, 4] }))],
      plugins: [mark(unit.first_diverging_step, "", "fail")],
    }), [step, difference, ...limits], below));
  }

  if (data.curves.length > 0) {
    byId("curves").hidden = false;
    data.curves.filter((unit) => unit.series.step.length > 0).forEach((unit) => curve(byId("curve-charts"), unit));
  }

  // ---- operations: one array per row, indexes into one list of strings ---------------------------------------------

  const { strings, sides, rows, metrics, total } = data.operations;
  const [STEP, RANK, ORDER, OP, MODULE, TENSOR, KIND, STATE, REASON, ERROR, LIMIT, LEFT, RIGHT, METRICS] = Array(14).keys();
  // A side: its own row name (null where it is the row's), element type, shape, then max, min, mean, norm or a value.
  const [SIDE_TENSOR, SIDE_TYPE, SIDE_SHAPE, SIDE_VALUES] = Array(4).keys();
  const unitName = (row) => (row[RANK] === null ? `step ${row[STEP]}` : `step ${row[STEP]} rank ${row[RANK]}`);
  let chosenUnit = 0;
  let chosenModule = null;
  let inModule = null;

  const inUnit = (row) => {
    const unit = data.units[chosenUnit];
    return !unit || (row[STEP] === unit.step && row[RANK] === unit.rank);
  };

  // ---- module tree ----------------------------------------------------------------------------------------------

  /** Operations of a unit by the module they ran in, and how many rows below each module differ. */
  function modules() {
    const parent = new Map();
    const differs = new Map();
    for (const row of rows) {
      if (!inUnit(row)) continue;
      parent.set(row[OP], row[MODULE]);
      if (row[STATE] === "differs") differs.set(row[OP], (differs.get(row[OP]) ?? 0) + 1);
    }
    const children = new Map();
    for (const [op, module] of parent) {
      if (strings[module] === "" || module === op) continue;
      if (!children.has(module)) children.set(module, []);
      children.get(module).push(op);
    }
    const roots = [...children.keys()].filter((op) => !parent.has(op) || strings[parent.get(op)] === "");
    return { children, differs, roots };
  }

  /** Everything below a module; a damaged tree may hold a circle. */
  function below(children, op, seen = new Set()) {
    const open = [op];
    while (open.length > 0) {
      const next = open.pop();
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(children.get(next) ?? []));
    }
    return seen;
  }

  function drawTree() {
    const host = byId("tree");
    const { children, differs, roots } = modules();
    host.hidden = roots.length === 0;
    host.replaceChildren(moduleButton(null, word("page_all_modules"), 0, children));
    const drawn = new Set();
    const branch = (op, open) => {
      if (drawn.has(op)) return null;
      drawn.add(op);
      const count = [...below(children, op)].reduce((sum, one) => sum + (differs.get(one) ?? 0), 0);
      const button = moduleButton(op, strings[op], count, children);
      const parts = (children.get(op) ?? []).filter((child) => children.has(child));
      if (parts.length === 0) return button;
      const details = element("details", open ? { open: "" } : {}, element("summary", { tabindex: "-1" }, button));
      const fill = () => details.append(...parts.map((child) => branch(child, parts.length === 1)).filter(Boolean));
      // A deep model has thousands of modules: a branch is made when it is opened.
      if (open) fill();
      else details.addEventListener("toggle", fill, { once: true });
      return details;
    };
    host.append(...roots.map((op) => branch(op, roots.length === 1)).filter(Boolean));
  }

  function moduleButton(op, name, count, children) {
    const label = count > 0 ? element("span", { class: "differs" }, `${name} (${count})`) : name;
    const button = element("button", { type: "button", "aria-pressed": String(op === chosenModule) }, label);
    button.addEventListener("click", () => {
      chosenModule = op;
      inModule = op === null ? null : below(children, op);
      byId("tree").querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      const note = byId("chosen-module");
      note.hidden = op === null;
      note.textContent = op === null ? "" : `${word("page_module")} ${name}`;
      zoomTo(inModule);
      filter();
    });
    return button;
  }

  // ---- divergence profile ---------------------------------------------------------------------------------------

  let profile = null;

  function drawProfile() {
    const unit = data.units[chosenUnit];
    const host = byId("profile-chart");
    const errors = unit.error.map(number);
    const limits = unit.limit.map(number);
    const sizes = [...errors, ...limits].filter((value) => Number.isFinite(value) && value > 0);
    const floor = sizes.length > 0 ? 10 ** (Math.floor(Math.log10(Math.min(...sizes))) - 1) : 1e-9;
    const top = 10 ** Math.ceil(Math.log10(Math.max(floor * 100, ...sizes)) + 0.1);
    // A log axis has no zero: equal results lie on the floor, NaN and infinity at the top.
    const placed = errors.map((value) => (Number.isFinite(value) ? Math.max(value, floor) : top));
    const beyond = placed.map((value, index) => (errors[index] <= limits[index] ? null : value));
    const within = placed.map((value, index) => (errors[index] <= limits[index] ? value : null));
    const at = unit.op.indexOf(unit.culprit);
    const dots = (label, name) => ({ label, paths: () => null, stroke: colour(name), points: { show: true, size: 5, fill: colour(name) } });
    const text = (index) => `${unit.order[index]}: ${unit.op[index]}\n${word("page_error")} ${short(unit.error[index])}, `
      + `${word("page_noise_limit")} ${short(unit.limit[index])}`;
    if (profile !== null) charts.splice(charts.indexOf(profile), 1)[0].plot?.destroy();
    profile = chart(host, (width) => new uPlot({
      width, height: 380, legend: { live: false }, cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { distr: 3, log: 10, range: [floor, top] } },
      axes: [axis(word("page_order")), axis(word("page_error"), { size: 70, values: (_, splits) => splits.map((value) => (value === null ? "" : short(value))) })],
      series: [{ label: word("page_order") }, dots(word("state_agrees"), "pass"), dots(word("state_differs"), "fail"),
        { label: word("page_noise_limit"), stroke: colour("limit"), dash: [6, 4], width: 1.5, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }],
      plugins: [tip(text), mark(at < 0 ? null : unit.order[at], unit.culprit ?? "", "fail")],
    }, [unit.order, within, beyond, limits.map((value) => Math.max(value, floor))], host));
  }

  function zoom(factor) {
    const plot = profile?.plot;
    if (!plot) return;
    const { min, max } = plot.scales.x;
    const order = data.units[chosenUnit].order;
    if (factor === 0) plot.setScale("x", { min: order[0], max: order[order.length - 1] });
    else plot.setScale("x", { min: min + (max - min) * factor, max: max - (max - min) * factor });
  }

  /** Shows the stretch of the profile that a module covers. */
  function zoomTo(chosen) {
    const plot = profile?.plot;
    if (!plot) return;
    if (chosen === null) return zoom(0);
    const names = new Set([...chosen].map((index) => strings[index]));
    const unit = data.units[chosenUnit];
    const orders = unit.order.filter((_, index) => names.has(unit.op[index]));
    if (orders.length > 0) plot.setScale("x", { min: orders[0] - 1, max: orders[orders.length - 1] + 1 });
  }

  function chooseUnit(index) {
    chosenUnit = index;
    chosenModule = inModule = null;
    byId("chosen-module").hidden = true;
    drawTree();
    drawProfile();
    filter();
  }

  // ---- table ----------------------------------------------------------------------------------------------------

  const ROW = 44;
  const body = byId("grid-body");
  const space = byId("grid-space");
  let shown = [];
  let chosenRow = -1;
  let sorting = { column: "order", down: false };

  const both = (row, pick) => [row[LEFT], row[RIGHT]].map((side) => (side === null ? "" : pick(sides[side])));
  const value = (index) => (side) => {
    const text = side[SIDE_VALUES + index] ?? "";
    return Number.isFinite(Number(text)) && text !== "" ? short(Number(text)) : text;
  };
  const size = (row) => {
    const [error, limit] = [number(row[ERROR]), number(row[LIMIT])];
    if (error === null || error === undefined) return -1;
    if (!Number.isFinite(error)) return Infinity;
    return limit > 0 ? error / limit : error > 0 ? Infinity : 0;
  };
  const columns = [
    { name: "order", of: (row) => row[ORDER] },
    { name: "tensor", of: (row) => strings[row[TENSOR]] },
    { name: "state", of: (row) => row[STATE] },
    { name: "error", of: size },
    { name: "limit", of: (row) => number(row[LIMIT]) ?? -1 },
    { name: "type", of: (row) => both(row, (side) => strings[side[SIDE_TYPE]]).join() },
    ...["max", "min", "mean", "norm"].map((name, index) => ({ name, of: (row) => Number(both(row, value(index))[1]) || 0 })),
  ];

  function cell(row, name) {
    const two = (pair) => element("div", { role: "cell", class: "two mono", title: pair.join("\n") }, pair.join("\n"));
    switch (name) {
      case "order": return element("div", { role: "cell" }, String(row[ORDER]));
      case "tensor": return element("div", { role: "cell", class: "tensor mono", title: strings[row[TENSOR]] }, element("bdi", {}, strings[row[TENSOR]]));
      case "state": return element("div", { role: "cell", class: `s-${row[STATE]}` }, word(`state_${row[STATE]}`));
      case "error": return element("div", { role: "cell", class: "mono" }, short(row[ERROR]));
      case "limit": return element("div", { role: "cell", class: "mono" }, short(row[LIMIT]));
      case "type": return two(both(row, (side) => `${strings[side[SIDE_TYPE]]} ${strings[side[SIDE_SHAPE]]}`));
      default: return two(both(row, value(["max", "min", "mean", "norm"].indexOf(name))));
    }
  }

  /** Only the rows in sight are in the document. */
  function drawRows() {
    const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 4);
    const last = Math.min(shown.length, first + Math.ceil(body.clientHeight / ROW) + 8);
    const drawn = [];
    for (let index = first; index < last; index += 1) {
      const row = rows[shown[index]];
      const line = element("div", { class: "grid-row", role: "row", "aria-rowindex": index + 1, "aria-selected": String(index === chosenRow) },
        ...columns.map((column) => cell(row, column.name)));
      line.style.top = `${index * ROW}px`;
      line.addEventListener("click", () => choose(index));
      drawn.push(line);
    }
    space.style.height = `${shown.length * ROW}px`;
    space.replaceChildren(...drawn);
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
    shown = [];
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      if (!everywhere && !inUnit(row)) continue;
      if (inModule !== null && !inModule.has(row[OP])) continue;
      if (state !== "" && row[STATE] !== state) continue;
      if (kind !== "" && row[KIND] !== kind) continue;
      if (wanted !== "" && !has(row[TENSOR]) && !has(row[MODULE]) && !has(row[REASON])) continue;
      shown.push(index);
    }
    sort();
    const left = total > rows.length ? ` ${word("page_left_out").replace("{total}", total)}` : "";
    byId("count").textContent = word("page_count").replace("{shown}", shown.length).replace("{total}", rows.length) + left;
    body.scrollTop = 0;
    choose(-1);
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
    const line = (name, ...cells) => element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, element("code", {}, text))));
    const table = element("table", {}, element("tbody", {},
      line(word("page_operation"), `${unitName(row)}: ${strings[row[OP]]}`),
      line(word("page_module").replace(/[:：]$/, ""), strings[row[MODULE]]),
      line(word("page_state"), `${word(`state_${row[STATE]}`)} ${strings[row[REASON]]}`),
      line(word("page_error"), `${short(row[ERROR])} / ${short(row[LIMIT])}`),
      ...metrics.map((name, index) => (row[METRICS + index] === null ? null : line(name, short(row[METRICS + index]))))));
    const told = (side) => [
      strings[side[SIDE_TENSOR] ?? row[TENSOR]], `${strings[side[SIDE_TYPE]]} ${strings[side[SIDE_SHAPE]]}`,
      side.slice(SIDE_VALUES).join(", "),
    ];
    const [left, right] = both(row, told).map((side) => side || ["", "", ""]);
    const sides = element("table", {},
      element("thead", {}, element("tr", {}, element("th"), element("th", {}, word("page_baseline")), element("th", {}, word("page_candidate")))),
      element("tbody", {}, ...["page_tensor", "page_type", "page_values"].map((key, index) => line(word(key), left[index], right[index]))));
    host.append(table, sides);
  }

  function heads() {
    for (const column of columns) {
      const button = element("button", { type: "button" }, word(`page_${column.name}`));
      const head = element("div", { role: "columnheader", "aria-sort": "none" }, button);
      button.addEventListener("click", () => {
        const down = sorting.column === column.name ? !sorting.down : column.name === "error";
        sorting = { column: column.name, down };
        byId("grid-head").querySelectorAll("[role=columnheader]").forEach((one) => one.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        filter();
      });
      byId("grid-head").append(head);
    }
  }

  function choices(id, prefix, names) {
    byId(id).append(element("option", { value: "" }, word("page_all")), ...names.map((name) => element("option", { value: name }, word(prefix + name))));
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

  if (rows.length > 0) {
    byId("operations").hidden = false;
    heads();
    choices("state", "state_", ["differs", "agrees", "not-compared", "missing-on-candidate", "missing-on-baseline"]);
    choices("kind", "kind_", ["input", "parameter", "output", "parameter-gradient", "value"]);
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

  const drawable = data.units.filter((unit) => unit.order.length > 0);
  if (drawable.length > 0) {
    data.units = drawable;
    byId("profile").hidden = false;
    byId("unit").append(...drawable.map((unit, index) => element("option", { value: index }, `${unit.name} · ${word(`verdict_${unit.verdict}`)}`)));
    byId("unit").addEventListener("change", (event) => chooseUnit(Number(event.target.value)));
    document.querySelector('[data-zoom="in"]').addEventListener("click", () => zoom(0.25));
    document.querySelector('[data-zoom="out"]').addEventListener("click", () => zoom(0));
    // The unit that holds a culprit first: that is what a reader looks for.
    const first = Math.max(0, drawable.findIndex((unit) => unit.culprit !== null));
    byId("unit").value = String(first);
    chooseUnit(first);
  } else if (rows.length > 0) {
    data.units = [];
    filter();
  }
  document.querySelectorAll("nav [data-needs]").forEach((link) => {
    link.hidden = document.querySelector(link.getAttribute("href")).hidden;
  });
})();
