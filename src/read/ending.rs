//! The end of a run according to its log: a traceback, or a message of a device, a collective or the launcher, after the last record.
//!
//! An error before a record was handled, and one after a line of completion comes from shutting down. The lines of several ranks may
//! alternate in one log, so the errors of each rank are kept separately. Each line is read once.

use std::sync::LazyLock;

use regex::Regex;

use crate::fetch::ByteSource;
use crate::kind::EndKind;
use crate::read::word_search::WordSearch;

/// Largest number of ranks whose errors are kept separately.
const MOST_RANKS: usize = 64;
/// Largest number of characters that are kept of a message.
const WIDTH: usize = 400;
/// Largest number of source lines after a frame of a traceback.
const BEHIND_FRAME: usize = 6;
/// Number of lines after the last line of an error for which the error counts as open.
const OPEN_FOR: usize = 2000;
/// Bytes at the end of a text that are searched for an error.
const SEARCHED: u64 = 1 << 20;

fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("invariant: the patterns of this reader are constants, and tests use each")
}

/// Texts of which every line about an error or about the end of a run has at least one.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"Traceback|rror|xception|Interrupt|(?-u:\bE[A-Z][0-9]{4}\b)|(?-u:\bE[0-9]{5}\b)|exitcode|exit code|SIGKILL|ignal 9|Killed|ime ?out|imed out|imes out|out of memory|OutOfMemory|(?i-u:complet|finish|exiting|early[ -]stop|train_runtime|\bdone\b|end of training|succe)|训练",
    )
});
/// Words of which every line that [`HINT`] matches has at least one; they are found in far less time.
const HINT_WORDS: &[&str] = &[
    "traceback",
    "rror",
    "xception",
    "interrupt",
    "|e?####|",
    "|e#####|",
    "exitcode",
    "exit code",
    "sigkill",
    "ignal 9",
    "killed",
    "imeout",
    "ime out",
    "imed out",
    "imes out",
    "out of memory",
    "outofmemory",
    "complet",
    "finish",
    "exiting",
    "early stop",
    "early-stop",
    "train_runtime",
    "|done|",
    "end of training",
    "succe",
    "训练",
];
static HINT_SEARCH: LazyLock<WordSearch> = LazyLock::new(|| WordSearch::of(HINT_WORDS));
static COMPLETE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)\btrain(?:ing)?\b[^.:!]{0,24}\b(?:completed?|finished|done|ended|succeeded|over)\b|\b(?:finished|completed|done with|end of) (?:the )?train(?:ing)?\b|\bexiting program\b|\btrain_runtime\b|\b(?:job|run|program|all epochs|everything) (?:is |has )?(?:completed?|finished|done|succeeded)\b|\b(?:completed?|finished|exited|ended) (?:successfully|normally)\b|\bsuccessfully (?:completed?|finished|trained)\b|\bearly[ -]stopp(?:ing|ed)\b(?:[^:=]*$|.*\b(?:at|triggered|after)\b)|\ball done\b|训练(?:已)?(?:完成|结束)",
    )
});
static HANDLED: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\b(?:WARN(?:ING)?|INFO|DEBUG)\b|(?i:\bretry\w*\b|\bignored\b)"));
static PREFIX: LazyLock<Regex> = LazyLock::new(|| constant(r"^\s*\[(?:[Rr]ank|default)\s?(\d{1,6})\]\s?:?\s?"));
static FRAME: LazyLock<Regex> = LazyLock::new(|| constant(r#"^\s*(?:\S+\s)?\s*File "([^"]+)", line (\d+)"#));
static RAISED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Failure|Abort|Timeout|Fault|Raised|Terminated|Exhausted)\b\s*(?::\s?(.*))?$",
    )
});
/// A line that begins as a raised exception of any name does: `torch.cuda.Odd: ..`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| constant(r"^[A-Za-z_]\w*(?:\.\w+)*\.?[A-Z]\w*: \S"));
static LAUNCHER: LazyLock<Regex> =
    LazyLock::new(|| constant(r"ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError"));
