//! The page: what stands in its HTML without scripts, its data, its colours.

use std::collections::BTreeMap;

use precision_gate::report::messages::Language;
use precision_gate::report::page::{PageOptions, render};
use precision_gate::report::templates::Templates;
use serde_json::Value;

use crate::reports::cases;

/// The page of a case whose runs are called GPU and NPU.
pub(crate) fn page(case: &str, language: Language) -> String {
    let mut outcome = cases::find(case).run();
    "GPU".clone_into(&mut outcome.result.baseline.as_mut().expect("a baseline").label);
    "NPU".clone_into(&mut outcome.result.candidate.label);
    let templates = Templates::shipped();
    let options = PageOptions { language, templates: &templates };
    render(&outcome.result, &outcome.operations.as_slice().into(), &options).expect("renders")
}

/// HTML that a reader without scripts sees, and the data of the scripts.
fn parts(html: &str) -> (&str, Value) {
    let (document, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").expect("data");
    let (_, document) = document.split_once("<body>").expect("a body");
    let (data, _) = rest.split_once("</script>").expect("an end");
    (document, serde_json::from_str(data).expect("JSON"))
}

#[test]
fn it_loads_nothing_and_may_not() {
    let html = page("culprit_backward", Language::Zh);
    assert!(html.contains("<html lang=\"zh-CN\">"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    assert!(html.contains(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")));
    for load in [" src=", "@import", "url(", "<link"] {
        assert!(!html.contains(load), "{load}");
    }
}

#[test]
fn the_first_screen_comes_first_and_every_entry_of_the_contents_leads_somewhere() {
    for case in cases::CASES {
        let html = page(case.name, Language::En);
        let (document, _) = parts(&html);
        let overview = document.find("<section id=\"overview\"").expect("a first screen");
        assert_eq!(document.find("<section"), Some(overview), "{}", case.name);
        assert!(document[overview..].starts_with("<section id=\"overview\" aria-labelledby=\"headline\">"));
        let links = document.split("href=\"#").skip(1).filter_map(|link| link.split('"').next());
        for target in links {
            assert!(document.contains(&format!("id=\"{target}\"")), "{}: nothing is called {target}", case.name);
        }
    }
}

#[test]
fn sides_are_called_by_their_labels_and_nothing_is_null() {
    for language in Language::ALL {
        for case in ["culprit_backward", "config_failure", "curve_divergence"] {
            let html = page(case, language);
            let (document, data) = parts(&html);
            assert_eq!(data["labels"], serde_json::json!(["GPU", "NPU"]));
            for empty in [">null<", ">none<", ">None<", ">undefined<"] {
                assert!(!document.contains(empty), "{case}: {empty}");
            }
        }
    }
    assert!(!parts(&page("curve_nan", Language::En)).0.contains('`'), "the gate's own code spans are code");
    let (html, alike) = (page("config_failure", Language::En), "<th>GPU</th><th>NPU</th>");
    assert!(html.contains(alike), "the differences of settings have a column per run");
}

#[test]
fn the_data_name_the_first_wrong_value_of_the_result() {
    let html = page("culprit_backward", Language::En);
    let (_, data) = parts(&html);
    assert_eq!(data["culprit"]["tensor"], "Tensor.__getitem__.0.backward.output.0");
    assert_eq!(data["units"][0]["culprit_tensor"], data["culprit"]["tensor"]);
    let html = page("curve_divergence", Language::En);
    let (_, data) = parts(&html);
    assert_eq!((&data["culprit"], &data["curves"][0]["limit"]), (&Value::Null, &Value::from(0.01)));
}

/// Colours of a scheme, by name: those of `:root`, in dark replaced by the dark ones.
fn colours(dark: bool) -> BTreeMap<String, [f64; 3]> {
    let html = page("pass", Language::En);
    let blocks: Vec<&str> = html.split(":root {").skip(1).filter_map(|rest| rest.split('}').next()).take(2).collect();
    assert_eq!(blocks.len(), 2, "light and dark");
    let declarations = blocks[..=usize::from(dark)].iter().flat_map(|block| block.split(';'));
    let colour =
        |hex: &str, at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal")) / 255.0;
    let read = |declaration: &str| {
        let (name, value) = declaration.trim().strip_prefix("--")?.split_once(": #")?;
        Some((name.to_owned(), [0, 2, 4].map(|at| colour(value, at))))
    };
    declarations.filter_map(read).collect()
}

/// Relative luminance and contrast as WCAG 2.2 defines them.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |part: f64| if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
    let luminance =
        |[red, green, blue]: [f64; 3]| 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn text_and_lines_stand_out_in_light_and_dark() {
    for dark in [false, true] {
        let colours = colours(dark);
        for ground in ["paper", "panel"] {
            for text in
                ["ink", "quiet", "accent", "pass", "warn", "incomplete", "fail", "skipped", "baseline", "candidate"]
            {
                let ratio = contrast(colours[text], colours[ground]);
                assert!(ratio >= 4.5, "{text} on {ground}, dark {dark}: {ratio:.2}");
            }
        }
        for line in ["limit", "inherited", "baseline", "candidate"] {
            let ratio = contrast(colours[line], colours["paper"]);
            assert!(ratio >= 3.0, "{line}, dark {dark}: {ratio:.2}");
        }
    }
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
}
