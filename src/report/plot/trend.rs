//! `trend.png`: the rules with something to say, or closest to their limits, over the last runs.

use std::ops::Range;

use jiff::tz::Offset;
use jiff::{Span, Timestamp};
use minijinja::context;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BitMapBackend, Cartesian2d, ChartBuilder, ChartContext, Circle, DashedLineSeries, EmptyElement, IntoLogRange,
    PathElement, Polygon, Rectangle,
};
use plotters::style::{Color, ShapeStyle};

use super::marks::{Legend, Mark, verdict_colour};
use super::{
    ALARM, Area, FAINT, GRID, INK, PAPER, WARN, drawable, internal, picture, pixel, style, text, verdict, words,
};
use crate::error::Result;
use crate::history::moment::{instant, noon};
use crate::report::ends::{self, within_axes};
use crate::report::messages::{Language, short_number, tick};
use crate::report::writer::Writer;
use crate::result::outcome::{LimitDirection, RuleKind, ValueUnit};
use crate::result::trend::{Change, Drift, Limit, Trend};
use crate::verdict::Verdict;

const WIDTH: u32 = 1600;
/// Height of the title without the legend, and of a panel.
const TITLE: u32 = 92;
const PANEL: u32 = 380;
/// Panels; further rules are counted.
const MOST_PANELS: usize = 6;
/// Panels side by side.
const COLUMNS: usize = 2;
/// Ratio of the largest to the smallest shown number from which on the axis is logarithmic.
const LOGARITHMIC: f64 = 30.0;
/// A limit farther above the values than this is not drawn: it would press them into a line.
const FAR: f64 = 100.0;
/// The same for a drift, whose line is straight on a linear axis only: above the limit that it leads to.
const FAR_BEYOND: f64 = 3.0;
/// Runs a day from which on they stand at equal distances: dots of one day would lie on each other.
const CROWDED: f64 = 3.0;
/// Days of an axis below which its marks tell the hour.
const FEW_DAYS: f64 = 4.0;
/// Characters of a panel's name.
const NAME: usize = 44;

type Chart<'a, 'b, Y> = ChartContext<'a, BitMapBackend<'b>, Cartesian2d<RangedCoordf64, Y>>;

/// Draws the first of `trends`, which come worst first; `None` where none has a value to draw.
pub fn trend_png(trends: &[Trend], language: Language) -> Result<Option<Vec<u8>>> {
    let words = words(language);
    let drawable: Vec<(&Trend, Frame)> =
        trends.iter().filter_map(|trend| Some((trend, Frame::around(trend)?))).collect();
    let shown = drawable.len().min(MOST_PANELS);
    if shown == 0 {
        return Ok(None);
    }
    let rows = shown.div_ceil(COLUMNS);
    let legend = legend(&words)?;
    let head = TITLE + u32::try_from(legend.height()).unwrap_or(0);
    let height = head + PANEL * u32::try_from(rows).unwrap_or(1);
    let bytes = picture(WIDTH, height, |root| {
        let (head, panels) = root.split_vertically(head);
        title(&head, drawable.len() - shown, &legend, &words)?;
        let areas = panels.split_evenly((rows, shown.min(COLUMNS)));
        for (area, (trend, frame)) in areas.iter().zip(&drawable) {
            panel(area, trend, frame, &words)?;
        }
        Ok(())
    })?;
    Ok(Some(bytes))
}

fn title(area: &Area<'_>, more: usize, legend: &Legend, words: &Writer) -> Result<()> {
    let more = if more > 0 { words.phrase("plot_more", &context! { more })? } else { String::new() };
    text(area, &format!("{}{more}", words.word("plot_trend")?), (40, 24), 40, INK)?;
    legend.draw(area, 78)
}

fn legend(words: &Writer) -> Result<Legend> {
    let mut entries = Vec::new();
    for each in [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Incomplete] {
        entries.push((Mark::Sign(each), verdict(each, words)?));
    }
    entries.push((Mark::Dashed(WARN), words.word("warn_limit")?));
    entries.push((Mark::LongDashed(ALARM), words.word("fail_limit")?));
    entries.push((Mark::Plain(INK), words.word("plot_trend_level")?));
    Ok(Legend::new(entries, (40, pixel(WIDTH) - 40)))
}

/// Ranges of a panel's axes: days since its first run (or runs, where many share a day), and values.
struct Frame {
    start: Timestamp,
    days: Range<f64>,
    /// Times of the runs where these stand at equal distances; empty where they stand at their days.
    runs: Vec<Timestamp>,
    values: Range<f64>,
    is_logarithmic: bool,
}

