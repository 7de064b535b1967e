//! Differences of statistics (`docs/formats/msprobe-tables.md`, Differences of statistics).
//!
//! msprobe turns the cells into text and back into numbers, so what the text says decides, and whole columns of
//! integers are subtracted as integers.

use crate::msprobe::table::Cell;

/// The differences of a row: four absolute, four relative. `whole` says of each statistic whether both columns hold
/// whole numbers only.
pub(super) fn statistic_differences(
    candidate: &[Cell<'_>; 4],
    baseline: &[Cell<'_>; 4],
    whole: [bool; 4],
) -> [Cell<'static>; 8] {
    let mut differences = [const { Cell::Empty }; 8];
    let (absolute, relative) = differences.split_at_mut(4);
    let statistics = candidate.iter().zip(baseline).zip(whole);
    for (((candidate, baseline), whole), to) in statistics.zip(absolute.iter_mut().zip(relative)) {
        (*to.0, *to.1) = match (candidate, baseline) {
            // What their texts say, without the texts.
            (Cell::Float(a), Cell::Float(b)) if a.to_bits() == b.to_bits() => EQUAL,
            (Cell::Float(a), Cell::Float(b)) if !whole && a.is_finite() && b.is_finite() => of_numbers(*a, *b, whole),
            _ => difference(&candidate.text(), &baseline.text(), whole),
        };
    }
    differences
}

/// Whether the text of both cells is a whole number.
pub(super) fn are_whole((candidate, baseline): (&Cell<'_>, &Cell<'_>)) -> bool {
    is_whole(&candidate.text()) && is_whole(&baseline.text())
}

/// Absolute and relative difference of two cells with the same text.
const EQUAL: (Cell<'static>, Cell<'static>) = (Cell::word("0"), Cell::word("0"));

/// Absolute and relative difference of two cells, as text. `whole` says that both columns hold integers only.
fn difference(candidate: &str, baseline: &str, whole: bool) -> (Cell<'static>, Cell<'static>) {
    if candidate == baseline {
        return EQUAL;
    }
    let word = match (Kind::of(candidate), Kind::of(baseline)) {
        (Kind::Number(a), Kind::Number(b)) => return of_numbers(a, b, whole),
        (Kind::Missing, _) | (_, Kind::Missing) | (Kind::Device, Kind::Device) => "N/A",
        (Kind::Other | Kind::Device, _) | (_, Kind::Other | Kind::Device) => "Diff",
        (Kind::Nan, _) | (_, Kind::Nan) => "Nan",
        (Kind::Infinite, _) | (Kind::Number(_), Kind::NegativeInfinite) => "inf",
        (Kind::NegativeInfinite, _) | (Kind::Number(_), Kind::Infinite) => "-inf",
    };
    (Cell::word(word), Cell::word(word))
}

fn of_numbers(candidate: f64, baseline: f64, whole: bool) -> (Cell<'static>, Cell<'static>) {
    let difference = candidate - baseline;
    let absolute = if whole { Cell::from(format!("{difference:.0}")) } else { Cell::Written(difference) };
    // The order of operations decides the last digit.
    let share = || Cell::Percent((difference / baseline * 100.0).abs());
    (absolute, if baseline == 0.0 { Cell::word("inf") } else { share() })
}

/// Kind of a statistic's text, in msprobe's order of tests.
#[derive(Clone, Copy)]
enum Kind {
    Nan,
    Infinite,
    NegativeInfinite,
    Number(f64),
    Device,
    Missing,
    Other,
}

impl Kind {
    fn of(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "nan" => Self::Nan,
            "inf" => Self::Infinite,
            "-inf" => Self::NegativeInfinite,
            _ if is_number(text) => text.trim().parse().map_or(Self::Other, Self::Number),
            _ if ["npu", "cpu", "cuda"].iter().any(|device| lower.contains(device)) => Self::Device,
            _ if text == "N/A" => Self::Missing,
            _ => Self::Other,
        }
    }
}

/// Whether pandas reads a number from the text: digits, with sign, fraction and exponent where they are.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    text.parse::<f64>().is_ok() && text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_whole(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(candidate: &str, baseline: &str, whole: bool) -> [String; 2] {
        let (absolute, relative) = difference(candidate, baseline, whole);
        [absolute, relative].map(|cell| cell.text().into_owned())
    }

    #[test]
    fn every_pair_of_kinds_has_its_word() {
        let kinds = ["1.0", "Nan", "inf", "-inf", "npu:0", "N/A", "None"];
        let table = [
            ["0", "Nan", "-inf", "inf", "Diff", "N/A", "Diff"],
            ["Nan", "0", "Nan", "Nan", "Diff", "N/A", "Diff"],
            ["inf", "Nan", "0", "inf", "Diff", "N/A", "Diff"],
            ["-inf", "Nan", "-inf", "0", "Diff", "N/A", "Diff"],
            ["Diff", "Diff", "Diff", "Diff", "0", "N/A", "Diff"],
            ["N/A", "N/A", "N/A", "N/A", "N/A", "0", "N/A"],
            ["Diff", "Diff", "Diff", "Diff", "Diff", "N/A", "0"],
        ];
        for (candidate, row) in kinds.iter().zip(table) {
            for (baseline, word) in kinds.iter().zip(row) {
                assert_eq!(texts(candidate, baseline, false), [word, word], "{candidate} {baseline}");
            }
        }
        assert_eq!(texts("npu:0", "cuda:0", false)[0], "N/A");
        assert_eq!(texts("None", "True", false)[0], "Diff");
    }

    #[test]
    fn numbers_print_as_python_prints_them() {
        assert_eq!(texts("0.0", "3.7416574954986572", false), ["-3.7416574954986572", "100.0%"]);
        assert_eq!(texts("2.0", "0.0", false), ["2.0", "inf"]);
        assert_eq!(texts("2.0", "-2.0", false), ["4.0", "200.0%"]);
        assert_eq!(texts("1", "1.0", false), ["0.0", "0.0%"]);
        assert_eq!(texts("1", "2", true), ["-1", "50.0%"]);
    }
}
