//! Writing of JSON text in the layout of Python's `json.dumps`.

use super::value::Json;

/// Text of `value` on one line: `{"a": [1, 2.5]}`.
pub(crate) fn to_text(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value, None);
    out
}

/// Text of `value` over several lines, indented by four spaces per level, as in config packs.
pub(crate) fn to_indented_text(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value, Some(0));
    out
}

fn write(out: &mut String, value: &Json, level: Option<usize>) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Int(value) => out.push_str(&value.to_string()),
        Json::BigInt(digits) => out.push_str(digits),
        Json::Float(value) => out.push_str(&number(*value)),
        Json::Text(text) => quote(out, text),
        Json::Array(items) => list(out, ['[', ']'], items, level, write),
        Json::Object(entries) => list(out, ['{', '}'], entries, level, |out, (key, value), level| {
            quote(out, key);
            out.push_str(": ");
            write(out, value, level);
        }),
    }
}

fn list<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: &[T],
    level: Option<usize>,
    each: impl Fn(&mut String, &T, Option<usize>),
) {
    out.push(open);
    let inner = level.map(|level| level + 1);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match inner {
            Some(level) => new_line(out, level),
            None if index > 0 => out.push(' '),
            None => {}
        }
        each(out, item, inner);
    }
    if let Some(level) = level.filter(|_| !items.is_empty()) {
        new_line(out, level);
    }
    out.push(close);
}

fn new_line(out: &mut String, level: usize) {
    out.push('\n');
    out.push_str(&"    ".repeat(level));
}

/// Shortest digits that are read back as the same number, with a fraction or exponent; Python's words for NaN and infinities.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        format!("{value:?}")
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json::parse_bytes;

    #[test]
    fn what_is_written_is_read_back() {
        let text = r#"{"a": [1, 2.5, NaN, -Infinity], "b": {}, "c": "x\"\\\n\u0001中", "d": 1e-08, "e": []}"#;
        let value = parse_bytes("t", text.as_bytes()).expect("valid");
        let again = parse_bytes("t", to_indented_text(&value).as_bytes()).expect("valid");
        assert_eq!(to_text(&value), to_text(&again));
        assert_eq!(
            to_text(&again),
            r#"{"a": [1, 2.5, NaN, -Infinity], "b": {}, "c": "x\"\\\n\u0001中", "d": 1e-8, "e": []}"#
        );
    }
}
