//! Stage 8, *reproduce*: from a culprit to a folder that somebody else can run.
//!
//! [`target`] finds the operation in both runs, [`call`] reads its records, [`data`] takes digests of its tensors and copies
//! them where that was asked for, [`script`] puts everything into `reproduce.py` as one constant, and [`text`] writes the
//! report to file. Records come from artifacts: a name is looked up in a list, a number stays a number, and nothing of them
//! becomes code (`docs/reproduce.md`).

pub mod call;
mod case;
pub mod data;
pub mod difference;
pub mod script;
pub mod target;
pub mod text;

use crate::error::{Error, ErrorKind, Result};
use crate::output::Output;
use crate::result::GateResult;

use call::Call;
use data::TensorCopies;
use target::TargetOperation;

pub use case::{CaseRun, RecordedCall, ReproducedCase};

/// The script's name.
pub const SCRIPT: &str = "reproduce.py";

/// Files that were written, and remarks for the user.
#[derive(Debug, Default)]
pub struct Written {
    /// Names in the folder.
    pub files: Vec<String>,
    /// Facts that limit what the script shows, one sentence each.
    pub notes: Vec<String>,
}

/// Writes the folder of `target`; `runs` are those that have it, the baseline first.
///
/// # Errors
/// `Unsupported` where the operation cannot run alone, with the reason; `NotFound` where no run recorded it; and what
/// reading and writing give.
pub fn write<'a>(
    result: &'a GateResult,
    target: TargetOperation<'a>,
    runs: Vec<CaseRun<'a>>,
    with_data: bool,
    output: Output,
) -> Result<Written> {
    let mut sides = Vec::new();
    for of in runs {
        let Some(op) = target.name_in(of.side) else { continue };
        let runnable = target::runnable_of(op)?;
        let Some(record) = call::call_records(&of.dumps, &runnable)? else { continue };
        let call = Call::read(&record, &runnable).map_err(|cannot| cannot.error(op))?;
        sides.push(RecordedCall { source: of, op: op.to_owned(), folder: record.folder, call });
    }
    let shown = target.shown_name();
    let Some(last) = sides.last() else {
        let error = Error::new(ErrorKind::NotFound, shown, "no dump of these folders has this call");
        return Err(error.with_help("give the folders of the two runs with --baseline and --candidate"));
    };
    let runnable = target::runnable_of(&last.op)?;
    let mut files = TensorCopies::new(with_data.then_some(&output));
    for side in &mut sides {
        files.store(side)?;
    }
    let case = ReproducedCase { result, target, runnable, sides, with_data };
    let notes = script::notes(&case, files.unread());
    output.write(SCRIPT, script::text(&case, &notes)?.as_bytes())?;
    let mut written = vec![SCRIPT.to_owned()];
    for (name, text) in text::issue_texts(&case, &notes)? {
        output.write(&name, text.as_bytes())?;
        written.push(name);
    }
    written.extend(files.into_names());
    output.commit()?;
    Ok(Written { files: written, notes })
}
