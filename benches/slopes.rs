//! Time and memory over the number of items: one case for each reader and rule whose items a stranger can add.
//!
//! Each case is judged in growing sizes, with equal sides and with sides of which every item differs, until a run takes
//! longer than ten seconds, and in smaller sizes where fewer than two ended before. The slope is the exponent between the two
//! largest sizes that ended: 1 is linear, 2 quadratic; that of time is the processors', so that it says the same on a busy
//! machine. A slope above 1.3 between sizes that cost enough to tell one ends the program with code 1 and names the case.
//!
//! ```text
//! cargo bench --bench slopes                                      # every case; or names: evaluation-tasks pack-pip
//! PRECISION_GATE_SIZES=1000,4000 PRECISION_GATE_PROGRAM=FILE cargo bench --bench slopes
//! PRECISION_GATE_KEEP=FOLDER cargo bench --bench slopes pack-pip  # keeps the pairs, for a profiler
//! ```
#![allow(clippy::print_stdout, reason = "a benchmark speaks to the terminal")]
#![allow(clippy::cast_precision_loss, reason = "made-up data of known size")]

#[path = "slopes/cases.rs"]
mod cases;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Child, ExitCode, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use cases::{CASES, Case, Command, short_log};

/// Longest time of one run, in seconds: `PRECISION_GATE_LONGEST`, else 10.
static LONGEST: LazyLock<f64> = LazyLock::new(|| {
    std::env::var("PRECISION_GATE_LONGEST").map_or(10.0, |longest| longest.parse().expect("a number of seconds"))
});

/// Slope from which on more items cost too much.
const STEEP: f64 = 1.3;
/// Seconds of the processors that the smaller size has to take for a slope of time to count: below, what is paid once decides.
const LEAST_SECONDS: f64 = 0.2;
/// Megabytes that the smaller size has to take for a slope of memory to count.
const LEAST_MEGABYTES: f64 = 20.0;

/// Cost of a run, and how it ended.
struct Cost {
    seconds: f64,
    /// Seconds of all processors together, which other programs do not make more.
    processor: f64,
    memory: f64,
    ended: String,
}

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    let sizes = std::env::var("PRECISION_GATE_SIZES").unwrap_or_else(|_| "10000,100000,1000000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.parse().expect("a number of items")).collect();
    let idle = run(&["--version".into()]);
    println!(
        "| case | sides | items, seconds, MB, exit code | slope of time | slope of memory |\n|---|---|---|---|---|"
    );
    let mut steep = Vec::new();
    for case in CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)) {
        for differ in [false, true] {
            steep.extend(measure(case, differ, &sizes, &idle));
        }
    }
    if steep.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nsteeper than {STEEP}: {}", steep.join(", "));
    ExitCode::FAILURE
}

/// Measures a case, and names what is too steep of it.
fn measure(case: &Case, differ: bool, sizes: &[usize], idle: &Cost) -> Vec<String> {
    let (measured, over) = costs(case, differ, sizes);
    let cell = |(size, Cost { seconds, memory, ended, .. }): &(usize, Cost)| {
        format!("{size}: {seconds:.2} s, {memory:.0} MB ({ended})")
    };
    let mut cells: Vec<String> = measured.iter().map(cell).collect();
    cells.extend(over.map(|size| format!("{size}: more than {} s", *LONGEST)));
    let sides = if differ { "differ" } else { "same" };
    let slopes = [
        ("time", slope(&measured, |cost| cost.processor - idle.processor, LEAST_SECONDS)),
        ("memory", slope(&measured, |cost| cost.memory - idle.memory, LEAST_MEGABYTES)),
    ];
    let [time, memory] =
        slopes.each_ref().map(|(_, slope)| slope.map_or("-".to_owned(), |(slope, _)| format!("{slope:.2}")));
    println!("| {} | {sides} | {} | {time} | {memory} |", case.name, cells.join("; "));
    let steep = slopes.into_iter().filter(|(_, slope)| slope.is_some_and(|(slope, counts)| counts && slope > STEEP));
    steep.map(|(of, _)| format!("{} ({sides}, {of})", case.name)).collect()
}

/// The slope between the two largest sizes, and whether the smaller one costs `least`, so that it counts. What the program takes
/// without any work says nothing about items: `of` leaves it out.
fn slope(measured: &[(usize, Cost)], of: impl Fn(&Cost) -> f64, least: f64) -> Option<(f64, bool)> {
    let [.., (fewer, small), (more, large)] = measured else { return None };
    let [small, large] = [small, large].map(|cost| of(cost).max(1e-3));
    Some(((large / small).ln() / (*more as f64 / *fewer as f64).ln(), small >= least))
}

