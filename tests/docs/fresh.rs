//! Pages that a test writes.

use std::fs;
use std::path::Path;

/// Holds page `name` below `docs/` against what it should be; with `UPDATE_DOCS` set, writes it. `test` is the test binary.
pub(crate) fn is_fresh(name: &str, wanted: &str, test: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/{name} is stale: run `UPDATE_DOCS=1 cargo test --test all {test}::`");
}
