//! A finding as a sentence that names its place.

use super::writer::{FindingText, Writer};
use crate::error::Result;
use crate::result::finding::{Fact, Finding};
use crate::verdict::CheckId;

/// Message and help of a finding, with its place in front of a message that names neither place nor operation.
pub(super) fn sentence(finding: &Finding, writer: &Writer) -> Result<FindingText> {
    let mut text = writer.finding(finding)?;
    let operation = match finding.facts.get("op") {
        Some(Fact::Text(operation)) => operation,
        _ => &finding.place,
    };
    let names = [writer.name(operation), writer.name(&finding.place)];
    let [_, place] = &names;
    // A profile's message names its rank itself.
    let is_named = finding.check == CheckId::Performance;
    if !place.is_empty() && !is_named && !names.iter().any(|name| text.message.contains(name)) {
        text.message = format!("{place}{}{}", writer.word("colon")?, text.message);
    }
    Ok(text)
}
