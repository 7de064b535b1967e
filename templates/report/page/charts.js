// Charts: made by uPlot, made again when the colours change, sized by the place they stand in.
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const charts = [];

/** Registers a chart: `draw(width, height)` makes it. Without a `height` it fills its host, the legend included. */
function chart(host, draw, height = null) {
  const entry = { host, draw, height, plot: null };
  charts.push(entry);
  make(entry);
  places.observe(host);
  return entry;
}

const LEGEND = 28;
/** Width and height of a chart: one that fills its host leaves room for its legend, which has several rows where it is narrow. */
function extent(entry) {
  const legend = entry.plot?.root.querySelector(".u-legend")?.offsetHeight ?? LEGEND;
  return {
    width: Math.max(240, entry.host.clientWidth),
    height: entry.height ?? Math.max(120, entry.host.clientHeight - Math.max(LEGEND, legend + 4)),
  };
}

function fit(entry) {
  const size = extent(entry);
  if (size.width !== entry.plot.width || size.height !== entry.plot.height) entry.plot.setSize(size);
}

function make(entry) {
  entry.plot?.destroy();
  entry.plot = null;
  entry.host.replaceChildren();
  const { width, height } = extent(entry);
  entry.plot = entry.draw(width, height);
  fit(entry);
}

function remove(entry) {
  charts.splice(charts.indexOf(entry), 1);
  places.unobserve(entry.host);
  entry.plot?.destroy();
}

dark.addEventListener("change", () => charts.forEach(make));
/** A chart follows its place: the window, and what stands beside it. */
const places = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const entry = charts.find(({ host }) => host === target);
    if (entry?.plot) fit(entry);
  }
});

function axis(label, extra = {}) {
  return {
    label: label === "" ? null : label, labelSize: 20, size: 36, stroke: colour("quiet"), font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif", grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), size: 5 },
    ...extra,
  };
}

