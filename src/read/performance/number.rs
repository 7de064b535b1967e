//! Parsing of points in time as the profilers print them: microseconds since 1970 with three decimals.

/// Converts microseconds such as `1763700014000383.384` and a tab into whole nanoseconds. A double resolves only 0.25 us for such
/// numbers, so the digits are read one by one. `None` if the text is not a decimal number, or the number is too large.
pub(crate) fn nanoseconds(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(point);
    let fraction = fraction.get(1..).unwrap_or_default();
    let is_plain = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    if !is_plain(whole) || !is_plain(fraction) || whole.is_empty() && fraction.is_empty() {
        return spelled_out(text);
    }
    let mut value: i64 = 0;
    for byte in whole {
        value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
    }
    for place in 0..3 {
        let digit = fraction.get(place).map_or(0, |byte| i64::from(byte - b'0'));
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    // Further decimals round the last one.
    value = value.checked_add(i64::from(fraction.get(3).is_some_and(|byte| *byte >= b'5')))?;
    Some(if negative { -value } else { value })
}

/// Reads a number with an exponent, as small durations are printed.
fn spelled_out(text: &[u8]) -> Option<i64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let nanoseconds = (value * 1000.0).round();
    #[allow(clippy::cast_possible_truncation, reason = "the range is checked on this line")]
    (nanoseconds.abs() < 9e18).then_some(nanoseconds as i64)
}

/// Reads a finite number; `None` for anything else.
pub(super) fn parse_finite(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    value.is_finite().then_some(value)
}

/// Reads a whole number of at least 0; `None` for anything else.
pub(super) fn parse_whole(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Converts nanoseconds to microseconds.
#[allow(clippy::cast_precision_loss, reason = "a duration within a recording, far below 2^53 ns")]
pub(super) fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn digits_are_read_as_they_stand() {
        for (text, wanted) in [
            ("1763700014000383.384\t", Some(1_763_700_014_000_383_384)),
            ("28.433", Some(28_433)),
            ("28", Some(28_000)),
            ("0.9", Some(900)),
            (".5", Some(500)),
            ("1.0005", Some(1001)),
            ("-2.5", Some(-2500)),
            ("1e-3", Some(1)),
            ("1.5e3", Some(1_500_000)),
            ("", None),
            (".", None),
            ("N/A", None),
            ("nan", None),
            ("inf", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), wanted, "{text}");
        }
    }
}
