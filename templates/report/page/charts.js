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
const extent = (entry) => ({
  width: Math.max(240, entry.host.clientWidth),
  height: entry.height ?? Math.max(120, entry.host.clientHeight - LEGEND),
});

function make(entry) {
  entry.plot?.destroy();
  entry.host.replaceChildren();
  const { width, height } = extent(entry);
  entry.plot = entry.draw(width, height);
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
    const size = entry === undefined ? null : extent(entry);
    if (size !== null && (size.width !== entry.plot.width || size.height !== entry.plot.height)) entry.plot.setSize(size);
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

/** Writes a label beside `at`, on the side with more room, `line` lines below the top. */
function label(plot, at, text, name, line = 0) {
  if (text === "") return;
  const { ctx, bbox } = plot;
  ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  const right = at > bbox.left + bbox.width / 2;
  ctx.textAlign = right ? "right" : "left";
  ctx.textBaseline = "alphabetic";
  const start = at + (right ? -6 : 6) * devicePixelRatio;
  const wide = ctx.measureText(text).width;
  const top = bbox.top + (2 + 18 * line) * devicePixelRatio;
  ctx.fillStyle = colour("paper");
  ctx.fillRect(right ? start - wide : start, top, wide, 16 * devicePixelRatio);
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
function lonely(plot, series) {
  const values = plot.data[series];
  if (values.length < 60) return null;
  const alone = [];
  for (let index = 0; index < values.length; index += 1) {
    const is = (at) => values[at] !== null && values[at] !== undefined;
    if (is(index) && !is(index - 1) && !is(index + 1)) alone.push(index);
  }
  return alone;
}
