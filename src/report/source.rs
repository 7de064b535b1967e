//! Source lines of findings: the file of the checked-out repository that a recorded call came from.

use std::path::{Component, Path};

use super::frame::StackFrame;
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{Culprit, Unit};

/// A line of a file in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Path below the source root, `/`-separated.
    pub path: String,
    /// Line, from 1.
    pub line: u64,
}

/// The source line of a finding: the innermost frame of its stack whose file exists below `root`.
///
/// A run records paths of its own machine, so the longest end of a path that is a file below `root` is used.
pub fn line_of(result: &GateResult, finding: &Finding, root: Option<&Path>) -> Option<SourceLine> {
    if let Some(source) = &finding.source {
        return Some(SourceLine { path: in_repository(result, &source.at.file, root), line: source.at.line });
    }
    let root = root?;
    let frames = stack_of(result, finding)?.iter().filter_map(|text| StackFrame::parse(text));
    frames.filter(|frame| !frame.is_library()).find_map(|frame| locate(&frame, root))
}

/// Path of a source file below the root of the repository, of which the judged folder may be a part.
fn in_repository(result: &GateResult, file: &str, root: Option<&Path>) -> String {
    let judged = Path::new(&result.candidate.location);
    let below = root.filter(|_| result.is_of_source()).and_then(|root| {
        let folder = if judged.is_file() { judged.parent()? } else { judged };
        let below = folder.canonicalize().ok()?.strip_prefix(root.canonicalize().ok()?).ok()?.to_owned();
        below.to_str().map(|below| below.replace('\\', "/"))
    });
    match below {
        Some(below) if !below.is_empty() => format!("{below}/{file}"),
        _ => file.to_owned(),
    }
}

fn stack_of<'a>(result: &'a GateResult, finding: &'a Finding) -> Option<&'a [String]> {
    if let Some(Fact::List(stack)) = finding.facts.get("stack") {
        return Some(stack);
    }
    let checks = result.checks.iter().filter(|check| check.id == finding.check);
    let units = checks.flat_map(|check| &check.units);
    let culprits = units.flat_map(|unit| match unit {
        Unit::Dump(unit) => [unit.culprit.as_ref(), unit.runner_up.as_ref()],
        _ => [None, None],
    });
    let of_finding = |culprit: &&Culprit| culprit.stands_for(finding);
    culprits.flatten().chain(&result.culprit).find(of_finding).map(|culprit| culprit.stack.as_slice())
}

fn locate(frame: &StackFrame, root: &Path) -> Option<SourceLine> {
    let file = frame.file.replace('\\', "/");
    let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let ends = (0..parts.len()).filter_map(|start| parts.get(start..)).map(|end| end.join("/"));
    let mut there = ends.filter(|end| plain(Path::new(end)) && root.join(end).is_file());
    there.next().map(|path| SourceLine { path, line: frame.line.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_end_of_a_path_that_exists_counts() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(root.path().join("train")).expect("a folder");
        std::fs::write(root.path().join("train/gpt.py"), "").expect("a file");
        std::fs::write(root.path().join("gpt.py"), "").expect("a file");
        let frame =
            |file: &str| StackFrame { file: file.into(), line: 7, function: String::new(), code: String::new() };
        let found = |file: &str| locate(&frame(file), root.path()).map(|line| line.path);
        assert_eq!(found("/workspace/train/gpt.py").as_deref(), Some("train/gpt.py"));
        assert_eq!(found("/other/gpt.py").as_deref(), Some("gpt.py"));
        assert_eq!(found("/workspace/none.py"), None);
        assert_eq!(found("../../etc/passwd"), None);
    }
}
