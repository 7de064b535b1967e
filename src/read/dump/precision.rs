//! Digits that a tool prints, and the difference between two printed numbers that rounding alone explains.

/// Digits that statistics were printed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// All digits; numbers are not rounded.
    #[default]
    Exact,
    /// This number of digits after the decimal point.
    Decimals(u8),
    /// This number of significant digits.
    Significant(u8),
}

/// Factor for the rounding error of a norm that was computed from a rounded mean and a rounded deviation: above √2, because both
/// are rounded.
const OF_TWO: f64 = 1.5;

impl Precision {
    /// Largest differences of max, min, mean and norm that rounding alone explains: half a unit in the baseline's last digit for
    /// each of the two rounded numbers.
    pub(crate) fn rounding_units(self, baseline: [Option<f64>; 4]) -> [f64; 4] {
        let [max, min, mean, norm] = baseline.map(|value| value.map_or(0.0, f64::abs));
        let of_norm = match self {
            // A norm is computed from numbers of other magnitudes, whose last digit may weigh ten times as much.
            Self::Significant(digits) => norm * power(1 - i32::from(digits)),
            _ => self.unit(norm),
        };
        [self.unit(max), self.unit(min), self.unit(mean), OF_TWO * of_norm]
    }

    /// Value of one unit in the last digit of a printed number.
    fn unit(self, value: f64) -> f64 {
        match self {
            Self::Exact => 0.0,
            Self::Decimals(digits) => power(-i32::from(digits)),
            Self::Significant(_) if value == 0.0 || !value.is_finite() => 0.0,
            #[allow(clippy::cast_possible_truncation, reason = "an exponent of a finite number")]
            Self::Significant(digits) => power(value.log10().floor() as i32 + 1 - i32::from(digits)),
        }
    }
}

fn power(exponent: i32) -> f64 {
    10.0_f64.powi(exponent)
}

/// Largest numbers of digits that were seen in printed numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenDigits {
    decimals: Option<u8>,
    significant: Option<u8>,
}

impl SeenDigits {
    /// Counts the digits of a printed number, such as `0.0832` or `-8.9500e-01`.
    pub(super) fn note(&mut self, text: &str) {
        let Some((_, behind)) = text.split_once('.') else { return };
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let count = u8::try_from(digits).unwrap_or(u8::MAX);
        let place = match behind.contains(['e', 'E']) {
            true => &mut self.significant,
            false => &mut self.decimals,
        };
        let seen = if behind.contains(['e', 'E']) { count.saturating_add(1) } else { count };
        *place = (*place).max(Some(seen).filter(|seen| *seen > 0));
    }

    /// Precision of the file. A writer uses only one form of numbers.
    pub(super) fn precision(self) -> Precision {
        match (self.significant, self.decimals) {
            (Some(digits), _) => Precision::Significant(digits),
            (None, Some(digits)) => Precision::Decimals(digits),
            (None, None) => Precision::Exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(texts: &[&str]) -> Precision {
        let mut digits = SeenDigits::default();
        texts.iter().for_each(|text| digits.note(text));
        digits.precision()
    }

    #[test]
    fn digits_are_those_of_the_longest_number() {
        assert_eq!(seen(&["0.0832", "3.9", "nan"]), Precision::Decimals(4));
        assert_eq!(seen(&["-8.9500e-01", "0.", "1.0000e+00"]), Precision::Significant(5));
        assert_eq!(seen(&["inf", "3"]), Precision::Exact);
    }

    #[test]
    fn a_unit_is_one_in_the_last_digit() {
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let [max, min, mean, norm] =
            Precision::Significant(5).rounding_units([Some(0.41), Some(-9.5), Some(0.0), Some(9.9)]);
        assert!(near(max, 1e-5) && near(min, 1e-4) && mean == 0.0 && near(norm, 1.5 * 9.9e-4), "{max} {min} {norm}");
        assert!(near(Precision::Decimals(4).rounding_units([Some(0.41); 4])[0], 1e-4));
        assert!(Precision::Exact.rounding_units([Some(1.0); 4]).iter().all(|unit| *unit <= 0.0));
    }
}