static MEMORY: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)\bout of memory\b|OutOfMemory|\bMemoryError\b|cannot allocate memory|failed to allocate memory|\bEL0004\b|memory_allocation_failure|error code:? ?\(?2070(?:01|18)\b|oom[- ]kill",
    )
});
static KILLED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i:exit ?(?:code|status)\s*:?\s*(?:-9|137)\b)|SIGKILL|\b[Ss]ignal:? 9\b|^(?:\S+: line \d+:\s+\d+ )?Killed\b",
    )
});
static COLLECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"\bEI000[26]\b|\bERR02200\b|(?i:\b(?:hccl|nccl|collective|communication|allreduce|gloo)\w*\b.{0,160}(?:time ?out|timed out|times out)|(?:time ?out|timed out).{0,80}\b(?:hccl|nccl|collective))",
    )
});
static DEVICE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"\bE[A-Z]\d{4}\b|\bE\d{5}\b|\bERR0\d{4}\b|error code:? ?\(?50\d{4}\b|CUDA error|cudaError|CUDNN_STATUS|CUBLAS_STATUS|NPU error|device-side assert|(?i:uncorrectable ecc)",
    )
});
static CODE: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\b(E[A-Z]\d{4}|E\d{5})\b|\b(ERR\d{5})\b|error code:? ?\(?(\d{6})\b"));
/// The kernel that failed, as the message of an Ascend device names it: `fault kernel_name=MatMul_op7, program id=0`.
static KERNEL: LazyLock<Regex> = LazyLock::new(|| constant(r"\bkernel_name\s*[=:]\s*([\w.:/-]{1,200})"));
static BY_WORD: LazyLock<Regex> = LazyLock::new(|| constant(r"\bRank:? ?(\d+)\b"));
static BY_ID: LazyLock<Regex> = LazyLock::new(|| constant(r"\bRankID: ?(\d+)\b"));
static BY_ROOT: LazyLock<Regex> = LazyLock::new(|| constant(r"^\s*(?:global_)?rank\s*: ?(\d+)\b"));
static BY_LOCAL: LazyLock<Regex> = LazyLock::new(|| constant(r"\blocal_rank: ?(\d+)\b"));
static OF_PROCESS: LazyLock<Regex> = LazyLock::new(|| constant(r"^-- Process (\d+) terminated with the following"));
static STEP: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)\b(?:iteration|iter|global[_ ]step|train[_ ]step|step)\b[\s:=#]*(\d{1,12})\b"));

/// The error that ended a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunError {
    /// Kind of the error.
    pub kind: EndKind,
    /// The rank that failed.
    pub rank: Option<u64>,
    /// The step that the error itself names.
    pub step: Option<u64>,
    /// File of the innermost frame.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u64>,
    /// Error code, such as `EI0002`.
    pub code: Option<String>,
    /// Kernel that failed, as the device names it.
    pub kernel: Option<String>,
    /// Message of the error, one line.
    pub message: String,
}

/// The end of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The error that ended the run; `None` where none did.
    pub error: Option<RunError>,
    /// Whether the log states that the run completed.
    pub is_complete: bool,
}

/// Position of a line relative to a traceback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    /// Within the traceback of the error itself.
    Frames,
    /// Within the traceback of an error that another one caused, or that repeats a known one.
    Others,
    /// Within the traceback of an error that was handled.
    Handled,
}

/// Errors of one rank, or of lines that name none.
#[derive(Debug, Default)]
struct Told {
    prefix: Option<u64>,
    place: Place,
    /// Lines since the last frame.
    since: usize,
    /// Whether the next traceback replaces the known one.
    is_replaced: bool,
    frame: Option<(String, u64)>,
    raised: Option<String>,
    kind: Option<EndKind>,
    /// The first line that shows its kind.
    shown: Option<String>,
    /// Error codes by precedence, one for each group of the pattern.
    codes: [Option<String>; 3],
    kernel: Option<String>,
    by_word: Option<u64>,
    by_id: Option<u64>,
    by_root: Option<u64>,
    by_local: Option<u64>,
    step: Option<u64>,
}

/// Reader of the lines of a log that looks for an error after the last record.
#[derive(Debug, Default)]
pub(crate) struct EndingLines {
    told: Vec<Told>,
    is_complete: bool,
    /// Whether the next traceback is one that Python reports as ignored.
    is_ignored: bool,
    /// Number of lines since the last line of an error.
    since: usize,
}

impl EndingLines {
    /// Whether the following lines may belong to an error, so that all of them have to be read.
    pub(crate) fn is_open(&self) -> bool {
        (!self.told.is_empty() || self.is_ignored) && self.since < OPEN_FOR
    }

    /// Whether a line may be part of an error or state that the run completed, whatever lines come before it.
    pub(crate) fn may_show_end(line: &str) -> bool {
        HINT_SEARCH.first(line.as_bytes()).is_some() && HINT.is_match(line)
    }

    /// Notes a training record: any error before it was handled.
    pub(crate) fn note_record(&mut self) {
        self.told.clear();
        (self.is_complete, self.is_ignored, self.since) = (false, false, 0);
    }

