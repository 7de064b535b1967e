//! Packages that a pack lists as installed.

use std::collections::BTreeMap;

use crate::compare::config::version;
use crate::read::pack::Pack;

/// Installed packages by normalised name. A repeated name counts once, with its last version; a line without a
/// version has an empty one.
pub(super) fn installed_packages(pack: &Pack) -> BTreeMap<String, Vec<String>> {
    let mut packages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lines = pack.pip.iter().flatten().flatten();
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, version) = line.split_once('=').unwrap_or((line, ""));
        let version = version.trim_start_matches('=').trim().to_owned();
        let versions = packages.entry(version::normalised_name(name)).or_default();
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    packages
}
