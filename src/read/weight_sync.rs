//! Weights on their way from a trainer to an inference engine, as the stages of a synchronisation recorded them:
//! docs/formats/weight-sync.md.
//!
//! Tensors are opened by the check that compares them, one synchronisation after the other; manifests of digests and reports of
//! pointers are small and read at once.

mod list;
mod manifest;
mod place;
mod pointers;
mod record;

use crate::error::{Error, Result};
use crate::fetch::{Files, Source};
use crate::read::tensor_file;

pub use list::NamedTensors;
pub(crate) use list::named_tensors;
pub use record::{
    DigestKind, PointerReport, PointerRow, SyncDamage, SyncFile, SyncFileKind, SyncRecord, SyncRecords, SyncStage,
    SyncTensors, TensorDigest,
};

/// Recognises the file at `path` that starts with `head` as one of a synchronisation; `None` for another format.
pub fn recognise(path: &str, head: &[u8], source: &Source) -> Option<Result<SyncFile>> {
    let file = |kind| SyncFile { path: path.to_owned(), kind };
    if pointers::is_report(head) {
        return Some(Ok(file(SyncFileKind::Pointers)));
    }
    if manifest::is_manifest(head) {
        return Some(Ok(file(SyncFileKind::Manifest)));
    }
    let is_recipe = place::has_recipe_name(path);
    if !is_recipe && place::stage(path).is_none() || !tensor_file::holds_named_tensors(head, source) {
        return None;
    }
    match tensor_file::open_all(source.clone()) {
        Ok(stored) => (is_recipe || list::is_list(&stored)).then(|| Ok(file(SyncFileKind::Tensors))),
        Err(error) => is_recipe.then_some(Err(error)),
    }
}

/// Reads the files of a side, without the elements of tensors.
pub(crate) fn sync_records(files: &dyn Files, recognised: &[SyncFile]) -> SyncRecords {
    let mut records = SyncRecords::default();
    for file in recognised {
        let (step, rank) = (place::step(&file.path), place::rank(&file.path));
        match file.kind {
            SyncFileKind::Tensors => {
                let Some(stage) = place::stage(&file.path) else { continue };
                let (path, tensors) = (file.path.clone(), SyncTensors::File);
                records.records.push(SyncRecord { path, stage, step: step.unwrap_or(0), rank, tensors });
            }
            SyncFileKind::Manifest => match files.open(&file.path) {
                Ok(source) => manifest::read(&file.path, &source, &mut records),
                Err(error) => records.damages.push(damage(&file.path, &error)),
            },
            SyncFileKind::Pointers => match files.open(&file.path) {
                Ok(source) => {
                    let (rows, damages) = pointers::read(&file.path, &source);
                    records.damages.extend(damages);
                    let path = file.path.clone();
                    records.pointers.push(PointerReport { path, step: step.unwrap_or(0), rank, rows });
                }
                Err(error) => records.damages.push(damage(&file.path, &error)),
            },
        }
    }
    records
}

fn damage(path: &str, error: &Error) -> SyncDamage {
    SyncDamage { path: path.to_owned(), reason: error.message().to_owned(), help: record::WHOLE, count: 1 }
}
