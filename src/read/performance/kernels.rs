//! Kernels of a recording, each with its time, its step and its kind.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Budget, ByteSource};

/// Core type of a collective, in the spelling of current releases.
pub const COMMUNICATION: &str = "COMMUNICATION";
/// Most kernels of one recording. Each takes 24 bytes, so a recording takes at most 400 MB.
const MOST_KERNELS: usize = 16_000_000;
/// Most different kinds of kernels in one recording; a model with changing shapes has some ten thousand.
const MOST_KINDS: usize = 500_000;
/// Most bytes of the names, shapes and types of all kinds.
const MOST_BYTES: usize = 128 << 20;
/// Marker for a kernel outside of all steps.
const NO_STEP: u32 = u32::MAX;

/// Kind of a kernel, by which the kernels of two runs are paired.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorKey {
    /// Type of the operator on an NPU, name of the kernel on a GPU.
    pub name: String,
    /// Shapes of the inputs, without quotes and blanks; empty if they are not known.
    pub shapes: String,
    /// Element types of the inputs; empty if they are not known.
    pub dtypes: String,
    /// Type of core that runs the kernel.
    pub core: String,
}

impl OperatorKey {
    /// Whether it is a collective.
    pub(crate) fn is_communication(&self) -> bool {
        self.core == COMMUNICATION
    }
}

/// One run of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Start, in nanoseconds.
    pub start: i64,
    /// Duration, in nanoseconds.
    pub duration: i64,
    /// Index of its kind in [`Kernels::kinds`].
    pub kind: u32,
    step: u32,
}

impl Kernel {
    /// Index of its step in [`Kernels::steps`]; `None` outside of all steps.
    pub fn step(&self) -> Option<usize> {
        (self.step != NO_STEP).then_some(self.step as usize)
    }

    /// End, in nanoseconds.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.duration.max(0))
    }
}

/// All kernels of a recording.
#[derive(Debug)]
pub struct Kernels {
    budget: Budget,
    kinds: Vec<OperatorKey>,
    places: HashMap<OperatorKey, u32>,
    bytes: usize,
    steps: Vec<u64>,
    step_places: HashMap<u64, u32>,
    list: Vec<Kernel>,
}

impl Kernels {
    /// Creates an empty list that may take the memory that `source` grants.
    pub(super) fn new(source: &dyn ByteSource) -> Self {
        Self {
            budget: Budget::from_source(source),
            kinds: Vec::new(),
            places: HashMap::new(),
            bytes: 0,
            steps: Vec::new(),
            step_places: HashMap::new(),
            list: Vec::new(),
        }
    }

    /// Kinds of kernel.
    pub fn kinds(&self) -> &[OperatorKey] {
        &self.kinds
    }

    /// Numbers of the steps, in the order of first appearance.
    pub fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// All kernels, in the order of the file.
    pub fn list(&self) -> &[Kernel] {
        &self.list
    }

    /// Whether the shapes of any kernel are known.
    pub(crate) fn has_shapes(&self) -> bool {
        self.kinds.iter().any(|kind| !kind.shapes.is_empty())
    }

    /// Index of a kind, which is added if it is new.
    ///
    /// # Errors
    /// If there are too many kinds. `file` is the file's name for the message.
    pub(super) fn kind_place(&mut self, file: &str, kind: OperatorKey) -> Result<u32> {
        if let Some(place) = self.places.get(&kind) {
            return Ok(*place);
        }
        let texts = kind.name.len() + kind.shapes.len() + kind.dtypes.len() + kind.core.len();
        self.bytes += texts;
        if self.kinds.len() >= MOST_KINDS || self.bytes > MOST_BYTES {
            return Err(too_many(file, format!("more than {MOST_KINDS} kinds of kernel, or names above 128 MB")));
        }
        // The kind is stored twice: in the list, and as the key of its index.
        self.budget.reserve_value::<[OperatorKey; 2]>(2 * texts)?;
        let place = u32::try_from(self.kinds.len()).unwrap_or_default();
        self.kinds.push(kind.clone());
        self.places.insert(kind, place);
        Ok(place)
    }

    /// Index of a step, which is added if it is new.
    pub(super) fn step_place(&mut self, number: u64) -> u32 {
        let next = u32::try_from(self.steps.len()).unwrap_or(NO_STEP - 1);
        *self.step_places.entry(number).or_insert_with(|| {
            self.steps.push(number);
            next
        })
    }

    /// Adds a kernel.
    ///
    /// # Errors
    /// If there are too many kernels. `file` is the file's name for the message.
    pub(super) fn add(
        &mut self,
        file: &str,
        kind: u32,
        step: Option<u64>,
        (start, duration): (i64, i64),
    ) -> Result<()> {
        if self.list.len() >= MOST_KERNELS {
            return Err(too_many(file, format!("more than {MOST_KERNELS} kernels; record fewer steps")));
        }
        let step = step.map_or(NO_STEP, |step| self.step_place(step));
        self.budget.reserve_value::<Kernel>(0)?;
        self.list.push(Kernel { start, duration: duration.max(0), kind, step });
        Ok(())
    }

    /// Releases the memory that only adding needs.
    pub(super) fn finish(mut self) -> Self {
        self.places = HashMap::new();
        self.step_places = HashMap::new();
        self.list.shrink_to_fit();
        self
    }
}

fn too_many(file: &str, message: String) -> Error {
    Error::new(ErrorKind::LimitExceeded, file, message)
}

/// Core type in the spelling of current releases.
pub(super) fn core_kind(spelled: &str) -> String {
    let spelled = spelled.trim();
    if spelled.eq_ignore_ascii_case("HCCL") || spelled.eq_ignore_ascii_case(COMMUNICATION) {
        return COMMUNICATION.to_owned();
    }
    spelled.to_owned()
}

/// Cell without quotes and blanks; empty if the profiler wrote `N/A`.
pub(super) fn without_quotes(cell: &str) -> String {
    let bare: String = cell.chars().filter(|letter| *letter != '"' && !letter.is_whitespace()).collect();
    if bare.eq_ignore_ascii_case("N/A") { String::new() } else { bare }
}
