//! Cancelled jobs: the check is completed, and the comment reports the end, before the process ends.
//!
//! Runners ask a process to end (SIGINT, then SIGTERM) some seconds before they kill it. Without this module, the check would stay
//! in progress for ever, and a green comment of an earlier commit would remain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use secrecy::SecretString;

use super::desk::Desk;
use super::job::Job;
use super::transport::runtime;
use super::unfinished::UnfinishedReason;

/// Ends the process with a code.
pub(crate) type EndProcess = fn(i32);

/// Exit code of a process that an interrupt ended, as shells count it.
const INTERRUPTED: i32 = 130;
/// Exit code of a process that was asked to end.
const TERMINATED: i32 = 143;

/// Longest time to publish a verdict that exists already; GitHub's runner waits 7.5 seconds between its signals.
const GRACE: Duration = Duration::from_secs(5);
/// Longest time to report in check and comment that there is no verdict, before the second of those signals.
const LAST_WORDS: Duration = Duration::from_secs(7);

/// Waits for a signal while a run is judged.
#[derive(Debug)]
pub(super) struct Watch {
    ended: Arc<AtomicBool>,
}

impl Watch {
    /// Starts to wait for a signal, upon which the check run `check` of `job` is completed and `end` is called.
    pub(super) fn start(job: Job, token: SecretString, check: Option<u64>, end: EndProcess) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&ended);
        std::thread::spawn(move || {
            let Ok(runtime) = runtime() else { return };
            let Ok(mut desk) = runtime.block_on(async { Desk::new(job, Some(&token)) }) else { return };
            let Some(code) = runtime.block_on(signal()) else { return };
            if shared.swap(true, Ordering::SeqCst) {
                std::thread::sleep(GRACE);
            } else {
                desk.check = check;
                // The runner kills the process soon, so that the time is limited.
                let last_words =
                    async { tokio::time::timeout(LAST_WORDS, desk.give_up(&UnfinishedReason::Cancelled)).await };
                let _ = runtime.block_on(last_words);
            }
            end(code);
        });
        Self { ended }
    }

    /// Records that the run has ended and publishes its verdict itself. If a signal came before, this waits for the end of the process,
    /// so that two threads do not publish different things.
    pub(super) fn end(&self) {
        if self.ended.swap(true, Ordering::SeqCst) {
            std::thread::sleep(LAST_WORDS + GRACE);
        }
    }
}

/// The exit code for the first signal that asks the process to end; `None` if signals are not available.
async fn signal() -> Option<i32> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).ok()?;
        let mut interrupt = signal(SignalKind::interrupt()).ok()?;
        tokio::select! {
            _ = terminate.recv() => Some(TERMINATED),
            _ = interrupt.recv() => Some(INTERRUPTED),
        }
    }
    #[cfg(not(unix))]
    {
        tokio::signal::ctrl_c().await.ok().map(|()| INTERRUPTED)
    }
}
