//! `badge.json`: the verdict for an endpoint badge (<https://shields.io/badges/endpoint-badge>).

use serde_json::json;

use super::escape::TextTarget;
use super::messages::Language;
use super::writer::Writer;
use crate::error::Result;
use crate::verdict::Verdict;

/// A badge with `label` on its left and `verdict` on its right.
pub fn render(label: &str, verdict: Verdict, language: Language) -> Result<String> {
    let message = Writer::new(language, TextTarget::Plain).word(&format!("verdict_{}", verdict.as_str()))?;
    let color = match verdict {
        Verdict::Pass => "brightgreen",
        Verdict::Warn => "yellow",
        Verdict::Incomplete | Verdict::Fail => "red",
        Verdict::Skipped => "lightgrey",
    };
    let badge = json!({ "schemaVersion": 1, "label": label, "message": message, "color": color });
    Ok(format!("{badge}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn badges_have_the_fields_of_an_endpoint() {
        for (verdict, message, color) in
            [(Verdict::Pass, "pass", "brightgreen"), (Verdict::Incomplete, "incomplete", "red")]
        {
            let text = render("precision", verdict, Language::En).expect("a badge");
            let badge: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(badge, json!({ "schemaVersion": 1, "label": "precision", "message": message, "color": color }));
        }
    }
}