/// Costs by size, and the size that took too long. Two sizes make a slope: where fewer ended, or make sense, smaller ones follow.
fn costs(case: &Case, differ: bool, sizes: &[usize]) -> (Vec<(usize, Cost)>, Option<usize>) {
    let mut sizes: Vec<usize> = sizes.iter().copied().filter(|size| *size <= case.most).collect();
    if sizes.is_empty() {
        sizes.push(case.most);
    }
    let mut least = sizes.iter().copied().min().unwrap_or(case.most);
    let (mut measured, mut over) = (Vec::new(), None);
    for size in sizes {
        let cost = judged(case, size, differ);
        if cost.seconds > *LONGEST {
            over = Some(size);
            break;
        }
        measured.push((size, cost));
    }
    while measured.len() < 2 && least >= 100 {
        least /= 4;
        let cost = judged(case, least, differ);
        if cost.seconds <= *LONGEST {
            measured.insert(0, (least, cost));
        }
    }
    (measured, over)
}

/// The cost of a verdict over a pair of `size` items.
fn judged(case: &Case, size: usize, differ: bool) -> Cost {
    let mut folder = tempfile::tempdir().expect("a folder");
    if let Some(kept) = std::env::var_os("PRECISION_GATE_KEEP") {
        let name = format!("{}-{size}-{}-", case.name, if differ { "differ" } else { "same" });
        folder = tempfile::Builder::new().prefix(&name).tempdir_in(kept).expect("a folder");
        folder.disable_cleanup(true);
    }
    let mut arguments = arguments(case, folder.path(), size, differ);
    let out = folder.path().join("out");
    arguments.extend(["--quiet".into(), "--today".into(), "2026-11-26".into(), "--out".into(), out]);
    if let Some(policy) = case.policy {
        let path = folder.path().join("precision-gate.yml");
        fs::write(&path, policy(size)).expect("written");
        arguments.extend(["--config".into(), path]);
    }
    run(&arguments)
}

/// Writes what is judged below `folder`, and names it as the command line does.
fn arguments(case: &Case, folder: &Path, size: usize, differ: bool) -> Vec<PathBuf> {
    let [gpu, npu, earlier] = ["gpu", "npu", "earlier"].map(|name| folder.join(name));
    match case.command {
        Command::Compare => {
            (case.side)(&gpu, size, false);
            (case.side)(&npu, size, differ);
            vec!["run".into(), gpu, npu]
        }
        Command::Alone => {
            (case.side)(&npu, size, differ);
            vec!["run".into(), "--health".into(), "--candidate".into(), npu]
        }
        Command::Source => {
            (case.side)(&npu, size, differ);
            vec!["source".into(), npu]
        }
        Command::History => {
            (case.side)(&earlier, size, differ);
            [&gpu, &npu].into_iter().for_each(|side| short_log(side));
            vec!["run".into(), gpu, npu, "--history".into(), earlier]
        }
    }
}

fn program() -> PathBuf {
    std::env::var_os("PRECISION_GATE_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_precision-gate").into(), PathBuf::from)
}

fn run(arguments: &[PathBuf]) -> Cost {
    let start = Instant::now();
    let mut child = process::Command::new(program())
        .args(arguments)
        .current_dir(std::env::temp_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let (mut memory, mut processor) = (0.0f64, 0.0f64);
    loop {
        // Of a process that has ended nothing is left to read: the last look before that counts.
        memory = memory.max(peak_memory(&child).unwrap_or(0.0));
        processor = processor.max(processor_time(&child).unwrap_or(0.0));
        if let Some(status) = child.try_wait().expect("a child") {
            let ended = status.code().map_or_else(|| "killed".to_owned(), |code| code.to_string());
            return Cost { seconds: start.elapsed().as_secs_f64(), processor, memory, ended };
        }
        if start.elapsed().as_secs_f64() > *LONGEST + 0.5 {
            child.kill().expect("killed");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Time of all processors that a process took, in seconds; Linux tells it in hundredths.
fn processor_time(child: &Child) -> Option<f64> {
    let status = fs::read_to_string(Path::new("/proc").join(child.id().to_string()).join("stat")).ok()?;
    let numbers: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
    let hundredths = |place: usize| numbers.get(place)?.parse::<f64>().ok();
    Some((hundredths(11)? + hundredths(12)?) / 100.0)
}

/// Peak of the memory that a process held, in megabytes; Linux tells it.
fn peak_memory(child: &Child) -> Option<f64> {
    let status = fs::read_to_string(Path::new("/proc").join(child.id().to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1000.0)
}
