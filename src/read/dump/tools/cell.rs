//! Numbers as tools print them.

use crate::error::Error;
use crate::read::json::Json;

/// Statistics of a tensor; `None` for each that was not printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PrintedStatistics {
    pub(super) max: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) mean: Option<f64>,
    pub(super) norm: Option<f64>,
}

impl PrintedStatistics {
    /// Statistics in the order of records: largest, smallest and mean value and 2-norm.
    pub(super) fn json(&self) -> [Json; 4] {
        [self.max, self.min, self.mean, self.norm].map(|value| value.map_or(Json::Null, Json::Float))
    }
}

/// Content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Number(f64),
    /// An empty cell, or `N/A`.
    Absent,
    /// Anything else.
    Unreadable,
}

/// Reads a cell; `inf` and `nan` are numbers.
pub(super) fn parse_cell(text: &str) -> Cell {
    let text = text.trim();
    match text.to_ascii_lowercase().as_str() {
        "" | "n/a" | "none" => Cell::Absent,
        _ => text.parse().map_or(Cell::Unreadable, Cell::Number),
    }
}

/// 2-norm of `elements` values with this mean and standard deviation. Torch's deviation divides by the number of values less one.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn norm_from_mean(elements: u64, mean: f64, deviation: f64) -> f64 {
    let count = elements.max(1) as f64;
    let squares = if elements > 1 { deviation * deviation * (count - 1.0) } else { 0.0 };
    (count * mean * mean + squares).sqrt()
}

/// Error of a file that is read as a table but holds no whole row.
pub(super) fn no_rows_error(path: &str, expected: &str) -> Error {
    Error::corrupt(path, format!("holds no whole line of {expected}"))
        .with_help("the file may be cut short; copy it again, or record it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_or_absent() {
        assert_eq!(parse_cell(" -inf"), Cell::Number(f64::NEG_INFINITY));
        assert_eq!(
            (parse_cell("N/A"), parse_cell(""), parse_cell("1.5e-3")),
            (Cell::Absent, Cell::Absent, Cell::Number(1.5e-3))
        );
        assert_eq!(parse_cell("0.1x"), Cell::Unreadable);
    }

    #[test]
    fn a_norm_follows_from_mean_and_deviation() {
        let values = [1.0_f64, 2.0, 4.0];
        let mean = values.iter().sum::<f64>() / 3.0;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        assert!((norm_from_mean(3, mean, deviation) - 21.0_f64.sqrt()).abs() < 1e-12);
        assert!((norm_from_mean(1, -2.0, f64::NAN) - 2.0).abs() < 1e-12);
    }
}
