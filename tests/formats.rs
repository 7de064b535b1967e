//! Formats of training curves: what every writer's files give, and the page about them.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant"
)]

mod files;
use crate::docs::fresh;
mod lines;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use files::{BINARIES, Binary, FILES};

use lines::{LINES, NO_LOSS, PREFIXED, PREFIXES};
use precision_gate::fetch::{MemorySource, Room, Source};
use precision_gate::read::curve::{self, CurveFile, CurveFormat, log};
use precision_gate::read::metric::{self, canonical};

/// The runs in a file called `name`; `None` where it is not recognised.
fn read(name: &str, bytes: &[u8]) -> Option<(CurveFormat, Vec<CurveFile>)> {
    let source: Source = Arc::new(MemorySource::new(name, bytes.to_vec()));
    let readable = curve::decode_text(bytes, &source).expect("readable");
    let text = readable.source.unwrap_or(source);
    let mut head = vec![0; usize::try_from(text.len()).expect("short")];
    text.read_at(0, &mut head).expect("read");
    let format = curve::recognise(&head, text.as_ref())?;
    Some((format.clone(), curve::read(text, format, &Room::unlimited()).expect("sound")))
}

fn points(file: &CurveFile, metric: &str) -> Option<Vec<(u64, f64)>> {
    let series = file.series.iter().find(|series| canonical(series.name()) == canonical(metric))?;
    Some(series.load().expect("in memory").points().collect())
}

/// Differences between the series read from a case and those it names; none where all is right.
fn shortfalls(case: &lines::Case, name: &str, format: &str) -> Vec<String> {
    let told = |what: String| format!("{}: {what}", case.writer);
    let Some((found, files)) = read(name, case.lines.as_bytes()) else { return vec![told("not recognised".into())] };
    let mut shortfalls = Vec::new();
    if found.name() != format {
        shortfalls.push(told(format!("is a {}, want {format}", found.name())));
    }
    for (metric, wanted) in case.series {
        let found = points(&files[0], metric).unwrap_or_default();
        let same = |(a, b): (&(u64, f64), &(u64, f64))| a.0 == b.0 && (a.1 == b.1 || a.1.is_nan() && b.1.is_nan());
        if found.len() != wanted.len() || !found.iter().zip(*wanted).all(same) {
            shortfalls.push(told(format!("{metric}: {found:?}, want {wanted:?}")));
        }
    }
    let names: Vec<String> = files[0].series.iter().map(|series| canonical(series.name()).into_owned()).collect();
    let wrong = case.none.iter().filter(|none| names.iter().any(|name| name == *none));
    shortfalls.extend(wrong.map(|none| told(format!("{none} is no metric"))));
    shortfalls
}

#[test]
fn every_writers_lines_and_files_are_read_as_they_are_meant() {
    let of_lines = LINES.iter().flat_map(|case| {
        let format = if case.lines.starts_with("{\"") { "JSON lines" } else { "training log" };
        shortfalls(case, "train.log", format)
    });
    let of_files = FILES.iter().flat_map(|file| shortfalls(&file.case, file.name, file.format));
    let wrong: Vec<String> = of_lines.chain(of_files).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_trackers_own_files_are_read() {
    for binary in BINARIES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(binary.path);
        let (format, files) = read(binary.path, &std::fs::read(path).expect("a fixture")).expect(binary.writer);
        assert_eq!((format.name(), files.len()), (binary.format, binary.runs), "{}", binary.writer);
        let loss = points(&files[0], "loss").unwrap_or_default();
        assert_eq!(loss.len(), binary.points, "{}", binary.writer);
        assert_eq!(loss.last().copied().unwrap_or_default(), binary.last, "{}", binary.writer);
    }
}

/// A cell of the page: what a log prints, in one line.
fn cell(text: &str, longest: usize) -> String {
    let line = text.replace('\u{1b}', "ESC").replace('\t', " ").replace('|', "\\|");
    let shown: String = line.chars().take(longest).collect();
    format!("`` {shown}{} ``", if shown.len() < line.len() { " …" } else { "" })
}

