//! A first policy file, made from the artifacts in two folders.

use minijinja::{Environment, UndefinedBehavior, context};

use super::discover::Inventory;
use super::location::inventory_of_location;
use super::request::Request;
use crate::documentation;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Fetcher;
use crate::language::Language;
use crate::policy::Policy;
use crate::policy::waiver::{OFFERED_OWNERS, OFFERED_REASONS};
use crate::read::curve::CurveFile;
use crate::read::dump::DumpFolder;
use crate::report::explain::expiry;
use crate::verdict::Side;

/// The commented text of a policy file for the locations `baseline` and `candidate`, as of `policy.today`.
pub fn policy_text(
    baseline: &str,
    candidate: &str,
    policy: &Policy,
    (fetcher, language): (&Fetcher, Language),
) -> Result<String> {
    let (left, right) = (
        inventory_of_location(baseline, Side::Baseline, fetcher)?,
        inventory_of_location(candidate, Side::Candidate, fetcher)?,
    );
    let on_both_sides =
        Request::ALL_CHECKS.iter().filter(|check| left.has_files_of(**check) && right.has_files_of(**check));
    let checks: Vec<&str> = on_both_sides.map(|check| check.as_str()).collect();
    let placeholder = |[english, chinese]: [&'static str; 2]| match language {
        Language::En => english,
        Language::Zh => chinese,
    };
    let (reason, owner) = (placeholder(OFFERED_REASONS), placeholder(OFFERED_OWNERS));
    let today = policy.today.to_string();
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let context = context! {
        baseline => side(&left),
        candidate => side(&right),
        checks,
        dumps => right.artifacts::<DumpFolder>().iter().map(|dump| one_line(&dump.records)).collect::<Vec<_>>(),
        curves => right.artifacts::<CurveFile>().iter().map(|curve| one_line(&format!("{} ({})", curve.path, curve.format))).collect::<Vec<_>>(),
        reason,
        owner,
        expires => expiry(&today).unwrap_or(today),
        documents => documentation::DOCUMENTS,
    };
    let template = match language {
        Language::En => include_str!("../../templates/precision-gate.yml.j2"),
        Language::Zh => include_str!("../../templates/precision-gate.zh.yml.j2"),
    };
    // Templates are rendered without their last line break; without it, an appended line would continue a comment.
    let text = environment.render_str(template, context).map(|text| text + "\n");
    text.map_err(|error| Error::new(ErrorKind::Internal, "precision-gate.yml.j2", error))
}

fn side(inventory: &Inventory) -> minijinja::Value {
    let location = inventory.location();
    let label = location.trim_end_matches('/').rsplit('/').next().unwrap_or(location);
    context! { label => yaml_text(label), location => yaml_text(location) }
}

/// A YAML scalar that holds just this text.
fn yaml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Removes control characters from a file name, which stands in a YAML comment and must not end it.
fn one_line(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}