/** Distances of ticks on an axis of steps or of execution order: whole numbers. */
const WHOLE = Array.from({ length: 18 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

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

/** A text that is cut to a width. */
function cut(ctx, text, room) {
  let shown = text;
  while (shown.length > 1 && ctx.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

/** Writes a label beside `at`, on the side with more room and within the chart, `line` lines below the top. */
function label(plot, at, said, name, line = 0) {
  if (said === "") return;
  const { ctx, bbox } = plot;
  ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const text = cut(ctx, said, bbox.width - 12 * devicePixelRatio);
  const wide = ctx.measureText(text).width;
  const beside = at > bbox.left + bbox.width / 2 ? at - 6 * devicePixelRatio - wide : at + 6 * devicePixelRatio;
  const start = Math.max(bbox.left, Math.min(beside, bbox.left + bbox.width - wide));
  const top = bbox.top + (2 + 18 * line) * devicePixelRatio;
  ctx.fillStyle = colour("paper");
  ctx.fillRect(start, top, wide, 16 * devicePixelRatio);
  ctx.fillStyle = colour(name);
  ctx.fillText(text, start, top + 12 * devicePixelRatio);
}

/** A vertical line at `x`, below the curves so that it hides no spike, and its name above them. */
function mark(x, text, name, line = 0) {
  const isInSight = (plot) => x !== null && x !== undefined && x >= plot.scales.x.min && x <= plot.scales.x.max;
  return {
    hooks: {
      drawClear: (plot) => {
        if (!isInSight(plot)) return;
        const at = plot.valToPos(x, "x", true);
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.strokeStyle = colour(name);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
        ctx.beginPath();
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bbox.top + bbox.height);
        ctx.stroke();
        ctx.restore();
      },
      draw: (plot) => {
        if (!isInSight(plot)) return;
        plot.ctx.save();
        label(plot, plot.valToPos(x, "x", true), text, name, line);
        plot.ctx.restore();
      },
    },
  };
}

/** Shaded stretches of the x axis: `{ from, to, colour }`, and the first of each text named. */
function shaded(stretches) {
  const place = (plot, stretch) => {
    const { min, max } = plot.scales.x;
    if (stretch.to < min || stretch.from > max) return null;
    const ends = [Math.max(stretch.from, min), Math.min(stretch.to, max)].map((x) => plot.valToPos(x, "x", true));
    // A single step stays visible whatever the zoom.
    return ends[1] - ends[0] < 4 ? [ends[0] - 2, ends[0] + 2] : ends;
  };
  return {
    hooks: {
      drawClear: (plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        for (const stretch of stretches) {
          const ends = place(plot, stretch);
          if (ends === null) continue;
          ctx.globalAlpha = stretch.alpha;
          ctx.fillStyle = colour(stretch.colour);
          ctx.fillRect(ends[0], bbox.top, ends[1] - ends[0], bbox.height);
        }
        ctx.restore();
      },
      draw: (plot) => {
        const told = new Set();
        plot.ctx.save();
        for (const stretch of stretches) {
          const ends = place(plot, stretch);
          if (ends === null || stretch.text === "" || told.has(stretch.text)) continue;
          label(plot, ends[0], stretch.text, stretch.ink, 1 + told.size);
          told.add(stretch.text);
        }
        plot.ctx.restore();
      },
    },
  };
}

/** Points that no line reaches: values between two gaps. A short curve shows all of its points. */
function isLonely(values, index) {
  const is = (at) => values[at] !== null && values[at] !== undefined;
  return is(index) && (values.length < 60 || (!is(index - 1) && !is(index + 1)));
}

/** Outlines of marks around a point. */
const SHAPES = {
  disc: (x, y, r) => [`M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`],
  square: (x, y, r) => [`M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`],
  diamond: (x, y, r) => [`M${x},${y - 1.3 * r}l${1.3 * r},${1.3 * r}l${-1.3 * r},${1.3 * r}l${-1.3 * r},${-1.3 * r}z`],
  up: (x, y, r) => [`M${x},${y}l${r},${1.6 * r}h${-2 * r}z`],
  down: (x, y, r) => [`M${x},${y}l${r},${-1.6 * r}h${-2 * r}z`],
};

/**
 * A series by its look, of which the legend is made too: colour, and `shape`, `dash` or `width`, so that colour is never all that
 * tells two apart. A `shape` stands at every point where there is no `line`, else at about ten places along it, shifted by `shift`.
 */
function looking(label, look, extra = {}) {
  const ink = colour(look.colour);
  const line = look.line === false ? { paths: () => null } : {};
  return { label, look, stroke: ink, width: look.width ?? 1.5, dash: look.dash, alpha: look.alpha, points: { show: false }, ...line, ...extra };
}

/** Dots along a whole line. */
const DOTS = 9;

function drawMarks(plot, index) {
  const { look, alpha, show } = plot.series[index];
  if (look?.shape === undefined || !show) return;
  const { ctx, bbox, data } = plot;
  const [first, last] = plot.series[0].idxs ?? [0, -1];
  const r = (look.size ?? 3.5) * devicePixelRatio;
  let part = null;
  ctx.save();
  ctx.globalAlpha = alpha ?? 1;
  ctx.fillStyle = ctx.strokeStyle = colour(look.colour);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (let at = first; at <= last; at += 1) {
    const value = data[index][at];
    if (value === null || value === undefined) continue;
    const [x, y] = [plot.valToPos(data[0][at], "x", true), plot.valToPos(value, "y", true)];
    const here = Math.floor(((x - bbox.left) / bbox.width) * DOTS + (look.shift ?? 0));
    const isDue = look.line === false || isLonely(data[index], at) || (part !== null && here !== part);
    part = here;
    const isAbove = y < bbox.top - 1;
    const isBeyond = isAbove || y > bbox.top + bbox.height + 1;
    if (!isDue && !isBeyond) continue;
    // What lies beyond the axis stands at its edge, as a triangle that points there.
    const [shape, place] = isBeyond ? [isAbove ? "up" : "down", isAbove ? bbox.top : bbox.top + bbox.height] : [look.shape, y];
    const path = new Path2D(SHAPES[shape](x, place, isBeyond ? 1.6 * r : r)[0]);
    if (look.hollow && !isBeyond) ctx.stroke(path);
    else ctx.fill(path);
  }
  ctx.restore();
}

/** The mark of a legend: what the chart draws. */
function legendMark({ look }) {
  const named = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const ink = colour(look.colour);
  const made = named("svg", { width: 30, height: 14, "aria-hidden": "true" });
  const dash = look.dash === undefined ? {} : { "stroke-dasharray": look.dash.join(" ") };
  if (look.line !== false) made.append(named("path", { d: "M1,7h28", stroke: ink, "stroke-width": look.width ?? 1.5, ...dash }));
  if (look.shape !== undefined) {
    const fill = look.hollow ? { fill: "none", stroke: ink, "stroke-width": 1.5 } : { fill: ink };
    made.append(named("path", { d: SHAPES[look.shape](15, 7, look.size ?? 4)[0], ...fill }));
  }
  return made;
}

/** Draws the marks of all series, and the legend that names them. */
const marks = () => ({
  hooks: {
    init: (plot) => {
      const shown = plot.series.filter((one, index) => index > 0);
      plot.root.querySelectorAll(".u-legend .u-series").forEach((row, index) => {
        const mark = row.querySelector(".u-marker");
        if (shown[index]?.look !== undefined) mark?.replaceChildren(legendMark(shown[index]));
      });
    },
    draw: (plot) => plot.series.forEach((_, index) => index > 0 && drawMarks(plot, index)),
  },
});

/** A range of an axis around what is in sight, no further than `ends`: on an axis up to a single 1e300 nothing could be told apart. */
const rangeWithin = (ends) => (_, min, max) => {
  if (min === null || max === null) return [0, 1];
  const [low, high] = ends === null ? [min, max] : [Math.max(min, ends[0]), Math.min(max, ends[1])];
  return low <= high ? uPlot.rangeNum(low, high, 0.1, true) : uPlot.rangeNum(ends[0], ends[1], 0.1, true);
};

/** A value as far beyond the ends of its axis as a canvas can draw. */
const near = (value, ends) => {
  if (ends === null || value === null || value === undefined) return value;
  const room = 10 * (ends[1] - ends[0] || Math.abs(ends[1]) || 1);
  return Math.min(Math.max(value, ends[0] - room), ends[1] + room);
};
