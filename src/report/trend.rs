//! Trends for documents: a sparkline of block characters, and a table.

use minijinja::{Value, context};
use serde::Serialize;

use super::escape;
use super::outcomes::{amount_text, bound_text};
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::outcome::RuleKind;
use crate::result::trend::{Change, Drift, Trend};

/// Largest number of characters of a sparkline.
pub(crate) const SPARKLINE_CHARS: usize = 30;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Character for a value that is not finite.
const NO_VALUE: char = '·';

/// One rule's trend.
#[derive(Debug, Serialize)]
pub struct TrendRow {
    /// The unit.
    pub unit: String,
    /// The rule.
    pub rule: String,
    /// The last runs.
    pub sparkline: Value,
    /// The latest value; empty if there is none.
    pub now: String,
    /// Median since the last step or the last change of slope.
    pub median: String,
    /// The limit that warns, as a bound; empty where there is none.
    pub warn: String,
    /// The limit that fails, as a bound.
    pub fail: String,
    /// The last step, the drift, or the remark that there is neither.
    pub says: Value,
}

/// The rows of a table of trends, in the writer's language and target.
pub fn rows(trends: &[Trend], writer: &Writer) -> Result<Vec<TrendRow>> {
    trends.iter().map(|trend| row(trend, writer)).collect()
}

fn row(trend: &Trend, writer: &Writer) -> Result<TrendRow> {
    let (unit, _) = RuleKind::held(&trend.rule);
    let values: Vec<f64> = trend.last.iter().map(|run| run.value.0).collect();
    Ok(TrendRow {
        unit: trend.unit.clone(),
        rule: trend.rule.clone(),
        sparkline: safe(sparkline(&values)),
        now: amount_text(trend.last.last().map(|run| run.value), unit, writer)?,
        median: amount_text(trend.median, unit, writer)?,
        warn: bound_text(trend.warn, unit, trend.direction, writer)?,
        fail: bound_text(trend.fail, unit, trend.direction, writer)?,
        says: safe(says(trend, writer)?),
    })
}

/// The table of `trends` as Markdown, its heading first; nothing for no trends.
pub fn table(trends: &[Trend], writer: &Writer) -> Result<String> {
    if trends.is_empty() {
        return Ok(String::new());
    }
    let heads = ["unit", "rule", "trend_runs", "value", "trend_median", "warn_limit", "fail_limit", "trend"];
    let heads: Vec<String> = heads.iter().map(|key| writer.word(key)).collect::<Result<_>>()?;
    let mut lines = vec![heads.join(" | "), "--- | --- | --- | ---: | ---: | ---: | ---: | ---".to_owned()];
    for row in rows(trends, writer)? {
        let mut cells = vec![writer.name(&row.unit), writer.name(&row.rule), row.sparkline.to_string()];
        cells.extend([row.now, row.median, row.warn, row.fail]);
        cells.push(row.says.to_string());
        lines.push(cells.iter().map(|cell| escape::cell(cell)).collect::<Vec<_>>().join(" | "));
    }
    Ok(lines.iter().map(|line| format!("| {line} |\n")).collect())
}

