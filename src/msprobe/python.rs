//! Python's text of values: what `repr` and `str` print.

use crate::read::json::Json;

/// `repr` of a float: the shortest digits that come back, an exponent below 1e-4 and from 1e16 on.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = shortest(value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    positional(mantissa, exponent)
}

/// The shortest digits that come back, in scientific form; of two that are equally near, the even one.
///
/// Rust takes the upper one, Python (David Gay's algorithm) the even one, as its exact conversion does.
fn shortest(value: f64) -> String {
    let scientific = format!("{value:e}");
    let mantissa = scientific.split_once('e').map_or(scientific.as_str(), |(mantissa, _)| mantissa);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    match rounded.parse::<f64>() {
        Ok(back) if back.to_bits() == value.to_bits() => rounded,
        _ => scientific,
    }
}

/// Writes a mantissa of one digit, point and more digits without an exponent.
fn positional(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    };
    if whole == 0 {
        return format!("{sign}0.{digits}");
    }
    let (before, after) = digits.split_at_checked(whole).unwrap_or((&digits, ""));
    let zeros = "0".repeat(whole - before.len());
    format!("{sign}{before}{zeros}.{}", if after.is_empty() { "0" } else { after })
}

/// `repr` of a string: single quotes unless it holds one and no double quote.
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character == quote => out.extend(['\\', quote]),
            _ if u32::from(character) < 0x20 || u32::from(character) == 0x7f => {
                out.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out.push(quote);
    out
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
    use super::*;

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
