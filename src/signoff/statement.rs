//! The in-toto statement: the files of the sign-off by digest, and the verdict on them.
//!
//! Statement v1 of the in-toto attestation framework
//! (<https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>). It is not signed here: a forge's
//! attestation action or cosign wraps it into an envelope.

use serde_json::{Value, json};

use super::{FileRecord, Signoff};
use crate::error::{Error, ErrorKind, Result};

/// The type of every statement.
pub const TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate, documented in `docs/signoff.md`.
pub(crate) const PREDICATE_TYPE: &str = "https://github.com/precision-gate/precision-gate/attestation/signoff/v1";

/// The statement that `signoff` is about `subjects`.
pub(crate) fn signoff_statement(signoff: &Signoff, subjects: &[FileRecord]) -> Result<Value> {
    let subject: Vec<Value> =
        subjects.iter().map(|file| json!({ "name": file.name, "digest": { "sha256": file.sha256 } })).collect();
    let predicate =
        serde_json::to_value(signoff).map_err(|error| Error::new(ErrorKind::Internal, "signoff.json", error))?;
    Ok(json!({ "_type": TYPE, "subject": subject, "predicateType": PREDICATE_TYPE, "predicate": predicate }))
}