/// A trend in a few words.
fn says(trend: &Trend, writer: &Writer) -> Result<String> {
    let told = [
        trend.change.as_ref().map(|change| step(change, writer)),
        trend.drift.as_ref().map(|found| drift(found, writer)),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect::<Result<_>>()?;
    if told.is_empty() { writer.word("trend_steady") } else { Ok(told.join(&writer.word("semicolon")?)) }
}

fn step(change: &Change, writer: &Writer) -> Result<String> {
    let day = safe(change.first_after.time.day().to_owned());
    writer.phrase("trend_step", &context! { day, before => change.before.0, after => change.after.0 })
}

fn drift(drift: &Drift, writer: &Writer) -> Result<String> {
    let per_day = drift.per_day.0;
    match &drift.crosses {
        None => writer.phrase("trend_drift", &context! { per_day }),
        Some(crossing) => {
            let (day, kind) = (safe(crossing.on.to_string()), crossing.limit.as_str());
            writer.phrase("trend_crosses", &context! { per_day, day, kind })
        }
    }
}

/// The values as blocks, oldest first, the lowest as `▁` and the highest as `█`; `·` where a value is not finite.
///
/// All blocks are `▁` if all values are equal. With more than `SPARKLINE_CHARS` values, neighbours share a block that shows the
/// highest of them. Without values the text is empty.
pub fn sparkline(values: &[f64]) -> String {
    let width = values.len().div_ceil(SPARKLINE_CHARS).max(1);
    // Blocks are filled from the end, so that the block of the latest run is always complete.
    let mut shared: Vec<Option<f64>> = values
        .rchunks(width)
        .map(|share| share.iter().copied().filter(|value| value.is_finite()).reduce(f64::max))
        .collect();
    shared.reverse();
    let lowest = shared.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let highest = shared.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    shared.into_iter().map(|value| value.map_or(NO_VALUE, |value| block(value, lowest, highest))).collect()
}

/// The block character for `value` between `lowest` and `highest`.
fn block(value: f64, lowest: f64, highest: f64) -> char {
    // Halved, so that the difference of two large values stays finite.
    let share = (value / 2.0 - lowest / 2.0) / (highest / 2.0 - lowest / 2.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7; a cast of NaN gives 0")]
    let index = (share * 7.0).round() as usize;
    BLOCKS.get(index).copied().unwrap_or(NO_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::series::{RuleSeries, SeriesPoint};
    use crate::history::trend::trend_of;
    use crate::report::escape::TextTarget;
    use crate::report::messages::Language;
    use crate::result::outcome::LimitDirection;
    use crate::verdict::{CheckId, Verdict};

    #[test]
    fn a_table_says_what_moves_and_escapes_foreign_names() {
        let point = |night: i64| SeriesPoint {
            time: jiff::Timestamp::UNIX_EPOCH + jiff::Span::new().hours(24 * night),
            commit: String::new(),
            value: if night < 18 { 1.0 } else { 4.0 },
            verdict: Verdict::Pass,
        };
        let series = RuleSeries {
            suite: "nightly".into(),
            check: CheckId::Loss,
            unit: "a|b @all".into(),
            rule: "mean_rel".into(),
            direction: LimitDirection::AtMost,
            warn: Some(9.0),
            fail: None,
            points: (0..25).map(point).collect(),
        };
        let trends = [trend_of(&series)];
        let text = |language| table(&trends, &Writer::new(language, TextTarget::Markdown)).expect("written");
        let row = "| `a\\|b @all` | `mean_rel` | ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁███████ | 400 % | 400 % | {limit} |  | ";
        let row = |limit: &str| row.replace("{limit}", limit);
        let (english, chinese) = (row("at most 900 %"), row("阈值 900 %"));
        assert!(
            text(Language::En).ends_with(&format!("{english}step on 1970-01-19, 1 → 4 |\n")),
            "{}",
            text(Language::En)
        );
        assert!(
            text(Language::Zh).ends_with(&format!("{chinese}1970-01-19 阶跃：1 → 4 |\n")),
            "{}",
            text(Language::Zh)
        );
        assert!(table(&[], &Writer::new(Language::En, TextTarget::Markdown)).expect("nothing").is_empty());
    }

    #[test]
    fn a_sparkline_spans_lowest_to_highest() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[-1.0, f64::NAN, 1.0, f64::INFINITY]), "▁·█·");
        assert_eq!(sparkline(&[5e-7; 4]), "▁▁▁▁");
        assert_eq!(sparkline(&[f64::MIN, 0.0, f64::MAX]), "▁▅█");
        assert_eq!((sparkline(&[]), sparkline(&[f64::NAN])), (String::new(), "·".to_owned()));
    }

    #[test]
    fn a_long_series_is_shortened_and_keeps_its_peaks() {
        let mut values = vec![0.0; 59];
        values[17] = 1.0;
        let line = sparkline(&values);
        assert_eq!((line.chars().count(), line.matches('█').count()), (30, 1));
        assert_eq!(sparkline(&[1.0; 1000]).chars().count(), 30);
    }

    proptest::proptest! {
        #[test]
        fn a_sparkline_is_short_and_whole(values in proptest::collection::vec(proptest::num::f64::ANY, 0..200)) {
            let line: Vec<char> = sparkline(&values).chars().collect();
            proptest::prop_assert!(line.len() <= SPARKLINE_CHARS && line.is_empty() == values.is_empty());
            let finite = values.iter().any(|value| value.is_finite());
            proptest::prop_assert_eq!(line.contains(&'▁'), finite);
        }
    }
}
