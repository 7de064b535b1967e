//! Findings on source lines that the call stack of the first wrong operation of a dump passes through.

use crate::read::frame::StackFrame;
use crate::result::GateResult;
use crate::result::finding::Fact;
use crate::result::unit::{Culprit, dumps};

/// Marks findings about a source line or function as confirmed by the dump, where the stack of its first wrong operation passes through it.
pub(super) fn confirm(result: &mut GateResult) {
    let culprits: Vec<Culprit> = dumps(&result.checks).filter_map(|unit| unit.culprit.clone()).collect();
    for culprit in culprits {
        let frames: Vec<StackFrame> = culprit.stack.iter().filter_map(|text| StackFrame::parse(text)).collect();
        for finding in &mut result.findings {
            let Some(place) = &finding.source else { continue };
            let function = match finding.facts.get("function") {
                Some(Fact::Text(function)) => function.as_str(),
                _ => "",
            };
            let is_there = |frame: &StackFrame| {
                let file = frame.file.replace('\\', "/");
                let is_file =
                    file.strip_suffix(&place.at.file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
                let is_in = frame.line == place.at.line || !function.is_empty() && frame.function == function;
                is_file && !frame.is_library() && is_in
            };
            if frames.iter().any(is_there) && !finding.facts.contains_key("confirmed_by") {
                finding.facts.insert("confirmed_by".into(), culprit.op.clone().into());
            }
        }
    }
}