    /// Takes a line. Returns whether it is part of an error, and so no record.
    pub(crate) fn take_line(&mut self, line: &str) -> bool {
        if !self.is_open() && !Self::may_show_end(line) {
            return false;
        }
        let prefix = PREFIX.captures(line);
        let rank = prefix.as_ref().and_then(|found| found.get(1)?.as_str().parse().ok());
        let text = prefix.and_then(|found| line.get(found.get(0)?.end()..)).unwrap_or(line);
        let is_part = self.part(rank, text.trim_end());
        self.since = if is_part { 0 } else { self.since.saturating_add(1) };
        is_part
    }

    fn part(&mut self, rank: Option<u64>, text: &str) -> bool {
        if let Some((before, _)) = text.split_once("Traceback (most recent call last)") {
            self.traceback(rank, before);
            return true;
        }
        if text.trim_start().starts_with("Exception ignored in") {
            self.is_ignored = true;
            return true;
        }
        let is_within = self.told.iter().any(|told| told.prefix == rank && told.place != Place::Outside);
        if is_within {
            return self.told.iter_mut().find(|told| told.prefix == rank).is_some_and(|told| told.within(text));
        }
        if COMPLETE.is_match(text) && !RAISED.is_match(text.trim_start()) {
            self.told.clear();
            self.is_complete = true;
            return false;
        }
        if let Some(process) = OF_PROCESS.captures(text) {
            if let Some(told) = self.told.iter_mut().find(|told| told.prefix == rank) {
                told.by_root = process.get(1).and_then(|digits| digits.as_str().parse().ok()).or(told.by_root);
                (told.is_replaced, told.raised) = (true, None);
            }
            return true;
        }
        if text.starts_with("During handling of the above exception") {
            self.told.iter_mut().filter(|told| told.prefix == rank).for_each(|told| told.is_replaced = true);
            return !self.told.is_empty();
        }
        let is_known = self.told.iter().any(|told| told.prefix == rank);
        // `MeanSquaredError: 0.5` is a value.
        let message = RAISED.captures(text).map(|found| found.get(1).map_or("", |message| message.as_str()));
        let raised = message.is_some_and(|message| !message.starts_with(|first: char| first.is_ascii_digit()));
        let kind = kind_of(text).filter(|_| !HANDLED.is_match(text));
        if !is_known && kind.is_none() && !raised {
            return false;
        }
        if self.is_complete {
            return true;
        }
        let Some(told) = self.of(rank) else { return true };
        told.take(text);
        kind.is_some() || raised
    }

    fn of(&mut self, rank: Option<u64>) -> Option<&mut Told> {
        let known = self.told.iter().position(|told| told.prefix == rank);
        let place = match known {
            Some(place) => place,
            None if self.told.len() < MOST_RANKS => {
                self.told.push(Told { prefix: rank, ..Told::default() });
                self.told.len() - 1
            }
            None => return None,
        };
        self.told.get_mut(place)
    }

    /// Begins a traceback. `before` is the text before it in its line.
    fn traceback(&mut self, rank: Option<u64>, before: &str) {
        let is_handled = std::mem::take(&mut self.is_ignored) || HANDLED.is_match(before) || self.is_complete;
        let Some(told) = self.of(rank) else { return };
        told.place = if is_handled {
            Place::Handled
        } else if told.frame.is_none() && told.raised.is_none() {
            Place::Frames
        } else if std::mem::take(&mut told.is_replaced) || before.trim_end().ends_with("Original") {
            (told.frame, told.raised) = (None, None);
            Place::Frames
        } else {
            Place::Others
        };
        told.since = 0;
    }

    /// The end of the log.
    pub(crate) fn finish(self) -> Ending {
        let is_complete = self.is_complete;
        let mut told: Vec<Told> = self.told.into_iter().filter(Told::is_error).collect();
        let code = told.iter().find_map(Told::code);
        // Of several ranks, the one with the first kind counts; among equal kinds, the first rank that raised an exception.
        told.sort_by_key(|told| (told.kind.unwrap_or_default(), told.raised.is_none()));
        let error = told.into_iter().next().filter(|_| !is_complete).map(|told| told.error(code));
        Ending { error, is_complete }
    }
}

impl Told {
    /// Takes a line within a traceback. Returns whether it is part of it.
    fn within(&mut self, text: &str) -> bool {
        let text = text.trim_start();
        if let Some(frame) = FRAME.captures(text) {
            if self.place == Place::Frames
                && let (Some(file), Some(line)) =
                    (frame.get(1), frame.get(2).and_then(|line| line.as_str().parse().ok()))
            {
                self.frame = Some((file.as_str().to_owned(), line));
            }
            self.since = 0;
            return true;
        }
        self.since += 1;
        if self.since > BEHIND_FRAME {
            self.place = Place::Outside;
            return false;
        }
        if !RAISED.is_match(text) && !NAMED.is_match(text) {
            return true;
        }
        let place = std::mem::take(&mut self.place);
        if place == Place::Handled {
            return true;
        }
        if LAUNCHER.is_match(text) && place == Place::Frames {
            // The frames of the launcher do not show what failed.
            (self.frame, self.is_replaced) = (None, true);
        } else if place == Place::Frames {
            self.raised = Some(cut(text));
            self.step = self.step.or_else(|| first_number(&STEP, text));
        }
        self.take(text);
        true
    }

