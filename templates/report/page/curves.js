// Training curves: both sides above, their relative difference below; above 0 the candidate is higher.
const RANKS = ["skipped", "pass", "warn", "incomplete", "fail"];
const rank = (unit) => RANKS.indexOf(unit.verdict);
const UNKNOWN = Number.MAX_VALUE;

/** The worst first; of equals the one that leaves its band first, then the order of the result. */
function byFailure(a, b) {
  return rank(b) - rank(a) || (a.first_diverging_step ?? UNKNOWN) - (b.first_diverging_step ?? UNKNOWN);
}

/** Whether there is no baseline to a curve. */
const isOfOneRun = (unit) => unit.series.baseline.every((value) => value === null);

/** First and last index of each stretch for which `holds`. */
function stretchesOf(length, holds) {
  const found = [];
  for (let index = 0; index < length; index += 1) {
    if (!holds(index)) continue;
    const last = found[found.length - 1];
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  }
  return found;
}

/** Stretches without a value. A side that logs every tenth step misses nothing in between. */
function missing(values) {
  const found = stretchesOf(values.length, (index) => values[index] === null);
  if (found.length <= 8) return { gaps: found, between: [] };
  const lengths = found.map(([from, to]) => to - from + 1).sort((a, b) => a - b);
  const usual = 3 * lengths[Math.floor(lengths.length / 2)];
  const isGap = ([from, to]) => to - from + 1 > usual;
  return { gaps: found.filter(isGap), between: found.filter((stretch) => !isGap(stretch)) };
}

/** A side's values to draw: null where the line breaks, undefined where it goes on over a step that was not logged. */
function drawn(values, between) {
  const line = values.map((value) => (Number.isFinite(value) ? value : null));
  for (const [from, to] of between) line.fill(undefined, from, to + 1);
  return line;
}

/** Stretches in which a side has no value, or one that is no number, as the x axis shows them. */
function marked(step, values, side, gaps) {
  const edge = (index, other) => (other < 0 || other >= step.length ? step[index] : (step[index] + step[other]) / 2);
  const stretch = ([from, to], look) => ({ from: edge(from, from - 1), to: edge(to, to + 1), ...look });
  const isBroken = (index) => values[index] !== null && !Number.isFinite(values[index]);
  const broken = stretchesOf(values.length, isBroken).map(([from, to]) => stretch([from, to], {
    colour: "fail", ink: "fail", alpha: 0.16, text: word("page_not_finite", { value: short(values[from]), side }),
  }));
  const look = { colour: "limit", ink: "quiet", alpha: 0.2, text: word("page_no_steps", { side }) };
  return [...broken, ...gaps.map((gap) => stretch(gap, look))];
}

/** The means of a side's windows, step by step: how reinforcement learning is judged. */
function windowMeans(unit, means) {
  let window = 0;
  return unit.series.step.map((step) => {
    while (window < means.length - 1 && unit.windows.to_step[window] < step) window += 1;
    return number(means[window]);
  });
}

/** A curve ready to draw. */
function prepared(unit) {
  const { step, baseline, candidate, band = [] } = unit.series;
  const sides = [baseline.map(number), candidate.map(number)];
  // A run alone lacks nothing.
  const holes = sides.map((values, side) => (side === 0 && isOfOneRun(unit) ? { gaps: [], between: [] } : missing(values)));
  const lines = sides.map((values, side) => drawn(values, holes[side].between).map((value) => near(value, unit.ends)));
  const most = unit.largest_difference;
  const difference = sides[0].map((value, index) => {
    const other = sides[1][index];
    if (value === null || other === null) return holes[0].between.length + holes[1].between.length > 0 ? undefined : null;
    const size = value === other ? 0 : (other - value) / (unit.windows ? 1 : Math.abs(value));
    return Number.isFinite(size) ? near(size, most === null ? null : [-most, most]) : null;
  });
  const stretches = sides.flatMap((values, side) => marked(step, values, data.labels[side], holes[side].gaps));
  const told = sides[0].map((value, index) => (unit.windows ? sides[1][index] - value : value === sides[1][index] ? 0 : (sides[1][index] - value) / Math.abs(value)));
  const text = (index) => `${word("page_step")} ${step[index]}\n${BASELINE} ${short(baseline[index])}\n`
    + `${CANDIDATE} ${short(candidate[index])}\n${word(unit.windows ? "page_plain_difference" : "page_difference")} ${difference[index] === null || difference[index] === undefined ? NOTHING : sized(unit, told[index])}`;
  const windows = unit.windows ? [windowMeans(unit, unit.windows.baseline), windowMeans(unit, unit.windows.candidate)] : [];
  const noise = band.length === step.length ? band.map(number) : null;
  return { unit, step, lines, difference, stretches, text, noise, windows };
}

const curveName = (unit) => `${unit.metric}${unit.run ? ` (${unit.run})` : ""}`;

function curveOptions(width, height, shown, more) {
  const sync = { key: `curve-${curveName(shown.unit)}` };
  return {
    width, height, legend: { live: false }, cursor: { sync, drag: { x: true, y: false } }, scales: { x: { time: false } }, ...more,
  };
}