impl Frame {
    /// Around the finite values, the limits that are near, and a drift's way to its limit; `None` without a value.
    fn around(trend: &Trend) -> Option<Self> {
        let ends = ends::usual_range(trend.last.iter().map(|run| run.value.0))?;
        let values = || trend.last.iter().map(|run| run.value.0);
        let finite = || values().filter(|value| (ends.0..=ends.1).contains(value));
        let (start, end) = (instant(&trend.last.first()?.time), instant(&trend.last.last()?.time));
        let highest = finite().reduce(f64::max)?;
        let far = match &trend.drift {
            Some(drift) => FAR_BEYOND * limit_of(trend, drift).unwrap_or(highest),
            None => FAR * highest,
        };
        let near = [trend.warn, trend.fail]
            .into_iter()
            .flatten()
            .map(|limit| within_axes(limit.0))
            .filter(|limit| *limit <= far);
        let numbers: Vec<f64> = finite().chain(near).collect();
        let (low, high) = (numbers.iter().copied().reduce(f64::min)?, numbers.iter().copied().reduce(f64::max)?);
        let is_logarithmic = trend.drift.is_none() && low > 0.0 && high > LOGARITHMIC * low;
        let values = if is_logarithmic { low / 1.6..high * 1.6 } else { with_room(low, high) };
        let is_crowded = trend.drift.is_none() && trend.last.len() as f64 > CROWDED * (since(start, end) + 1.0);
        let runs: Vec<Timestamp> = trend.last.iter().filter(|_| is_crowded).map(|run| instant(&run.time)).collect();
        let last = if is_crowded { runs.len().saturating_sub(1) as f64 } else { since(start, end) };
        let crossing = trend.drift.as_ref().and_then(crossing).map(|time| since(start, time));
        // A crossing far ahead would press the runs into a corner.
        let until = crossing.map_or(last, |crossing| crossing.min(2.0 * last));
        // Runs of one hour are as far apart as those of a month.
        let room = if until > 0.0 { until * 0.03 } else { 0.5 };
        Some(Self { start, days: -room..until + room, runs, values, is_logarithmic })
    }

    fn day(&self, time: Timestamp) -> f64 {
        if self.runs.is_empty() {
            return since(self.start, time);
        }
        self.runs.partition_point(|run| *run < time) as f64
    }

    /// A mark of the axis: sums of steps miss zero by a rounding error.
    fn mark(&self, value: f64) -> f64 {
        let is_zero = !self.is_logarithmic && value.abs() < 1e-9 * (self.values.end - self.values.start);
        if is_zero { 0.0 } else { value }
    }

    /// The point of a run, inside the panel.
    fn point(&self, time: Timestamp, value: f64) -> (f64, f64) {
        (self.day(time), value.clamp(self.values.start, self.values.end))
    }

    /// Month and day of a day on the axis.
    fn date(&self, day: f64) -> String {
        if let Some(last) = self.runs.len().checked_sub(1) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place on the axis")]
            let nearest = (day.round().max(0.0) as usize).min(last);
            return self
                .runs
                .get(nearest)
                .map_or_else(String::new, |run| Offset::UTC.to_datetime(*run).strftime("%m-%d %H:%M").to_string());
        }
        #[allow(clippy::cast_possible_truncation, reason = "a day in a picture; what is beyond the calendar is empty")]
        let span = Span::new().try_seconds((day * 86_400.0) as i64);
        let time = span.and_then(|span| self.start.checked_add(span));
        let form = if self.days.end - self.days.start < FEW_DAYS { "%m-%d %H:%M" } else { "%m-%d" };
        time.map_or_else(|_| String::new(), |time| Offset::UTC.to_datetime(time).strftime(form).to_string())
    }
}

fn since(start: Timestamp, time: Timestamp) -> f64 {
    time.duration_since(start).as_secs_f64() / 86_400.0
}

/// Room around values on a linear axis; equal values get a tenth of themselves.
fn with_room(low: f64, high: f64) -> Range<f64> {
    let room = ((high - low) * 0.12).max(high.abs() * 0.05).max(f64::MIN_POSITIVE * 1e3);
    low - room..high + room
}

/// The limit that a drift leads to.
fn limit_of(trend: &Trend, drift: &Drift) -> Option<f64> {
    let limit = match drift.crosses.as_ref()?.limit {
        Limit::Warn => trend.warn,
        Limit::Fail => trend.fail,
    };
    limit.map(|limit| limit.0)
}

