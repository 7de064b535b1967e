//! Packs that were unpacked into a folder: the same verdict as the archive, and no training curve.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use precision_gate::verdict::{CheckId, Verdict};
use tempfile::TempDir;

use crate::config::common::{codes, folder, run, run_paths};
use crate::reports::opening::judged_at;

const CASE: &str = "numeric-overflow-one-side";

/// Unpacks both packs of the case into `gpu/pack` and `npu/pack`, without the members that `is_kept` refuses.
fn unpacked(is_kept: fn(&str) -> bool) -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        let pack = fs::File::open(folder().join(CASE).join(format!("{side}.zip"))).expect("a pack");
        let mut archive = zip::ZipArchive::new(pack).expect("a zip archive");
        for index in 0..archive.len() {
            let mut member = archive.by_index(index).expect("a member");
            let name = member.name().expect("a name").to_string();
            if name.ends_with('/') || !is_kept(&name) {
                continue;
            }
            let to = place.path().join(side).join("pack").join(name);
            fs::create_dir_all(to.parent().expect("a parent")).expect("created");
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).expect("its bytes");
            fs::write(to, bytes).expect("written");
        }
    }
    place
}

fn sides(place: &Path) -> [String; 2] {
    ["gpu", "npu"].map(|side| place.join(side).display().to_string())
}

#[test]
fn an_unpacked_pack_is_judged_as_its_archive() {
    let packed = run(CASE, "").expect("readable");
    let place = unpacked(|_| true);
    let [baseline, candidate] = sides(place.path());
    let outcome = run_paths(&baseline, &candidate, "").expect("readable");
    assert_eq!((outcome.result.verdict, codes(&outcome)), (Verdict::Fail, codes(&packed)));
    let broken = outcome.result.findings.iter().find(|finding| finding.code == "weights-non-finite-one-sided");
    let broken = broken.expect("weights that are NaN on the candidate");
    assert_eq!(broken.text("side"), Some("candidate"));
    let whole = judged_at(&place.path().join("gpu"), &place.path().join("npu"), "");
    let compared = whole.checks.iter().filter(|check| check.verdict != Verdict::Skipped).map(|check| check.id);
    assert_eq!(compared.collect::<Vec<_>>(), [CheckId::Config], "its weights are no curve");
}

#[test]
fn names_that_others_use_too_need_members_of_a_pack_beside_them() {
    let place = unpacked(|name| matches!(name, "env" | "pip"));
    let [baseline, candidate] = sides(place.path());
    let outcome = run_paths(&baseline, &candidate, "").expect("readable");
    assert!(outcome.result.checks.iter().all(|check| check.items.is_empty()), "{:?}", codes(&outcome));
}
