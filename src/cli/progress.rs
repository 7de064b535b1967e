//! Progress of long work: a bar on a terminal, a line every few seconds in a job's log.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use precision_gate::gate::{Progress, Quiet};

use super::speech;

/// Time between two lines in a log.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Progress as the place allows: on standard error, so that standard output stays the summary's.
pub(crate) fn progress_on_stderr(quiet: bool) -> Box<dyn Progress> {
    if quiet {
        Box::new(Quiet)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bar(Mutex::new(ProgressBar::hidden())))
    } else {
        Box::new(Lines(Mutex::new(Stage::new(String::new(), 0))))
    }
}

/// A bar that goes when its stage is over.
struct Bar(Mutex<ProgressBar>);

impl Progress for Bar {
    fn begin(&self, stage: &str, total: u64) {
        let template = if total > 0 { "{msg} {wide_bar} {pos}/{len} {eta}" } else { "{msg} {spinner} {pos}" };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = if total > 0 { ProgressBar::new(total) } else { ProgressBar::new_spinner() };
        bar.set_style(style);
        bar.set_message(speech::in_own_language(stage));
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.finish_and_clear();
        *current = bar;
    }

    fn advance(&self, amount: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).inc(amount);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).finish_and_clear();
    }
}

/// Plain lines.
struct Lines(Mutex<Stage>);

struct Stage {
    name: String,
    total: u64,
    done: u64,
    told: Instant,
}

impl Stage {
    fn new(name: String, total: u64) -> Self {
        Self { name, total, done: 0, told: Instant::now() }
    }
}

impl Progress for Lines {
    fn begin(&self, stage: &str, total: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Stage::new(stage.to_owned(), total);
    }

    fn advance(&self, amount: u64) {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stage.done += amount;
        if stage.told.elapsed() >= LINE_EVERY {
            stage.told = Instant::now();
            match stage.total {
                0 => eprintln!("{}: {}", speech::in_own_language(&stage.name), stage.done),
                total => eprintln!("{}: {}/{total}", speech::in_own_language(&stage.name), stage.done),
            }
        }
    }
}
