//! Mapping files: candidate names and the baseline names that they stand for (`docs/formats/msprobe-tables.md`, Mapping
//! files).

use crate::error::{Error, ErrorKind, Result};

/// Reads a mapping from the text of a YAML file, in file order; messages call it `name`.
///
/// # Errors
/// `Usage` where the text is not a mapping of texts to texts.
pub fn parse(name: &str, text: &str) -> Result<Vec<(String, String)>> {
    let wrong = |message: String| {
        Error::new(ErrorKind::Usage, name, message)
            .with_help("write one `candidate name: baseline name` per line, as for msprobe's -dm and -cm")
    };
    let mapping: serde_yaml::Mapping = serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let pair =
        |(index, (from, to)): (usize, (&serde_yaml::Value, &serde_yaml::Value))| match (from.as_str(), to.as_str()) {
            (Some(from), Some(to)) if !from.is_empty() => Ok((from.to_owned(), to.to_owned())),
            _ => Err(wrong(format!("entry {} is not a name on both sides", index + 1))),
        };
    mapping.iter().enumerate().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        let pairs = parse("m.yaml", "b.Linear: c.Linear\na: h\n").expect("a mapping");
        assert_eq!(pairs, [("b.Linear".into(), "c.Linear".into()), ("a".into(), "h".into())]);
    }

    #[test]
    fn anything_else_is_refused_with_help() {
        for text in ["- a\n", "a: [b]\n", "1: b\n", "a: {b: c}\n", "\"\": x\n", "a: b: c\n"] {
            let error = parse("m.yaml", text).expect_err(text);
            assert!(error.kind() == ErrorKind::Usage && error.help().is_some(), "{text}");
        }
    }
}
