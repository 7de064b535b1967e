// Error against execution order of one step and rank.

/** Operations of a unit with a row that differs: `inherited` where the inputs explain every one of these rows. */
function differing(unit) {
  const found = new Map();
  for (const row of rowsOf(unit)) {
    if (codeOf(row) !== DIFFERS) continue;
    const op = opOf(row);
    if (isInherited(row) && !isFirst(row)) found.set(op, found.get(op) ?? "inherited");
    else found.set(op, "differs");
  }
  return found;
}

/** Stretches of the execution order that only one side ran. */
function oneSided(unit) {
  const found = new Map([["missing-on-candidate", new Set()], ["missing-on-baseline", new Set()]]);
  for (const row of rowsOf(unit)) found.get(CODES[codeOf(row)])?.add(columns.order[row]);
  return [...found].flatMap(([state, orders]) => {
    const stretches = [];
    for (const order of [...orders].sort((a, b) => a - b)) {
      if (order - 1 === stretches.at(-1)?.[1]) stretches.at(-1)[1] = order;
      else stretches.push([order, order]);
    }
    return stretches.map(([from, to]) => ({
      from: from - 0.5, to: to + 0.5, colour: "incomplete", ink: "incomplete", alpha: 0.16, text: stateName(state),
    }));
  });
}

/** The profile as three sets of points: within rounding, inherited, and with error of its own. */
function prepareProfile(unit) {
  const errors = unit.error.map(number);
  const limits = unit.limit.map(number);
  const { floor, top, is_cut_below: isCut, is_cut_above: isAbove, has_infinite: isBroken } = unit.axis;
  // A log axis has no zero: equal results lie on the floor, NaN and infinity at the top.
  const placed = errors.map((value) => (Number.isFinite(value) ? Math.min(Math.max(value, floor), top) : top));
  const differs = differing(unit);
  const kind = (index) => {
    if (unit.op[index] === unit.culprit) return "differs";
    return differs.get(unit.op[index]) ?? (errors[index] > limits[index] && count === 0 ? "differs" : "agrees");
  };
  const kinds = placed.map((_, index) => kind(index));
  const of = (wanted) => placed.map((value, index) => (kinds[index] === wanted ? value : null));
  const text = (index) => `${unit.order[index]}: ${unit.op[index]}\n${word(`state_${kinds[index]}`, NAMES)}\n`
    + `${word("page_error")} ${relative(unit.error[index])}\n${word("page_rounding")} ${relative(unit.limit[index])}`;
  const isAt = (value, end) => Math.abs(value / end - 1) < 1e-6;
  const ticks = (value) => {
    if (isAt(value, floor)) return isCut ? `≤ ${tick(floor)}` : tick(0);
    if (isAt(value, top) && isBroken) return "NaN, inf";
    return isAt(value, top) && isAbove ? `≥ ${tick(top)}` : tick(value);
  };
  return {
    unit, floor, top, isBroken, text, stretches: oneSided(unit), ticks,
    series: [of("agrees"), of("inherited"), of("differs"), limits.map((value) => (Number.isFinite(value) ? Math.min(Math.max(value, floor), top) : top))],
  };
}

function drawUnit(host, shown, height) {
  const { unit, floor, top, text, series, isBroken } = shown;
  const at = unit.op.indexOf(unit.culprit);
  const dots = (key, of, shape, size) => looking(word(key, NAMES), { colour: of, shape, size, line: false, hollow: shape === "diamond" });
  const name = at < 0 ? "" : word("page_first_wrong", { op: unit.culprit });
  return chart(host, (width, room) => new uPlot({
    width, height: room, legend: { live: false }, cursor: { drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { distr: 3, log: 10, range: () => [floor, top] } },
    axes: [axis(word("page_execution_order"), { incrs: WHOLE }), axis("", {
      size: 68, values: (_, splits) => splits.map((value) => (value === null ? "" : shown.ticks(value))),
      filter: thinnedTicks, grid: { stroke: colour("line"), width: 1, filter: decadesOnly }, ticks: { stroke: colour("line"), size: 5, filter: decadesOnly },
    })],
    series: [{ label: word("page_execution_order") }, dots("state_agrees", "pass", "disc", 2.5), dots("state_inherited", "inherited", "diamond", 3.5), dots("state_differs", "fail", "square", 4),
      looking(word("page_rounding"), { colour: "limit", dash: [6, 4] }, { paths: uPlot.paths.stepped({ align: 1 }) })],
    plugins: [shaded(shown.stretches), marks(), tip(text), mark(at < 0 ? null : unit.order[at], name, "fail", isBroken ? 1 : 0)],
  }, [unit.order, ...series], host), height);
}

const isDecade = (value) => value > 0 && Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
const decadesOnly = (_, splits) => splits.map((value) => (isDecade(value) ? value : null));

/** Whole decades only, and as many as there is room for. */
function thinnedTicks(plot, splits) {
  const decades = splits.filter(isDecade);
  const every = Math.max(1, Math.ceil(decades.length * 22 / Math.max(1, plot.bbox.height / devicePixelRatio)));
  const kept = new Set(decades.filter((_, index) => index % every === 0));
  return splits.map((value) => (kept.has(value) ? value : null));
}

let profile = null;

function drawProfile() {
  if (profile !== null) remove(profile);
  profile = drawUnit(byId("profile-chart"), prepareProfile(data.units[chosenUnit]), 300);
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
  const names = new Set([...chosen].map((index) => texts[index]));
  const unit = data.units[chosenUnit];
  const orders = unit.order.filter((_, index) => names.has(unit.op[index]));
  if (orders.length > 0) plot.setScale("x", { min: orders[0] - 1, max: orders[orders.length - 1] + 1 });
}
