//! One retry policy for all transports.
//!
//! Only what may pass by itself is tried again: broken connections, time-outs, truncated bodies, 408, 425, 429 and 5xx.
//! Waits double from a quarter of a second, spread a little so that parallel requests do not come back together, and
//! give way to what the server asks for (`Retry-After`).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[cfg(feature = "network")]
use super::asked;
use crate::error::{Error, ErrorKind};

/// A request that failed, and whether another try may help.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The error of the attempt.
    pub(super) error: Error,
    /// Whether another try may help.
    pub(super) temporary: bool,
    /// Wait that the server asks for.
    pub(super) wait: Option<Duration>,
}

impl Failure {
    /// A failure that another try will not mend.
    pub(super) fn permanent(error: Error) -> Self {
        Self { error, temporary: false, wait: None }
    }

    /// A failure that may pass.
    pub(super) fn temporary(subject: impl Into<String>, message: impl std::fmt::Display) -> Self {
        Self { error: Error::new(ErrorKind::Unavailable, subject, message), temporary: true, wait: None }
    }
}

/// Number and spacing of a request's repeats.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Tries in all, at least one.
    pub tries: u32,
    /// Wait before the second try; doubles from there.
    pub first_wait: Duration,
    /// Longest single wait, whatever the server asks for.
    pub longest_wait: Duration,
}

impl Default for Retry {
    /// Five tries over some eight seconds, or up to four minutes where the server asks for waits.
    fn default() -> Self {
        Self { tries: 5, first_wait: Duration::from_millis(250), longest_wait: Duration::from_secs(60) }
    }
}

/// Spreads waits. A counter does: what matters is that neighbours differ.
static SPREAD: AtomicU32 = AtomicU32::new(0);

impl Retry {
    /// The wait after `tried` tries.
    pub(super) fn wait(&self, tried: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.first_wait.saturating_mul(1 << (tried - 1).min(16));
        let eighths = SPREAD.fetch_add(3, Ordering::Relaxed) % 8;
        let spread = doubled.saturating_add(doubled / 16 * eighths);
        asked.unwrap_or(spread).max(spread.min(self.first_wait)).min(self.longest_wait)
    }
}

#[cfg(feature = "network")]
impl Retry {
    /// Runs `attempt` until it succeeds, fails for good, or has been tried often enough.
    pub(super) async fn run<T>(&self, mut attempt: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Error> {
        let mut tried = 0;
        loop {
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(failure) => self.pause(&mut tried, failure).await?,
            }
        }
    }

    /// Waits before the next try, or says that there is none.
    pub(super) async fn pause(&self, tried: &mut u32, failure: Failure) -> Result<(), Error> {
        *tried += 1;
        if !failure.temporary {
            return Err(failure.error);
        }
        if *tried >= self.tries {
            let asked = failure.wait.filter(|wait| *wait > self.longest_wait);
            return Err(gave_up(&failure.error, *tried, asked));
        }
        tokio::time::sleep(self.wait(*tried, failure.wait)).await;
        Ok(())
    }
}

#[cfg(feature = "network")]
fn gave_up(error: &Error, tried: u32, asked: Option<Duration>) -> Error {
    let asked = asked.map_or_else(String::new, |wait| format!("; it asks to wait {}", asked::spoken(wait)));
    let message = format!("{} (gave up after {tried} tries{asked})", error.message());
    let help =
        error.help().unwrap_or("the service or the network fails; run again later, or give a copy that can be reached");
    Error::new(ErrorKind::Unavailable, error.subject(), message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick() -> Retry {
        Retry { tries: 3, first_wait: Duration::from_millis(1), longest_wait: Duration::from_millis(5) }
    }

    #[tokio::test]
    async fn temporary_failures_are_tried_again_and_others_are_not() {
        for (failures, temporary, tries, ok) in [(2, true, 3, true), (3, true, 3, false), (1, false, 1, false)] {
            let mut tried = 0;
            let outcome = quick()
                .run(async || {
                    tried += 1;
                    if tried > failures {
                        return Ok(());
                    }
                    Err(Failure { temporary, ..Failure::temporary("x", "cut") })
                })
                .await;
            assert_eq!((tried, outcome.is_ok()), (tries, ok));
        }
    }

    #[test]
    fn waits_double_and_obey_the_server_up_to_a_limit() {
        let retry = Retry::default();
        assert!(retry.wait(1, None) < Duration::from_millis(500));
        assert!(retry.wait(4, None) >= Duration::from_secs(2));
        assert_eq!(retry.wait(1, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(retry.wait(1, Some(Duration::from_secs(7000))), retry.longest_wait);
        assert_eq!(retry.wait(40, None), retry.longest_wait);
    }
}
