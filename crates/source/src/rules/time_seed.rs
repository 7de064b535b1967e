//! `time-seed`: a seed that no second run has.

use super::file::File;
use super::hit::Hit;
use super::random::{is_seed_name, target_name};
use super::rule::{Family, SourceRule};
use crate::read::tree::Argument;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("time-seed", Severity::Warn, Family::Comparability);

/// Calls that answer anew every time.
const CLOCKS: &[&str] = &[
    "time.time",
    "time.time_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.process_time",
    "time.clock",
    "time.localtime",
    "time.gmtime",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "os.getpid",
    "os.urandom",
    "uuid.uuid1",
    "uuid.uuid4",
    "random.SystemRandom",
];
/// Calls that take a seed from the system where they are given none.
const FRESH: &[&str] = &["random.seed", "numpy.random.seed"];
/// Generators that take their seed where they are made.
const GENERATORS: &[&str] = &["random.Random", "numpy.random.RandomState", "numpy.random.default_rng"];
/// Words of names that hold a time and no seed.
const TIMES: &[&str] = &["time", "timestamp", "start", "started", "elapsed"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for id in file.tree.ids() {
        let place = match file.tree.kind(id) {
            Kind::Call { function, arguments } => match is_unseeded(file, *function, arguments) {
                true => Some(id),
                false => seeded_by_clock(file, id, *function, arguments),
            },
            Kind::Assign { targets, value } => {
                let is_fresh = targets.iter().any(|target| is_seed_target(file, *target)) && has_clock(file, *value);
                is_fresh.then_some(id)
            }
            Kind::Named { target, value } => (is_seed_target(file, *target) && has_clock(file, *value)).then_some(id),
            _ => None,
        };
        hits.extend(place.map(|place| Hit::new(&RULE, place)));
    }
}

/// Whether a call seeds from the system.
fn is_unseeded(file: &File<'_>, function: NodeId, arguments: &[Argument]) -> bool {
    if file.is_named(function, "torch.seed") {
        return true;
    }
    let is_none = |argument: &Argument| matches!(file.tree.kind(argument.value), Kind::None);
    file.is_any(function, FRESH) && arguments.iter().all(|argument| is_none(argument) && !argument.is_unpacked)
}

/// The call that seeds by a clock, or the value that a keyword of any other call takes as its seed.
fn seeded_by_clock(file: &File<'_>, id: NodeId, function: NodeId, arguments: &[Argument]) -> Option<NodeId> {
    let seeds = file.tree.last_name(function).is_some_and(is_seed_name) || file.is_any(function, GENERATORS);
    let argument = arguments.iter().find(|argument| {
        let is_seed = argument.name.as_deref().map_or(seeds, is_seed_name);
        is_seed && has_clock(file, argument.value)
    })?;
    Some(if seeds { id } else { argument.value })
}

fn is_seed_target(file: &File<'_>, target: NodeId) -> bool {
    target_name(file, target).is_some_and(|name| is_seed_name(name) && !has_word(name, TIMES))
}

fn has_clock(file: &File<'_>, value: NodeId) -> bool {
    let is_clock = |function: NodeId| {
        file.is_any(function, CLOCKS) || file.full_name(function).is_some_and(|name| name.starts_with("secrets."))
    };
    let is_call = |id: NodeId| file.call(id).is_some_and(|(function, _)| is_clock(function));
    file.tree.within(value).any(|id| {
        let by_name = matches!(file.tree.kind(id), Kind::Name(_)) && file.only_value(id).is_some_and(is_call);
        is_call(id) || by_name
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn seeds_of_the_moment_are_found() {
        let code = "\
import os, random, secrets, time, uuid, torch
import numpy as np
from datetime import datetime
random.seed()
np.random.seed(None)
torch.seed()
torch.manual_seed(int(time.time()))
seed = os.getpid()
args.seed = secrets.randbits(32)
set_seed(seed=uuid.uuid4().int)
config['seed'] = datetime.now().microsecond
g.manual_seed(time.time_ns() % 100)
f(seed=int.from_bytes(os.urandom(4), 'big'))
now = time.time()
torch.manual_seed(now)
rng = np.random.RandomState(int(time.time()))
args = TrainingArguments(
    'out',
    seed=int(time.time()))
";
        assert_eq!(lines("time-seed", code), [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 19]);
    }

    #[test]
    fn clocks_that_seed_nothing_are_silent() {
        let code = "\
import random, time
started = time.time()
name = f'run-{time.time()}'
seed_start = time.time()
random.seed(7)
set_seed(7, run=time.time())
r.seed()
";
        assert!(lines("time-seed", code).is_empty());
    }
}