/// The moment at which a drift crosses its limit: the middle of the day.
fn crossing(drift: &Drift) -> Option<Timestamp> {
    noon(&drift.crosses.as_ref()?.on)
}

fn panel(area: &Area<'_>, trend: &Trend, frame: &Frame, words: &Writer) -> Result<()> {
    heading(area, trend, words)?;
    let mut chart = ChartBuilder::on(area);
    chart.margin_right(40).margin_top(76).margin_bottom(8).x_label_area_size(48).y_label_area_size(130);
    let (days, values) = (frame.days.clone(), frame.values.clone());
    if frame.is_logarithmic {
        let mut chart = chart.build_cartesian_2d(days, values.log_scale()).map_err(internal)?;
        fill(&mut chart, trend, frame)
    } else {
        let mut chart = chart.build_cartesian_2d(days, values).map_err(internal)?;
        fill(&mut chart, trend, frame)
    }
}

/// The rule's name, and its limits or what is to be said of it below.
fn heading(area: &Area<'_>, trend: &Trend, words: &Writer) -> Result<()> {
    let name = drawable(&format!("{} {}", trend.unit, trend.rule), NAME);
    text(area, &name, (134, 12), 28, INK)?;
    let crossing = trend.drift.as_ref().and_then(|drift| drift.crosses.as_ref());
    let (line, colour) = match (&trend.change, crossing) {
        (_, Some(crossing)) => {
            let (kind, on) = (crossing.limit.as_str(), crossing.on.to_string());
            (words.phrase("plot_trend_crosses", &context! { kind, on })?, ALARM)
        }
        (Some(change), None) => {
            (words.phrase("plot_trend_step", &context! { on => change.first_after.time.day() })?, ALARM)
        }
        (None, None) => (limits_in_words(trend, words)?, FAINT),
    };
    text(area, &line, (134, 46), 24, colour)
}

/// A value of a rule with its unit, as on the axes of the other pictures.
fn written(value: f64, trend: &Trend) -> String {
    let (unit, _) = RuleKind::held(&trend.rule);
    if unit == ValueUnit::Relative { tick(value) } else { short_number(value) }
}

fn limits_in_words(trend: &Trend, words: &Writer) -> Result<String> {
    let known = [("verdict_warn", trend.warn), ("verdict_fail", trend.fail)];
    let beyond = if trend.direction == LimitDirection::AtLeast { "<" } else { ">" };
    let named = known.into_iter().filter_map(|(key, limit)| Some((key, limit?.0)));
    let named: Vec<String> = named
        .map(|(key, limit)| Ok(format!("{} {beyond} {}", words.word(key)?, written(limit, trend))))
        .collect::<Result<_>>()?;
    Ok(named.join("   "))
}

fn fill<Y>(chart: &mut Chart<'_, '_, Y>, trend: &Trend, frame: &Frame) -> Result<()>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .x_label_formatter(&|day| frame.date(*day))
        .y_label_formatter(&|value| written(frame.mark(*value), trend))
        .y_labels(5)
        .x_labels(6)
        .light_line_style(PAPER)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(style(22, INK))
        .draw()
        .map_err(internal)?;
    limits(chart, trend, frame)?;
    if let Some(change) = &trend.change {
        step(chart, trend, change, frame)?;
    }
    if let Some(found) = &trend.drift {
        drift(chart, trend, found, frame)?;
    }
    runs(chart, trend, frame)
}

fn limits<Y: Ranged<ValueType = f64>>(chart: &mut Chart<'_, '_, Y>, trend: &Trend, frame: &Frame) -> Result<()> {
    for (limit, colour, dash) in [(trend.warn, WARN, (8, 10)), (trend.fail, ALARM, (26, 10))] {
        if let Some(limit) = limit.map(|limit| limit.0).filter(|limit| frame.values.contains(limit)) {
            let ends = [(frame.days.start, limit), (frame.days.end, limit)];
            let line = DashedLineSeries::new(ends, dash.0, dash.1, colour.stroke_width(3));
            chart.draw_series(line).map_err(internal)?;
        }
    }
    Ok(())
}

