//! Decimal numbers to the nearest `f64`, with the same result as the standard library in less time.
//!
//! A number of at most 19 digits is a 64-bit whole number times a power of ten. Its product with 1/5^k, which is rounded down to
//! 64 bits, is too small by less than one unit of the product's upper half. Where the midpoint between two results is farther
//! away than that, the product decides the rounding (after D. Lemire, "Number Parsing at a Gigabyte per Second", 2021). Any
//! other number gives `None` and is left to the standard library.

/// Largest whole number that still fits 64 bits after one more digit is appended.
const MOST: u64 = (u64::MAX - 9) / 10;
/// Largest whole number that still fits 64 bits after eight more digits are appended.
const MOST_BEFORE_EIGHT: u64 = (u64::MAX - 99_999_999) / 100_000_000;
/// Number of powers in the table, 10^0 to 10^-54: enough for numbers of 19 digits down to 10^-36.
const POWERS: usize = 55;
/// Bits of the significand of an `f64`, including the leading one.
const FRACTION: u32 = 53;

/// For each k: 1/5^k rounded down to 64 bits, scaled so that the highest bit is set, and the number of bits it was shifted left.
static FIFTHS: [(u64, u32); POWERS] = fifths();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, below the array's own length")]
const fn fifths() -> [(u64, u32); POWERS] {
    let mut table = [(1 << 63, 63); POWERS];
    let (mut power, mut k) = (1_u128, 1);
    while k < POWERS {
        power *= 5;
        let bits = u128::BITS - power.leading_zeros();
        // Long division of 2^(63 + bits), bit by bit.
        let (mut rest, mut quotient, mut digit) = (1_u128 << (bits - 1), 0_u64, 0);
        while digit < 64 {
            rest <<= 1;
            quotient <<= 1;
            if rest >= power {
                rest -= power;
                quotient |= 1;
            }
            digit += 1;
        }
        table[k] = (quotient, 63 + bits);
        k += 1;
    }
    table
}

/// The `f64` nearest to a plain decimal number (`-2.718`, `1.5e-09`); `None` for a text that the standard library has to read.
#[inline]
pub(crate) fn nearest_f64(text: &[u8]) -> Option<f64> {
    let (decimal, rest) = Decimal::take(text)?;
    if rest.is_empty() { decimal.nearest_f64() } else { None }
}

/// The `f64` of a text, as the standard library reads it.
#[inline]
pub(crate) fn parse_f64(text: &str) -> Option<f64> {
    nearest_f64(text.as_bytes()).or_else(|| text.parse().ok())
}

/// A decimal number, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    is_negative: bool,
    /// All its digits as one whole number.
    digits: u64,
    /// Power of ten that the digits are divided by.
    power: i64,
    /// Whether it has neither a point nor an exponent.
    is_whole: bool,
}

impl Decimal {
    /// Takes the number that a text begins with, and returns the rest; `None` where it begins with none, or with one of more digits
    /// than fit 64 bits.
    #[inline]
    pub(crate) fn take(text: &[u8]) -> Option<(Self, &[u8])> {
        let (is_negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let mut digits = Digits::default();
        let before_point = digits.take(text)?;
        if before_point.len() == text.len() {
            return None;
        }
        let (decimals, mut rest) = match before_point {
            [b'.', rest @ ..] => {
                let behind = digits.take(rest)?;
                (rest.len() - behind.len(), behind)
            }
            _ => (0, before_point),
        };
        let mut power = i64::try_from(decimals).ok()?;
        if let [b'e' | b'E', behind @ ..] = rest {
            let (exponent, behind) = exponent(behind)?;
            (power, rest) = (power - exponent, behind);
        }
        let is_whole = rest.len() == before_point.len();
        Some((Self { is_negative, digits: digits.0, power, is_whole }, rest))
    }

    /// Its value, if it is a whole number without a point or an exponent that fits; else `None`.
    #[inline]
    pub(crate) fn whole(self) -> Option<i64> {
        let value = i64::try_from(self.digits).ok().filter(|_| self.is_whole)?;
        Some(if self.is_negative { -value } else { value })
    }

    /// Whether it has neither a point nor an exponent.
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.is_whole
    }

    /// The nearest `f64`; `None` where the standard library has to read the text.
    #[inline]
    pub(crate) fn nearest_f64(self) -> Option<f64> {
        let value = divided(self.digits, usize::try_from(self.power).ok()?)?;
        Some(if self.is_negative { -value } else { value })
    }
}

/// Digits as one whole number.
#[derive(Default)]
struct Digits(u64);

impl Digits {
    /// Takes the digits that a text begins with and returns the rest; `None` where they do not fit 64 bits.
    #[inline]
    fn take<'t>(&mut self, text: &'t [u8]) -> Option<&'t [u8]> {
        let mut rest = text;
        while let Some((group, behind)) = rest.split_first_chunk()
            && let Some(number) = eight_digits(*group)
        {
            if self.0 > MOST_BEFORE_EIGHT {
                return None;
            }
            self.0 = self.0 * 100_000_000 + number;
            rest = behind;
        }
        while let [byte, behind @ ..] = rest
            && byte.is_ascii_digit()
        {
            if self.0 > MOST {
                return None;
            }
            self.0 = self.0 * 10 + u64::from(byte - b'0');
            rest = behind;
        }
        Some(rest)
    }
}

