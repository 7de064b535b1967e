//! Stage 8, *reproduce*: from a culprit to a folder that somebody else can run.
//!
//! [`target`] finds the operation in both runs, [`call`] reads its records, [`data`] takes digests of its tensors and copies
//! them where that was asked for, [`script`] puts everything into `reproduce.py` as one constant, and [`text`] writes the
//! report to file. Records come from artifacts: a name is looked up in a list, a number stays a number, and nothing of them
//! becomes code (`docs/reproduce.md`).

pub mod call;
pub mod data;
pub mod difference;
pub mod script;
pub mod target;
pub mod text;

use std::collections::BTreeMap;

use crate::diagnose::runnable::Runnable;
use crate::error::{Error, ErrorKind, Result};
use crate::output::Output;
use crate::read::dump::DumpFolder;
use crate::result::{GateResult, Run};
use crate::verdict::Side;

use call::Call;
use data::Files;
use target::Target;

/// The script's name.
pub const SCRIPT: &str = "reproduce.py";

/// One of the two runs, as far as the operation needs it.
pub struct RunOf<'a> {
    /// The side.
    pub side: Side,
    /// The run as the result names it.
    pub run: &'a Run,
    /// Dumps of the step and rank.
    pub dumps: Vec<&'a DumpFolder>,
    /// Whether its files are those that were judged.
    pub is_judged: bool,
    /// Versions of packages and parts, from config packs.
    pub versions: BTreeMap<String, String>,
}

/// The operation in one of the two runs.
pub struct Recorded<'a> {
    /// The run.
    pub of: RunOf<'a>,
    /// Name of the operation in this run.
    pub op: String,
    /// The dump that recorded it.
    pub folder: &'a DumpFolder,
    /// Its call.
    pub call: Call,
}

impl Recorded<'_> {
    /// Whether everything that it was given was saved and copied.
    pub fn is_complete(&self) -> bool {
        let is_there = |tensor: &&call::Tensor| {
            tensor.elements() == 0 || tensor.stored.as_ref().is_some_and(|stored| !stored.file.is_empty())
        };
        self.call.inputs().iter().all(is_there)
    }
}

/// An operation with everything that is written about it.
pub struct Case<'a> {
    /// The result that names it.
    pub result: &'a GateResult,
    /// The operation.
    pub target: Target<'a>,
    /// The function, as the candidate names it.
    pub runnable: Runnable,
    /// Its calls, the baseline's first; one at least.
    pub sides: Vec<Recorded<'a>>,
    /// Whether recorded tensors were asked for.
    pub with_data: bool,
}

impl Case<'_> {
    /// The calls that the script gets: with recorded tensors all whose inputs are complete, else the last one, the
    /// candidate's where it has one.
    pub fn scripted(&self) -> Vec<&Recorded<'_>> {
        let complete: Vec<&Recorded<'_>> = self.sides.iter().filter(|side| side.is_complete()).collect();
        if self.with_data && !complete.is_empty() { complete } else { self.sides.last().into_iter().collect() }
    }

    /// Whether the script runs recorded inputs, in place of made ones.
    pub fn has_inputs(&self) -> bool {
        self.with_data && self.sides.iter().any(Recorded::is_complete)
    }

    /// The calls of both runs, the baseline's first.
    pub fn both(&self) -> Option<(&Recorded<'_>, &Recorded<'_>)> {
        match self.sides.as_slice() {
            [baseline, candidate] => Some((baseline, candidate)),
            _ => None,
        }
    }
}

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
    target: Target<'a>,
    runs: Vec<RunOf<'a>>,
    with_data: bool,
    output: Output,
) -> Result<Written> {
    let mut sides = Vec::new();
    for of in runs {
        let Some(op) = target.name_in(of.side) else { continue };
        let runnable = target::runnable_of(op)?;
        let Some(record) = call::records(&of.dumps, &runnable)? else { continue };
        let call = Call::read(&record, &runnable).map_err(|cannot| cannot.error(op))?;
        sides.push(Recorded { of, op: op.to_owned(), folder: record.folder, call });
    }
    let shown = target.shown();
    let Some(last) = sides.last() else {
        let error = Error::new(ErrorKind::NotFound, shown, "no dump of these folders has this call");
        return Err(error.with_help("give the folders of the two runs with --baseline and --candidate"));
    };
    let runnable = target::runnable_of(&last.op)?;
    let mut files = Files::new(with_data.then_some(&output));
    for side in &mut sides {
        files.store(side)?;
    }
    let case = Case { result, target, runnable, sides, with_data };
    let notes = script::notes(&case, files.unread());
    output.write(SCRIPT, script::text(&case, &notes)?.as_bytes())?;
    let mut written = vec![SCRIPT.to_owned()];
    for (name, text) in text::all(&case, &notes)? {
        output.write(&name, text.as_bytes())?;
        written.push(name);
    }
    written.extend(files.into_names());
    output.commit()?;
    Ok(Written { files: written, notes })
}