/** Looks of both sides: discs on a wide line below squares on a narrow one, so that both are seen where they are equal. */
const LOOKS = [
  { colour: "baseline", shape: "disc", size: 4, width: 4, shift: 0.25 },
  { colour: "candidate", shape: "square", size: 3, width: 1.5, shift: 0.75 },
];

/** Both sides against the step, or the only one. */
function drawSides(host, shown, height) {
  const { unit, step, lines, stretches, text, windows } = shown;
  // Single steps of sampled rollouts differ by much: they are drawn thin, the means of windows thick.
  const thin = windows.length > 0 ? { width: 1, alpha: 0.4, shape: undefined } : {};
  const isAlone = isOfOneRun(unit);
  const sides = LOOKS.map((look, side) => looking(data.labels[side], { ...look, ...thin, ...(windows.length > 0 && side === 0 ? { dash: [3, 2] } : {}) }));
  const thick = windows.map((_, side) => looking(word("page_window_mean_of", { side: data.labels[side] }), { ...LOOKS[side], width: 4, size: 5 }));
  const first = unit.first_diverging_step;
  const name = first === null || first === undefined ? "" : word("page_first_diverging", { step: first });
  return chart(host, (width, room) => new uPlot(curveOptions(width, room, shown, {
    scales: { x: { time: false }, y: { range: rangeWithin(unit.ends) } },
    axes: [axis("", { incrs: WHOLE }), axis("", { size: 64, values: (_, splits) => splits.map(short) })],
    series: [{ label: word("page_step") }, ...(isAlone ? sides.slice(1) : sides), ...thick],
    plugins: [shaded(stretches), tip(text), mark(first, name, "fail"), marks()],
  }), [step, ...(isAlone ? lines.slice(1) : lines), ...windows], host), height);
}

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${relative(Math.abs(value))}`;

/** A difference: in parts of the baseline, or in the metric's own unit. */
const sized = (unit, value) => (unit.windows ? short(value) : signed(value));

/** Lines above and below 0; the legend names the first of both. */
const bounds = (values, name, of, dash) => [1, -1].map((sign) => ({
  values: values.map((value) => sign * value),
  line: looking(name, { colour: of, dash, width: 1.5 }, { class: sign > 0 ? null : "unnamed" }),
}));

/** The relative difference against the step, with what it may be. */
function drawDifference(host, shown, height) {
  const { unit, step, difference, noise, text, windows } = shown;
  const apart = windows.length > 0 ? step.map((_, index) => windows[1][index] - windows[0][index]) : null;
  const limit = number(unit.limit ?? null);
  const name = limit === null ? "" : word("page_mean_limit", { limit: `±${relative(limit)}` });
  const lines = [
    ...(limit === null ? [] : bounds(step.map(() => limit), name, "fail", [8, 6])),
    ...(apart === null ? [] : [{ values: apart, line: looking(word("page_window_mean"), { colour: "limit", width: 4 }) }]),
    ...(noise === null ? [] : bounds(noise, word("page_recorded_noise"), "limit", [3, 3])),
  ];
  const most = unit.largest_difference ?? Infinity;
  const inSight = difference.filter((value) => Number.isFinite(value) && Math.abs(value) <= most);
  const all = [inSight, ...lines.map(({ values }) => values)].flat().filter(Number.isFinite);
  const [low, high] = [all.reduce((a, b) => Math.min(a, b), 0), all.reduce((a, b) => Math.max(a, b), 0)];
  const air = (high - low) * 0.06 || 0.01;
  return chart(host, (width, room) => new uPlot(curveOptions(width, room, shown, {
    scales: { x: { time: false }, y: { range: () => [low - air, high + air] } },
    axes: [axis(word("page_step"), { incrs: WHOLE }), axis("", { size: 64, values: (_, splits) => splits.map(unit.windows ? short : signedTick) })],
    series: [{ label: word("page_step") }, looking(word(unit.windows ? "page_plain_difference" : "page_difference"), { colour: "ink", shape: "disc", size: 2.5, ...(apart === null ? {} : { width: 1, alpha: 0.4 }) }), ...lines.map(({ line }) => line)],
    plugins: [shaded(shown.stretches.map((stretch) => ({ ...stretch, text: "" }))), tip(text), mark(unit.first_diverging_step, "", "fail"), marks()],
  }), [step, difference, ...lines.map(({ values }) => values)], host), height);
}

data.curves = data.curves.filter((unit) => unit.series.step.length > 0).sort(byFailure);

function drawCurves() {
  byId("curves").hidden = data.curves.length === 0;
  for (const unit of data.curves) {
    const shown = prepared(unit);
    const [above, below] = [element("div", { class: "chart" }), element("div", { class: "chart" })];
    const head = element("h3", {}, element("span", { class: `sign ${unit.verdict}` }), ` ${curveName(unit)} · ${word(`verdict_${unit.verdict}`)}`);
    byId("curve-charts").append(head, above);
    drawSides(above, shown, 260);
    if (isOfOneRun(unit)) continue;
    byId("curve-charts").append(below);
    drawDifference(below, shown, 170);
  }
}