fn series_of(case: &lines::Case) -> String {
    let shown = |(metric, points): &(&str, &[(u64, f64)])| {
        let (step, value) = points.first().copied().unwrap_or_default();
        format!("`{metric}` {value} at {step}")
    };
    case.series.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_page_shows_what_the_readers_read() {
    /// Characters of an example.
    const LONGEST: usize = 160;
    let mut page = String::from(
        "# Formats of training curves\n\nEach row is a test case: the lines shown are read, and the first value of each \
         metric is the one named. [loss.md](loss.md#formats) says what a logged value means and which of several files is \
         used. A file is recognised by its content; the name matters only where a tracker puts the metric's name there. \
         Written by `UPDATE_DOCS=1 cargo test --locked --test all formats::`.\n\n",
    );
    page.push_str(GRAMMAR);
    page.push_str("\n| counts | words, the better first |\n|---|---|\n");
    let listed = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    for (kind, words) in log::counters_by_kind() {
        writeln!(page, "| {kind} | {} |", listed(&words)).expect("text");
    }
    page.push_str("\nThe words of a name, split at `/ _ - .` and without the digits and brackets around them, give its role:\n\n| role | words |\n|---|---|\n");
    for (role, words) in metric::words_by_role() {
        writeln!(page, "| {role} | {} |", listed(words)).expect("text");
    }
    page.push_str("\n## Lines of a log\n\n| writer | line | read as |\n|---|---|---|\n");
    for case in LINES {
        let line = case.lines.split(['\n', '\r']).find(|line| !line.trim().is_empty()).unwrap_or_default();
        writeln!(page, "| {} | {} | {} |", case.writer, cell(line, LONGEST), series_of(case)).expect("text");
    }
    page.push_str("\nThese are cut from the front of a line:\n\n| written by | example |\n|---|---|\n");
    for (kind, prefix) in PREFIXES {
        writeln!(page, "| {kind} | {} |", cell(prefix, LONGEST)).expect("text");
    }
    page.push_str("\nThese are no training loss:\n\n");
    NO_LOSS.iter().for_each(|line| writeln!(page, "- `{line}`").expect("text"));
    page.push_str(
        "\n## Files\n\n| writer | `format` in result.json | file | begins with | read as |\n|---|---|---|---|---|\n",
    );
    for file in FILES {
        let text: String = file.case.lines.lines().take(2).collect::<Vec<_>>().join(" ↵ ");
        let (case, name) = (&file.case, file.name);
        writeln!(
            page,
            "| {} | {} | `{name}` | {} | {} |",
            case.writer,
            file.format,
            cell(&text, LONGEST),
            series_of(case)
        )
        .expect("text");
    }
    page.push_str(
        "\n## Binary files\n\n| writer | `format` in result.json | file | recognised by |\n|---|---|---|---|\n",
    );
    for Binary { writer, format, name, mark, .. } in BINARIES {
        writeln!(page, "| {writer} | {format} | `{name}` | {mark} |").expect("text");
    }
    page.push_str(AFTER);
    fresh::is_fresh("formats.md", &page, "formats");
}

/// The grammar of a line, in words.
const GRAMMAR: &str = "## How a line is read

No list of writers: one grammar reads every line.

1. What wrote it is passed over: terminal codes, dates and times, places in source files, processes, paths, levels, and the names of
   hosts and loggers in front. A rank (`[rank3]:`, `rank: 3`) is kept. Chinese words and signs count as the English ones, `np.float32(x)`
   and `tensor(x, ..)` as `x`.
2. A word of the table below with one whole number is a counter, in any dress: `step: 10`, `[10/60]`, `10 of 60`, `#10`,
   `200/ 4000 batches`, `3epoch`, a progress bar. `n/m` behind an epoch is its finer counter. A number in front of everything counts
   if it rises from line to line. Where the counter begins again with each epoch, steps are numbered through.
3. A run of words in front of a number is its name, behind `:`, `=`, `->`, `is`, `[` or blanks; `9.2 avg loss,` names the number before it.
   `x (y)` is a value and its running mean, `8912/10000` behind a score their ratio. `val`, `valid`, `eval`, `test`, `dev` in the name or as a
   label before it (`Test set:`, `Epoch(val)`) make it held-out.
4. A line with a counter and no value is a header for those below that have none, where the file has several such lines. Rows between
   rulers are one record; a line of names over rows of numbers is a table. Of a Keras bar the last drawing counts.
5. Lines that nothing counts are data where two of them hold the same names, and are then paired by position.

What is left is [accounted for](loss.md#what-was-not-read).
";

/// Notes about the readers of trackers.
const AFTER: &str = "
W&B and SwanLab write frames of LevelDB (blocks of 32768 bytes from the start of the file, CRC-32). The step of a W&B metric is the
one that `define_metric(step_metric=...)` names, if it is always a whole number; otherwise `_step`. A killed run leaves a cut frame: the
records before it count, and `source-cut` says so. A log that ends before its first value cannot be read (`artifact-damaged`).

Databases are read without a lock and without a write. If a `-wal` file lies beside one, as a killed run leaves it, its committed pages are
laid over the database in memory; `-shm` files are not needed. Give the folder, not the database alone. A rollback journal
(`-journal`) is not applied. Each run in a database, and each run of MLflow's file store, is a run of its own: several runs are
paired by name (`mlflow.runName`, `run_name`), one run each is paired whatever the names are.

The reader of SQLite is the project's own, without C code: it reads tables only, in pages of known number, and runs nothing. The
alternative, `rusqlite` 0.41 with its bundled SQLite, adds 271 131 lines of C that a stranger's database would be parsed by, 2.0 MB to a
stripped release binary (2 296 176 instead of 338 248 bytes for a program that counts rows), 43 s to its release build on one core,
and a C compiler for each target (aarch64, musl). It also opens files by path only, or a copy in memory, in which it refuses databases
in WAL mode, so that ranges of an object store and members of archives would have to be stored first.
";

#[test]
fn what_stands_in_front_of_a_line_is_no_part_of_it() {
    let mut wrong = Vec::new();
    for (kind, prefix) in PREFIXES {
        let text: String = PREFIXED.iter().map(|(line, ..)| format!("{prefix}{line}\n")).collect();
        let Some((_, files)) = read("train.log", text.as_bytes()) else {
            wrong.push(format!("{kind}: not recognised"));
            continue;
        };
        let mut names: Vec<String> =
            files[0].series.iter().map(|series| canonical(series.name()).into_owned()).collect();
        names.sort();
        let wanted: Vec<(u64, f64)> = PREFIXED.iter().map(|(_, step, loss)| (*step, *loss)).collect();
        let loss = points(&files[0], "loss").unwrap_or_default();
        if names != ["learning_rate", "loss"] || loss != wanted {
            wrong.push(format!("{kind}: {names:?} {loss:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_that_only_speak_of_a_loss_are_no_curve() {
    let text: String = NO_LOSS.iter().map(|line| format!("{line}\n")).collect();
    assert!(read("train.log", text.as_bytes()).is_none());
    let log = format!("{text}step: 1 loss: 2.5\n{text}step: 2 loss: 2.25\n{text}");
    let (_, files) = read("train.log", log.as_bytes()).expect("a log");
    assert_eq!(points(&files[0], "loss"), Some(vec![(1, 2.5), (2, 2.25)]));
    assert_eq!(files[0].series.len(), 1, "{:?}", files[0].series);
}
