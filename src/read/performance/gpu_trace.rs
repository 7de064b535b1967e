//! PyTorch's trace of a GPU: kernels, the runtime calls that launched them, and the operators that made these calls.
//!
//! A kernel belongs to the step in which it was launched. Its `correlation` identifies the call of the runtime, whose time is within
//! a span `ProfilerStep#N`. Its `External id` identifies the operator.

use std::collections::HashMap;

use super::event::{Event, step_number};
use super::kernels::{COMMUNICATION, Kernels, OperatorKey};
use super::launches::Spans;
use super::number::{microseconds, parse_whole};
use super::operator_times::{OperatorTimes, is_loading};
use super::profile::{Profile, ProfileDevice};
use super::scanner::{Receiver, scan, unquoted};
use super::stream::unpacked_reader;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Budget, ByteSource};
use crate::read::json::{Json, parse_bytes};

const ON_DEVICE: [&str; 3] = ["kernel", "gpu_memcpy", "gpu_memset"];
const LAUNCHES: [&str; 4] = ["cuda_runtime", "cuda_driver", "runtime", "driver"];
const OPERATORS: [&str; 2] = ["cpu_op", "operator"];
const SPANS: [&str; 1] = ["user_annotation"];
const COUNTERS: [&str; 1] = ["cpu_instant_event"];
/// Most kernels, runtime calls and operators that are kept.
const MOST_EVENTS: usize = 16_000_000;
/// Most spans of steps.
const MOST_STEPS: usize = 100_000;
/// Number of bytes of an MB in the Ascend profiler's tables.
const MB: f64 = 1_048_576.0;
/// Number of the device type GPU in memory counters.
const CUDA: u64 = 1;

type Ids<T> = HashMap<u64, T, foldhash::fast::RandomState>;

/// Reads a trace to its end. The caller sets the place of the profile.
///
/// # Errors
/// `Corrupt` if the file is cut or not a trace.
pub(super) fn read_trace(source: &dyn ByteSource) -> Result<Profile> {
    let mut found = Found::of(source);
    scan(source.name(), unpacked_reader(source), &mut found)?;
    found.into_profile()
}

/// A kernel whose step and operator are not known yet.
struct Launched {
    start: i64,
    duration: i64,
    kind: u32,
    correlation: u64,
    operator: u64,
}

struct Found<'a> {
    file: &'a str,
    /// Memory for events that are kept until the end of the file, because events are not sorted.
    budget: Budget,
    kernels: Kernels,
    kinds: HashMap<Vec<u8>, u32>,
    launched: Vec<Launched>,
    /// Start of each call of the runtime, by its correlation.
    calls: Ids<i64>,
    /// Index of each operator's name, by its external id.
    operators: Ids<u32>,
    names: Vec<String>,
    name_places: HashMap<Vec<u8>, u32>,
    steps: Vec<(i64, i64, u64)>,
    times: OperatorTimes,
    memory_peak: Option<f64>,
    device_name: Option<String>,
    rank: Option<u64>,
}

impl Receiver for Found<'_> {
    fn event(&mut self, object: &[u8]) -> Result<()> {
        let event = Event::parse(object).ok_or_else(|| self.wrong("holds an event that is no object"))?;
        if event.phase == b"X" && event.has_category(&ON_DEVICE) {
            self.kernel(&event)
        } else if event.phase == b"X" && event.has_category(&LAUNCHES) {
            self.call(&event)
        } else if event.phase == b"X" && event.has_category(&OPERATORS) {
            self.operator(&event)
        } else if event.phase == b"X" && event.has_category(&SPANS) {
            self.span(&event)
        } else if event.has_category(&COUNTERS) && event.raw_name() == b"[memory]" {
            self.memory(&event);
            Ok(())
        } else {
            Ok(())
        }
    }

    fn other_value(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let parse = |value| parse_bytes(self.file, value);
        match key {
            b"deviceProperties" => {
                let devices = parse(value)?;
                let first = devices.as_array().and_then(|devices| devices.first());
                self.device_name =
                    first.and_then(|device| device.get("name")).and_then(Json::as_str).map(str::to_owned);
            }
            b"distributedInfo" => {
                let rank = parse(value)?.get("rank").and_then(Json::as_i64);
                self.rank = rank.and_then(|rank| u64::try_from(rank).ok());
            }
            _ => {}
        }
        Ok(())
    }
}

impl<'a> Found<'a> {
    fn of(source: &'a dyn ByteSource) -> Self {
        Self {
            file: source.name(),
            budget: Budget::from_source(source),
            kernels: Kernels::new(source),
            kinds: HashMap::new(),
            launched: Vec::new(),
            calls: Ids::default(),
            operators: Ids::default(),
            names: Vec::new(),
            name_places: HashMap::new(),
            steps: Vec::new(),
            times: OperatorTimes::default(),
            memory_peak: None,
            device_name: None,
            rank: None,
        }
    }
}