/// The number that eight digits make, computed from all of them at once; `None` where one byte is no digit.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    const UPPER: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    let word = u64::from_le_bytes(text);
    // Digits are 0x30 to 0x39: adding 6 leaves their upper halves unchanged.
    let halves = word & UPPER | (word.wrapping_add(0x0606_0606_0606_0606) & UPPER) >> 4;
    if halves != 0x3333_3333_3333_3333 {
        return None;
    }
    // Neighbouring digits are combined to numbers of two digits, then of four, then of eight.
    let two = (word & !UPPER).wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let four = two.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    Some(four.wrapping_mul(10_000 << 32 | 1) >> 32)
}

/// The exponent that a text behind the letter `e` begins with, of at most three digits, and the rest.
fn exponent(text: &[u8]) -> Option<(i64, &[u8])> {
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=3).contains(&count) {
        return None;
    }
    let (digits, rest) = text.split_at_checked(count)?;
    let value = digits.iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    Some((if is_negative { -value } else { value }, rest))
}

/// `whole` / 10^`power`, rounded to the nearest `f64`; `None` where the product does not decide the rounding.
#[inline]
#[allow(clippy::cast_precision_loss, reason = "numbers of at most 53 bits")]
fn divided(whole: u64, power: usize) -> Option<f64> {
    let (fifth, moved) = *FIFTHS.get(power)?;
    if whole == 0 {
        return Some(0.0);
    }
    let zeros = whole.leading_zeros();
    let upper = u64::try_from((u128::from(whole << zeros) * u128::from(fifth)) >> 64).ok()?;
    let dropped = u64::BITS - FRACTION - upper.leading_zeros();
    let (fraction, rest, half) = (upper >> dropped, upper & ((1 << dropped) - 1), 1_u64 << (dropped - 1));
    // The true remainder exceeds this one by less than 2, so the rounding is undecided this close to one half.
    if rest == half || rest + 1 == half {
        return None;
    }
    let rounded = fraction + u64::from(rest > half);
    let scale = i64::from(64 + dropped) - i64::from(zeros) - i64::from(moved) - i64::try_from(power).ok()?;
    // The scale is a power of two between 2^-300 and 2^64, so multiplying by it is exact.
    Some(rounded as f64 * f64::from_bits(u64::try_from(scale + 1023).ok()? << 52))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};

    use super::nearest_f64;

    /// Numbers as programs write them: in full, of 32 bits, rounded, small and large.
    #[allow(clippy::cast_possible_truncation, reason = "numbers of 32 bits are wanted")]
    fn written() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<f64>().prop_map(|value| value.to_string()),
            any::<f32>().prop_map(|value| f64::from(value).to_string()),
            (-1e6_f64..1e6).prop_map(|value| format!("{:?}", f64::from(value as f32))),
            (-1e-3_f64..1e-3).prop_map(|value| format!("{value:e}")),
            (-1e3_f64..1e3, 0_usize..12).prop_map(|(value, decimals)| format!("{value:.decimals$}")),
            (any::<u64>(), 0_i32..60).prop_map(|(whole, power)| format!("{whole}e-{power:02}")),
            (any::<u32>(), any::<u32>()).prop_map(|(whole, decimals)| format!("{whole}.{decimals}")),
            // Half-way between two numbers, and beside it.
            (1_u64 << 53..1 << 54, -1_i64..2).prop_map(|(whole, beside)| {
                let half = u128::from(whole) * 10 + 5;
                format!("{}.{}", half / 10, i64::try_from(half % 10).unwrap_or(0) + beside)
            }),
        ]
    }

    proptest! {
        #[test]
        fn it_is_what_the_standard_library_reads(text in written()) {
            if let Some(value) = nearest_f64(text.as_bytes()) {
                prop_assert_eq!(Ok(value.to_bits()), text.parse::<f64>().map(f64::to_bits), "{}", text);
            }
        }

        #[test]
        fn no_text_is_read_that_the_standard_library_refuses(text in "[-+]?[0-9.eE+-]{0,24}") {
            if let Some(value) = nearest_f64(text.as_bytes()) {
                prop_assert_eq!(Ok(value.to_bits()), text.parse::<f64>().map(f64::to_bits), "{}", text);
            }
        }
    }

    #[test]
    fn statistics_of_32_bits_are_read_in_the_short_way() {
        let texts = (0..10_000_u16).map(|at| format!("{:?}", f64::from((f32::from(at) * 0.7321).sin() * 1e4)));
        let left = texts.filter(|text| nearest_f64(text.as_bytes()).is_none()).count();
        // Those whose product lies beside the half of a unit: two in 2048.
        assert!(left < 50, "{left} of 10 000 are left to the standard library");
    }

    #[test]
    fn what_is_no_plain_number_is_left() {
        for text in
            ["", "-", ".5", "+1", "nan", "inf", "1e", "1e+", "1.2.3", "1-2", "0x1", "1e20", "12345678901234567890123"]
        {
            assert_eq!(nearest_f64(text.as_bytes()), None, "{text}");
        }
        for (text, value) in
            [("0", 0.0), ("-0.0", -0.0), ("1.", 1.0), ("1e-05", 1e-5), ("4.126543998718262", 4.126_543_998_718_262)]
        {
            assert_eq!(nearest_f64(text.as_bytes()).map(f64::to_bits), Some(f64::to_bits(value)), "{text}");
        }
    }
}