/// Signs of verdicts on a faint line, broken where a value is not finite.
fn runs<Y: Ranged<ValueType = f64>>(chart: &mut Chart<'_, '_, Y>, trend: &Trend, frame: &Frame) -> Result<()> {
    for stretch in trend.last.split(|run| !run.value.0.is_finite()) {
        let points: Vec<(f64, f64)> = stretch.iter().map(|run| frame.point(instant(&run.time), run.value.0)).collect();
        chart.draw_series([PathElement::new(points, INK.mix(0.25).stroke_width(2))]).map_err(internal)?;
        for verdict in [Verdict::Skipped, Verdict::Pass, Verdict::Warn, Verdict::Incomplete, Verdict::Fail] {
            let runs = stretch.iter().filter(|run| run.verdict == verdict);
            let places: Vec<(f64, f64)> = runs.map(|run| frame.point(instant(&run.time), run.value.0)).collect();
            signs(chart, &places, verdict)?;
        }
    }
    Ok(())
}

/// Draws the signs of verdicts at points of a chart, smaller than elsewhere, since there are many.
fn signs<Y: Ranged<ValueType = f64>>(
    chart: &mut Chart<'_, '_, Y>,
    places: &[(f64, f64)],
    verdict: Verdict,
) -> Result<()> {
    let fill = verdict_colour(verdict).filled();
    match verdict {
        Verdict::Pass => chart.draw_series(places.iter().map(|at| Circle::new(*at, 5, fill))).map_err(internal)?,
        Verdict::Fail => {
            let square = |at: &(f64, f64)| EmptyElement::at(*at) + Rectangle::new([(-6, -6), (6, 6)], fill);
            chart.draw_series(places.iter().map(square)).map_err(internal)?
        }
        Verdict::Warn => {
            let triangle = |at: &(f64, f64)| EmptyElement::at(*at) + Polygon::new([(0, -8), (-8, 6), (8, 6)], fill);
            chart.draw_series(places.iter().map(triangle)).map_err(internal)?
        }
        Verdict::Incomplete | Verdict::Skipped => {
            let corners = [(0, -8), (8, 0), (0, 8), (-8, 0), (0, -8)];
            let line = verdict_colour(verdict).stroke_width(3);
            let diamond = |at: &(f64, f64)| EmptyElement::at(*at) + PathElement::new(corners, line);
            chart.draw_series(places.iter().map(diamond)).map_err(internal)?
        }
    };
    Ok(())
}

/// Both levels, and a dashed line between the last run of one and the first of the other.
fn step<Y: Ranged<ValueType = f64>>(
    chart: &mut Chart<'_, '_, Y>,
    trend: &Trend,
    change: &Change,
    frame: &Frame,
) -> Result<()> {
    let (first, last) = (trend.last.first(), trend.last.last());
    let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
    for (from, to, level) in [
        (&first.time, &change.last_before.time, change.before.0),
        (&change.first_after.time, &last.time, change.after.0),
    ] {
        level_line(chart, frame.point(instant(from), level), frame.point(instant(to), level))?;
    }
    let between = (frame.day(instant(&change.last_before.time)) + frame.day(instant(&change.first_after.time))) / 2.0;
    dashed(chart, [(between, frame.values.start), (between, frame.values.end)], ALARM.stroke_width(3))
}

/// The fitted line, dashed from the last run on to where it crosses a limit.
fn drift<Y: Ranged<ValueType = f64>>(
    chart: &mut Chart<'_, '_, Y>,
    trend: &Trend,
    drift: &Drift,
    frame: &Frame,
) -> Result<()> {
    let Some(last) = trend.last.last() else { return Ok(()) };
    let now = frame.point(instant(&last.time), drift.now.0);
    level_line(chart, frame.point(instant(&drift.since), drift.then.0), now)?;
    match crossing(drift).zip(limit_of(trend, drift)) {
        Some((time, limit)) => dashed(chart, [now, frame.point(time, limit)], INK.stroke_width(3)),
        None => Ok(()),
    }
}

fn level_line<Y: Ranged<ValueType = f64>>(
    chart: &mut Chart<'_, '_, Y>,
    from: (f64, f64),
    to: (f64, f64),
) -> Result<()> {
    chart.draw_series([PathElement::new([from, to], INK.stroke_width(4))]).map_err(internal).map(drop)
}

fn dashed<Y: Ranged<ValueType = f64>>(
    chart: &mut Chart<'_, '_, Y>,
    ends: [(f64, f64); 2],
    style: ShapeStyle,
) -> Result<()> {
    chart.draw_series(DashedLineSeries::new(ends, 12, 9, style)).map_err(internal).map(drop)
}
