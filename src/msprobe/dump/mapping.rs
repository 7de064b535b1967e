//! Mapping files: candidate names and the baseline names that they stand for (`docs/formats/msprobe-tables.md`, Mapping
//! files).

use crate::error::{Error, ErrorKind, Result};
use crate::pair::dump::{NameTranslations, RenamedOperation};

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

/// Reads a mapping of layers: the class of a module, and its children with the names that they have in the baseline.
///
/// # Errors
/// `Usage` where the text is not that.
pub fn parse_layers(name: &str, text: &str) -> Result<Vec<(String, NameTranslations)>> {
    let wrong = |message: String| {
        Error::new(ErrorKind::Usage, name, message)
            .with_help("write `Class: {child: child}`, and `TopLayer` for the top of the model, as for msprobe's -lm")
    };
    let mapping: serde_yaml::Mapping = serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let class = |(class, children): (&serde_yaml::Value, &serde_yaml::Value)| {
        let of = || wrong(format!("`{}` does not map children to names", class.as_str().unwrap_or("a class")));
        let children = children.as_mapping().ok_or_else(of)?;
        let pair = |(from, to): (&serde_yaml::Value, &serde_yaml::Value)| Some((text_of(from)?, text_of(to)?));
        let pairs: Option<NameTranslations> = children.iter().map(pair).collect();
        Ok((text_of(class).ok_or_else(of)?, pairs.ok_or_else(of)?))
    };
    mapping.iter().map(class).collect()
}

/// Reads a mapping of interfaces: `ms_api` and `pt_api`, with lists of their arguments, results and parameters.
///
/// # Errors
/// `Usage` where the text is not that, or lists of both sides have not the same length.
pub fn parse_interfaces(name: &str, text: &str) -> Result<Vec<RenamedOperation>> {
    let wrong = |message: String| {
        Error::new(ErrorKind::Usage, name, message).with_help(
            "write a list of `{ms_api: NAME, pt_api: NAME, ms_args: [0], pt_args: [0]}`, as for msprobe's -am",
        )
    };
    let entries: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let entries = match entries {
        serde_yaml::Value::Sequence(entries) => entries,
        one @ serde_yaml::Value::Mapping(_) => vec![one],
        _ => return Err(wrong("is not a list of interfaces".into())),
    };
    let entry = |(index, entry): (usize, &serde_yaml::Value)| {
        let (from, to) = entry
            .get("ms_api")
            .and_then(text_of)
            .zip(entry.get("pt_api").and_then(text_of))
            .ok_or_else(|| wrong(format!("entry {} does not name `ms_api` and `pt_api`", index + 1)))?;
        let mut places = Vec::new();
        for (part, keys) in PLACES {
            let listed = |side: &str| keys.iter().find_map(|key| entry.get(format!("{side}_{key}"))).map(list);
            if let (Some(candidate), Some(baseline)) = (listed("ms"), listed("pt")) {
                if candidate.len() != baseline.len() {
                    return Err(wrong(format!(
                        "entry {}, {from}: lists of `{part}` have different lengths",
                        index + 1
                    )));
                }
                places.push((part.to_owned(), candidate.into_iter().zip(baseline).collect()));
            }
        }
        Ok(RenamedOperation { from, to, places })
    };
    entries.iter().enumerate().map(entry).collect()
}

/// Parts of a call, and the keys of their lists.
const PLACES: [(&str, &[&str]); 3] =
    [("input", &["args"]), ("output", &["outputs", "output"]), ("parameters", &["parameters"])];

/// A text that is not empty.
fn text_of(value: &serde_yaml::Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Places as rows name them.
fn list(value: &serde_yaml::Value) -> Vec<String> {
    let name =
        |value: &serde_yaml::Value| value.as_u64().map_or_else(|| text_of(value), |index| Some(index.to_string()));
    value.as_sequence().into_iter().flatten().filter_map(name).collect()
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
    fn layers_and_interfaces_are_those_of_msprobe() {
        let layers = parse_layers("l.yaml", "TopLayer:\n  net: module\nLayer:\n  mlp.a: mlp.b\n").expect("layers");
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let expected = [("TopLayer", pair("net", "module")), ("Layer", pair("mlp.a", "mlp.b"))];
        assert_eq!(layers, expected.map(|(class, child)| (class.to_owned(), vec![child])));
        let text = "- ms_api: Mint.add\n  pt_api: Torch.add\n  ms_args: [0, 1]\n  pt_args: [1, 0]\n  ms_outputs: [0]\n  pt_outputs: [0]\n";
        let [rule] = parse_interfaces("a.yaml", text).expect("interfaces").try_into().expect("one");
        assert_eq!((rule.from.as_str(), rule.to.as_str()), ("Mint.add", "Torch.add"));
        assert_eq!(
            rule.places,
            [("input".to_owned(), vec![pair("0", "1"), pair("1", "0")]), ("output".to_owned(), vec![pair("0", "0")])]
        );
        for text in ["a: b\n", "- 1\n", "A: {b: [c]}\n", "1: {a: b}\n"] {
            assert!(parse_layers("l.yaml", text).expect_err(text).help().is_some());
        }
        for text in ["a: b\n", "- {ms_api: a}\n", "- {ms_api: a, pt_api: b, ms_args: [0], pt_args: []}\n", "7\n"] {
            assert!(parse_interfaces("a.yaml", text).expect_err(text).help().is_some());
        }
    }

    #[test]
    fn anything_else_is_refused_with_help() {
        for text in ["- a\n", "a: [b]\n", "1: b\n", "a: {b: c}\n", "\"\": x\n", "a: b: c\n"] {
            let error = parse("m.yaml", text).expect_err(text);
            assert!(error.kind() == ErrorKind::Usage && error.help().is_some(), "{text}");
        }
    }
}
