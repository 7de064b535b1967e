//! Python's text of values: what `repr` and `str` print.

use std::fmt::Write as _;

use crate::read::json::Json;

/// `repr` of a float: the shortest digits that come back, of two that are equally near the even one; an exponent below
/// 1e-4 and from 1e16 on.
pub fn float(value: f64) -> String {
    let mut text = String::new();
    write_float(value, &mut text);
    text
}

/// Adds the text of [`float`].
pub(crate) fn write_float(value: f64, out: &mut String) {
    if value.is_nan() {
        return out.push_str("nan");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    // The same digits as Python's, and an exponent from 1e16 on too; it begins lower below 1, and has no zero before it.
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        return out.push_str(text);
    }
    match memchr::memchr(b'e', text.as_bytes()).map(|at| text.split_at(at)) {
        Some((mantissa, exponent)) => {
            out.push_str(mantissa);
            write_exponent(exponent.trim_start_matches('e').parse().unwrap_or(0), out);
        }
        None => scientific(text, out),
    }
}

/// Writes a number below 1e-4 that stands without an exponent with one.
fn scientific(positional: &str, out: &mut String) {
    let (sign, unsigned) = positional.strip_prefix('-').map_or(("", positional), |rest| ("-", rest));
    let digits = unsigned.trim_start_matches(['0', '.']);
    let exponent = i32::try_from(digits.len()).unwrap_or(0) - i32::try_from(unsigned.len()).unwrap_or(0) + 1;
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    out.extend([sign, first, point, rest]);
    write_exponent(exponent, out);
}

/// Adds the digits of a whole number, without the formatter, which costs more than they do.
pub(crate) fn write_whole(value: u64, out: &mut String) {
    if value >= 10 {
        write_whole(value / 10, out);
    }
    let digit = u32::try_from(value % 10).unwrap_or(0);
    out.push(char::from_digit(digit, 10).unwrap_or('0'));
}

/// An exponent has a sign and two digits at least.
fn write_exponent(exponent: i32, out: &mut String) {
    // Without the formatter, which costs more than the digits: tables hold millions of small differences.
    out.push_str(if exponent < 0 { "e-" } else { "e+" });
    for power in [100, 10, 1] {
        let left = exponent.unsigned_abs() / power;
        if left > 0 || power < 100 {
            out.push(char::from_digit(left % 10, 10).unwrap_or('0'));
        }
    }
}

/// `repr` of a string: single quotes unless it holds one and no double quote.
pub fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_quoted(text, &mut out);
    out
}

/// Adds the text of [`quoted`].
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { b'"' } else { b'\'' };
    out.push(quote.into());
    // What is not plain is ASCII, so that bytes are enough to find it.
    let is_special = |byte: u8| (byte < b' ') | (byte == b'\\') | (byte == b'\x7f') | (byte == quote);
    let mut rest = text;
    while let Some(end) = super::bytes::position(rest.as_bytes(), is_special) {
        let (plain, special) = rest.split_at(end);
        out.push_str(plain);
        let mut characters = special.chars();
        match characters.next() {
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(character) if character == char::from(quote) || character == '\\' => out.extend(['\\', character]),
            Some(character) => {
                let _written = write!(out, "\\x{:02x}", u32::from(character));
            }
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push(quote.into());
}

/// `repr` of a JSON value as Python holds it.
pub fn repr(value: &Json) -> String {
    match value {
        Json::Text(text) => quoted(text),
        _ => str(value),
    }
}

/// `str` of a JSON value as Python holds it.
pub fn str(value: &Json) -> String {
    match value {
        Json::Null => "None".into(),
        Json::Bool(value) => if *value { "True" } else { "False" }.into(),
        Json::Int(value) => value.to_string(),
        Json::BigInt(digits) => digits.clone(),
        Json::Float(value) => float(*value),
        Json::Text(text) => text.clone(),
        Json::Array(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), repr(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whether `float(text)` succeeds: white space around it, single underscores between digits, `nan`, `inf` and
/// `infinity` in any case are allowed.
pub fn is_float(text: &str) -> bool {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text).to_ascii_lowercase();
    if matches!(unsigned.as_str(), "nan" | "inf" | "infinity") {
        return true;
    }
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = unsigned.as_bytes();
    let underscore_between_digits = |(position, byte): (usize, &u8)| {
        *byte != b'_'
            || (digit(position.checked_sub(1).and_then(|before| bytes.get(before))) && digit(bytes.get(position + 1)))
    };
    bytes.iter().all(|byte| byte.is_ascii_digit() || b"._e+-".contains(byte))
        && bytes.iter().enumerate().all(underscore_between_digits)
        && unsigned.replace('_', "").parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The shortest digits that come back, in scientific form, from the exact conversion, which takes the even one of
    /// two that are equally near.
    fn shortest(value: f64) -> String {
        let scientific = format!("{value:e}");
        let mantissa = scientific.split_once('e').map_or(scientific.as_str(), |(mantissa, _)| mantissa);
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
        let rounded = format!("{value:.*e}", digits.saturating_sub(1));
        let comes_back = rounded.parse::<f64>().is_ok_and(|back| back.to_bits() == value.to_bits());
        if comes_back { rounded } else { scientific }
    }

    fn assert_like_python(value: f64) {
        let text = float(value);
        assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(value.to_bits()), "{text}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, ""));
        let is_small_or_large = value != 0.0 && !(1e-4..1e16).contains(&value.abs());
        assert_eq!(!exponent.is_empty(), is_small_or_large, "{text}");
        assert!(exponent.is_empty() || exponent.len() >= 3 && exponent.starts_with(['+', '-']), "{text}");
        assert!(is_small_or_large || text.contains('.'), "{text}");
        let significant = |text: &str| {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.trim_start_matches('0').trim_end_matches('0').to_owned()
        };
        let expected = shortest(value);
        assert_eq!(significant(mantissa), significant(expected.split_once('e').map_or("", |(digits, _)| digits)));
    }

    proptest! {
        #[test]
        fn every_float_prints_as_python_prints_it(bits: u64, whole in 0_i32..1 << 24, power in 0_i32..60) {
            let any = f64::from_bits(bits);
            let ties = [f64::from(whole) / 2f64.powi(power), f64::from(f32::from_bits((bits >> 32) as u32))];
            ties.into_iter().chain([any]).filter(|value| value.is_finite()).for_each(assert_like_python);
        }
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (9.107589721679688e-05, "9.107589721679688e-05"),
            (1e16, "1e+16"),
            (123456789012345.0, "123456789012345.0"),
            (3.0000000054977558e38, "3.0000000054977558e+38"),
            (0.0001, "0.0001"),
            (1e-8, "1e-08"),
            (-0.0, "-0.0"),
            (5e-324, "5e-324"),
            (30_261.0 / 262_144.0, "0.11543655395507812"),
            (-129.0 / 2_097_152.0, "-6.151199340820312e-05"),
            (372_565.0 / 131_072.0, "2.8424453735351562"),
            (0.0, "0.0"),
            (1e15, "1000000000000000.0"),
            (-1230.0, "-1230.0"),
            (0.000123, "0.000123"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn containers_print_as_python_prints_them() {
        let value = Json::Array(vec![Json::Text("it's".into()), Json::Null, Json::Bool(true), Json::Float(1e-8)]);
        assert_eq!(str(&value), r#"["it's", None, True, 1e-08]"#);
    }
}
