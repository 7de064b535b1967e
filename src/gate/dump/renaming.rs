//! The rules that translate names before dumps are paired: those of the policy, and those of msprobe's mapping files.

use crate::gate::request::Request;
use crate::pair::dump::{RenamedOperation, Renaming};

/// Parts of a row's name that follow its operation's name.
const BELOW: [&str; 3] = [".input.", ".output.", ".parameters."];

/// The rules of a request; those of mapping files come first.
pub(in crate::gate) fn renaming_of_request(request: &Request) -> Renaming {
    let (policy, matching) = (&request.policy.dump, &request.matching);
    let named =
        |(from, to): &(String, String)| RenamedOperation { from: from.clone(), to: to.clone(), places: Vec::new() };
    let rows = matching.rows.iter().filter_map(|(from, to)| Some((operation_of(from)?, operation_of(to)?)));
    let mut rows: Vec<(String, String)> = rows.collect();
    rows.dedup();
    let operations = matching.interfaces.iter().cloned().chain(rows.iter().chain(&policy.operations.0).map(named));
    Renaming {
        prefixes: policy.prefixes.0.clone(),
        modules: matching.modules.iter().flatten().chain(&policy.modules.0).cloned().collect(),
        layers: matching.layers.clone(),
        operations: operations.collect(),
    }
}

/// The operation that a row belongs to.
fn operation_of(row: &str) -> Option<String> {
    let end = BELOW.iter().filter_map(|part| row.find(part)).min()?;
    row.get(..end).map(str::to_owned)
}
