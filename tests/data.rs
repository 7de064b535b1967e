//! Data of tests: fixtures by their path, packed ones unpacked, and what lies beside the checkout.
//!
//! Every test, example and fuzz target that reads `tests/fixtures` finds it here.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The family whose cases are packed, each as `sides.tar.xz` beside its `case.json`.
const PACKED: &str = "dumps";
const ARCHIVE: &str = "sides.tar.xz";

/// The checkout: the folder of this package, or the one above it.
fn checkout() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut above = own.ancestors();
    above.find(|folder| folder.join("tests/fixtures").is_dir()).expect("the fixtures").to_owned()
}

/// A fixture by its path below `tests/fixtures`: a family, a case, a side or a file.
pub(crate) fn fixture(path: impl AsRef<Path>) -> PathBuf {
    static DUMPS: LazyLock<PathBuf> = LazyLock::new(|| unpacked(&checkout().join("tests/fixtures").join(PACKED)));
    match path.as_ref().strip_prefix(PACKED) {
        Ok(below) => DUMPS.join(below),
        Err(_) => checkout().join("tests/fixtures").join(path),
    }
}

/// A packed family, unpacked below `target/tmp`. It stays there, under a name made from its bytes; tests that run at the
/// same time unpack beside each other, and one of them gives it that name.
fn unpacked(family: &Path) -> PathBuf {
    let mut cases: Vec<PathBuf> = fs::read_dir(family).expect("cases").flatten().map(|entry| entry.path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    let mut hasher = DefaultHasher::new();
    for file in cases.iter().flat_map(|case| [case.join("case.json"), case.join(ARCHIVE)]) {
        hasher.write(file.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
    let temporary = option_env!("CARGO_TARGET_TMPDIR").map_or_else(|| checkout().join("target/tmp"), PathBuf::from);
    let target = temporary.join(format!("{PACKED}-{:016x}", hasher.finish()));
    if target.is_dir() {
        return target;
    }
    fs::create_dir_all(&temporary).expect("a folder");
    let work = tempfile::tempdir_in(&temporary).expect("a folder");
    for case in cases {
        let place = work.path().join(case.file_name().expect("a name"));
        let packed = BufReader::new(File::open(case.join(ARCHIVE)).expect("an archive"));
        tar::Archive::new(lzma_rust2::XzReader::new(packed, false)).unpack(&place).expect("unpacked");
        fs::copy(case.join("case.json"), place.join("case.json")).expect("copied");
    }
    // Where another test was faster, its folder stands, and this one is removed.
    if fs::rename(work.path(), &target).is_ok() {
        let _ = work.keep();
    }
    target
}

/// Data of other projects, `shared/fixtures/<name>` in a folder above the checkout; where it is not there, `None`, and one line
/// says what is skipped.
#[allow(clippy::print_stderr, reason = "a test says what it skips")]
pub(crate) fn beside(name: &str) -> Option<PathBuf> {
    let checkout = checkout();
    let found =
        checkout.ancestors().skip(1).map(|above| above.join("shared/fixtures").join(name)).find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("skipped: no shared/fixtures/{name} beside the checkout, {}", checkout.display());
    }
    found
}