impl Found<'_> {
    fn kernel(&mut self, event: &Event<'_>) -> Result<()> {
        let (Some(start), Some(duration)) = (event.start(), event.duration()) else {
            return Err(self.wrong("holds a kernel without a start or a duration"));
        };
        let (mut correlation, mut operator) = (u64::MAX, u64::MAX);
        event.arguments(|key, value| match key {
            b"correlation" => correlation = parse_whole(unquoted(value)).unwrap_or(u64::MAX),
            b"External id" => operator = parse_whole(unquoted(value)).unwrap_or(u64::MAX),
            _ => {}
        });
        let kind = match self.kinds.get(event.raw_name()) {
            Some(kind) => *kind,
            None => {
                let name = event.name();
                let is_communication = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("nccl"));
                let core = if is_communication { COMMUNICATION } else { "" };
                let key = OperatorKey { name, core: core.to_owned(), ..OperatorKey::default() };
                let kind = self.kernels.kind_place(self.file, key)?;
                self.kinds.insert(event.raw_name().to_vec(), kind);
                kind
            }
        };
        if self.launched.len() >= MOST_EVENTS {
            return Err(self.too_many("kernels"));
        }
        self.budget.reserve_value::<Launched>(0)?;
        self.launched.push(Launched { start, duration, kind, correlation, operator });
        Ok(())
    }

    fn call(&mut self, event: &Event<'_>) -> Result<()> {
        let (Some(start), Some(correlation)) = (event.start(), event.number("correlation")) else { return Ok(()) };
        if self.calls.len() >= MOST_EVENTS {
            return Err(self.too_many("calls of the runtime"));
        }
        self.budget.reserve_value::<(u64, i64)>(0)?;
        self.calls.insert(correlation, start);
        Ok(())
    }

    fn operator(&mut self, event: &Event<'_>) -> Result<()> {
        let Some(id) = event.number("External id") else { return Ok(()) };
        let place = match self.name_places.get(event.raw_name()) {
            Some(place) => *place,
            None => {
                let place = u32::try_from(self.names.len()).unwrap_or_default();
                self.budget.reserve_value::<[(Vec<u8>, u32); 2]>(2 * event.raw_name().len())?;
                self.names.push(event.name());
                self.name_places.insert(event.raw_name().to_vec(), place);
                place
            }
        };
        if self.operators.len() >= MOST_EVENTS || self.names.len() >= MOST_EVENTS >> 4 {
            return Err(self.too_many("operators"));
        }
        self.budget.reserve_value::<(u64, u32)>(0)?;
        self.operators.insert(id, place);
        Ok(())
    }

    fn span(&mut self, event: &Event<'_>) -> Result<()> {
        if let (Some(step), Some((start, end))) = (step_number(event.raw_name()), event.span()) {
            if self.steps.len() >= MOST_STEPS {
                return Err(self.too_many("steps"));
            }
            self.steps.push((start, end, step));
        } else if is_loading(&event.name()) {
            self.times.add_loading(event.duration().map_or(0.0, microseconds));
        }
        Ok(())
    }

    fn memory(&mut self, event: &Event<'_>) {
        if event.number("Device Type") == Some(CUDA)
            && let Some(bytes) = event.number("Total Allocated")
        {
            #[allow(clippy::cast_precision_loss, reason = "bytes of a device, far below 2^53")]
            let allocated = bytes as f64 / MB;
            self.memory_peak = Some(self.memory_peak.map_or(allocated, |peak| peak.max(allocated)));
        }
    }

    fn into_profile(mut self) -> Result<Profile> {
        let spans = Spans::new(std::mem::take(&mut self.steps));
        let launched = std::mem::take(&mut self.launched);
        let mut profile = Profile::new(String::new(), ProfileDevice::Gpu);
        profile.has_device = !launched.is_empty();
        let mut sums: HashMap<u32, (u64, f64)> = HashMap::new();
        for kernel in launched {
            let step = match self.calls.get(&kernel.correlation) {
                Some(call) => spans.holding(*call),
                None => spans.begun(kernel.start),
            };
            self.kernels.add(self.file, kernel.kind, step, (kernel.start, kernel.duration))?;
            if let Some(name) = self.operators.get(&kernel.operator).filter(|_| step.is_some()) {
                let (count, total) = sums.entry(*name).or_default();
                *count += 1;
                *total += microseconds(kernel.duration);
            }
        }
        for (place, (count, total)) in sums {
            if let Some(name) = usize::try_from(place).ok().and_then(|place| self.names.get(place)) {
                self.times.add(self.file, name, count, total)?;
            }
        }
        profile.operators = self.times.operators();
        profile.loading = self.times.loading();
        profile.kernels = Some(self.kernels.finish());
        profile.memory_peak = self.memory_peak;
        profile.device_name = self.device_name;
        profile.rank = self.rank;
        Ok(profile)
    }

    fn wrong(&self, what: &str) -> Error {
        Error::corrupt(self.file, what)
    }

    fn too_many(&self, what: &str) -> Error {
        Error::new(ErrorKind::LimitExceeded, self.file, format!("more than {MOST_EVENTS} {what}; record fewer steps"))
    }
}