    /// Takes a line about the error other than a frame.
    fn take(&mut self, text: &str) {
        if let Some(kind) = kind_of(text)
            && self.kind.is_none_or(|known| kind < known)
        {
            (self.kind, self.shown) = (Some(kind), Some(cut(text.trim())));
        }
        if self.raised.is_none() && RAISED.is_match(text) && !LAUNCHER.is_match(text) {
            self.raised = Some(cut(text));
        }
        for found in CODE.captures_iter(text) {
            for (place, known) in self.codes.iter_mut().enumerate() {
                *known = known.take().or_else(|| found.get(place + 1).map(|code| code.as_str().to_owned()));
            }
        }
        if self.kernel.is_none() {
            self.kernel = KERNEL.captures(text).and_then(|found| Some(found.get(1)?.as_str().to_owned()));
        }
        self.by_word = self.by_word.or_else(|| first_number(&BY_WORD, text));
        self.by_id = self.by_id.or_else(|| first_number(&BY_ID, text));
        self.by_root = self.by_root.or_else(|| first_number(&BY_ROOT, text));
        self.by_local = self.by_local.or_else(|| first_number(&BY_LOCAL, text));
    }

    /// Whether it holds an error that was not handled.
    fn is_error(&self) -> bool {
        self.raised.is_some() || self.kind.is_some() || self.frame.is_some()
    }

    /// The error code with the highest precedence.
    fn code(&self) -> Option<String> {
        self.codes.iter().flatten().next().cloned()
    }

    /// The error. Its code is `code` where it has none of its own.
    fn error(self, code: Option<String>) -> RunError {
        let kind = self.kind.unwrap_or_default();
        let named = self.prefix.or(self.by_word).or(self.by_id);
        let of_root = self.by_root.or(self.by_local);
        let rank = if kind == EndKind::Killed { of_root.or(named) } else { named.or(of_root) };
        let code = self.code().or(code);
        let (file, line) = self.frame.unzip();
        let message = self.raised.or(self.shown).unwrap_or_default();
        RunError { kind, rank, step: self.step, file, line, code, kernel: self.kernel, message }
    }
}

/// The first kind of error that applies to a line; `None` where none does, as for most exceptions of Python.
fn kind_of(text: &str) -> Option<EndKind> {
    if MEMORY.is_match(text) {
        Some(EndKind::OutOfMemory)
    } else if KILLED.is_match(text) {
        Some(EndKind::Killed)
    } else if COLLECTIVE.is_match(text) {
        Some(EndKind::CollectiveTimeout)
    } else if DEVICE.is_match(text) {
        Some(EndKind::DeviceError)
    } else {
        None
    }
}

/// The first number that a pattern captures in a text.
fn first_number(pattern: &Regex, text: &str) -> Option<u64> {
    let found = pattern.captures(text)?;
    found.iter().skip(1).flatten().next()?.as_str().parse().ok()
}

fn cut(text: &str) -> String {
    text.chars().take(WIDTH).collect()
}

/// Whether the end of a text without records shows how its run failed. Files that are no logs by their extension, such as
/// documentation and source code, never do.
pub(crate) fn recognise(source: &dyn ByteSource) -> bool {
    const OTHERS: [&str; 14] =
        ["md", "rst", "py", "ipynb", "html", "json", "yaml", "yml", "csv", "c", "cpp", "rs", "sh", "toml"];
    let name = source.name().to_ascii_lowercase();
    let extension = name.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, extension)| extension);
    if extension.is_some_and(|extension| OTHERS.contains(&extension)) {
        return false;
    }
    let start = source.len().saturating_sub(SEARCHED);
    let Ok(len) = usize::try_from(source.len() - start) else { return false };
    let mut bytes = vec![0; len];
    if source.read_at(start, &mut bytes).is_err() || bytes.contains(&0) {
        return false;
    }
    let mut lines = EndingLines::default();
    for line in String::from_utf8_lossy(&bytes).split(['\n', '\r']) {
        lines.take_line(line);
    }
    lines.finish().error.is_some()
}

#[cfg(test)]
mod tests;
