//! The retry policy for all requests over the network: the failures that may be temporary, and the waits between tries.
//!
//! Broken connections, time-outs, truncated bodies, rate limits, 408, 425 and 5xx are tried again; refusals are not. Waits double,
//! unless the server asks for another wait (`Retry-After`, `x-ratelimit-reset`). If it asks for more than the longest wait, the
//! request fails. A rate limit means that the server did nothing; after any other failure a writing request may have taken effect,
//! so that callers who create something look for it before they repeat the request.

use std::time::Duration;

use super::asked;
use crate::error::{Error, ErrorKind};

/// Conclusion from an answer, or from its absence, about whether another try may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetrySign {
    /// No other try: the request succeeded or failed permanently.
    Never,
    /// The server limits requests and did nothing; holds the wait that it asks for, if any.
    Limited(Option<Duration>),
    /// The request may have taken effect; holds the wait that the server asks for, if any.
    Unclear(Option<Duration>),
}

impl RetrySign {
    /// The conclusion from an answer: its status, its headers by lower-case name, and its reason for a refusal. GitHub reports
    /// secondary rate limits as 403; their headers or their text distinguish them from a refusal.
    pub(crate) fn from_answer<'a>(
        status: u16,
        header: impl Fn(&str) -> Option<&'a str>,
        said: impl FnOnce() -> String,
    ) -> Self {
        let told = || header("retry-after").is_some() || header("x-ratelimit-remaining") == Some("0");
        let said = || said().to_ascii_lowercase().contains("rate limit");
        match status {
            429 => Self::Limited(asked::requested_wait(header)),
            403 if told() || said() => Self::Limited(asked::requested_wait(header)),
            408 | 425 | 500.. => Self::Unclear(asked::requested_wait(header)),
            _ => Self::Never,
        }
    }

    fn asked(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Limited(asked) | Self::Unclear(asked) => asked,
        }
    }
}

/// A request that failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The error of the attempt.
    pub(super) error: Error,
    /// Whether another try may help.
    pub(super) again: RetrySign,
}

impl Failure {
    /// A failure that another try cannot fix.
    pub(super) fn permanent(error: Error) -> Self {
        Self { error, again: RetrySign::Never }
    }

    /// A failure that may be temporary.
    pub(super) fn temporary(subject: impl Into<String>, message: impl std::fmt::Display) -> Self {
        Self { error: Error::new(ErrorKind::Unavailable, subject, message), again: RetrySign::Unclear(None) }
    }
}

/// Number of tries of a request, and the waits between them.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Tries in all, at least one.
    pub tries: u32,
    /// Wait before the second try; later waits double. No wait is shorter, whatever the server asks for.
    pub first_wait: Duration,
    /// First wait after a rate limit that names no time.
    pub limit_wait: Duration,
    /// Largest sum of all waits.
    pub most_waiting: Duration,
}

impl Default for Retry {
    /// Five tries over some four seconds, or up to four minutes where the server asks for waits.
    fn default() -> Self {
        let first_wait = Duration::from_millis(250);
        Self { tries: 5, first_wait, limit_wait: first_wait, most_waiting: Duration::from_secs(240) }
    }
}

/// Number of tries of one request so far, and the time waited between them.
#[derive(Debug, Default)]
pub(super) struct Tries {
    tried: u32,
    waited: Duration,
}

impl Retry {
    /// Runs `attempt` until it succeeds, fails permanently, or the tries are used up.
    #[cfg(feature = "network")]
    pub(super) async fn run<T>(&self, mut attempt: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Error> {
        let mut tries = Tries::default();
        loop {
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(failure) => self.pause(&mut tries, failure).await?,
            }
        }
    }

    /// Waits before the next try; returns the error if there is none.
    #[cfg(feature = "network")]
    pub(super) async fn pause(&self, tries: &mut Tries, failure: Failure) -> Result<(), Error> {
        use std::sync::atomic::{AtomicU64, Ordering};
        /// Counter from which parallel requests get different waits, so that they are not repeated at the same time.
        static NEIGHBOUR: AtomicU64 = AtomicU64::new(0);
        tries.tried += 1;
        if failure.again == RetrySign::Never {
            return Err(failure.error);
        }
        let Some(wait) = self.next_wait(tries.tried, failure.again, tries.waited) else {
            return Err(gave_up(&failure.error, tries.tried, self.too_long_wait(failure.again, tries.waited)));
        };
        tries.waited += wait;
        tokio::time::sleep(spread_wait(wait, NEIGHBOUR.fetch_add(96, Ordering::Relaxed))).await;
        Ok(())
    }

    /// The wait before the next try, after `tried` tries with waits of `waited` in all; `None` if there is no further try.
    pub(crate) fn next_wait(&self, tried: u32, again: RetrySign, waited: Duration) -> Option<Duration> {
        let wait = self.wait(tried, again);
        let may_wait = again != RetrySign::Never && tried < self.tries && wait <= self.left(waited);
        may_wait.then_some(wait)
    }

    /// The wait after `tried` tries, without a limit.
    pub(super) fn wait(&self, tried: u32, again: RetrySign) -> Duration {
        let first = if matches!(again, RetrySign::Limited(_)) { self.limit_wait } else { self.first_wait };
        let doubled = first.saturating_mul(1 << tried.saturating_sub(1).min(16));
        again.asked().map_or(doubled, |asked| asked.max(self.first_wait))
    }

    /// The wait that a server asks for, if it is longer than the time left.
    pub(crate) fn too_long_wait(&self, again: RetrySign, waited: Duration) -> Option<Duration> {
        again.asked().filter(|asked| *asked > self.left(waited))
    }

    fn left(&self, waited: Duration) -> Duration {
        self.most_waiting.saturating_sub(waited)
    }
}

/// The wait, lengthened by up to a quarter depending on `seed`, which differs between callers that wait at the same time.
pub(crate) fn spread_wait(wait: Duration, seed: u64) -> Duration {
    let share = u32::try_from(seed % 256).unwrap_or(0);
    wait + wait * share / 1024
}

fn gave_up(error: &Error, tried: u32, asked: Option<Duration>) -> Error {
    let asked = asked.map_or_else(String::new, |wait| format!("; it asks to wait {}", asked::wait_in_words(wait)));
    let tries = if tried == 1 { "try" } else { "tries" };
    let message = format!("{} (gave up after {tried} {tries}{asked})", error.message());
    let help =
        error.help().unwrap_or("the service or the network fails; run again later, or give a copy that can be reached");
    Error::new(ErrorKind::Unavailable, error.subject(), message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn quick() -> Retry {
        let wait = Duration::from_millis(1);
        Retry { tries: 3, first_wait: wait, limit_wait: wait, most_waiting: SECOND }
    }

    #[tokio::test]
    async fn temporary_failures_are_tried_again_and_others_are_not() {
        for (failures, again, tries, ok) in [
            (2, RetrySign::Unclear(None), 3, true),
            (3, RetrySign::Unclear(None), 3, false),
            (2, RetrySign::Limited(Some(Duration::ZERO)), 3, true),
            (1, RetrySign::Limited(Some(SECOND * 2)), 1, false),
            (1, RetrySign::Never, 1, false),
        ] {
            let mut tried = 0;
            let outcome = quick()
                .run(async || {
                    tried += 1;
                    if tried > failures {
                        return Ok(());
                    }
                    Err(Failure { again, ..Failure::temporary("x", "cut") })
                })
                .await;
            assert_eq!((tried, outcome.is_ok()), (tries, ok), "{again:?}");
        }
    }

    #[tokio::test]
    async fn a_server_that_asks_for_too_long_is_not_waited_for() {
        let failure = Failure { again: RetrySign::Unclear(Some(SECOND * 7200)), ..Failure::temporary("x", "busy") };
        let error = quick().run(async || Err::<(), _>(failure.clone())).await.expect_err("given up");
        assert_eq!(error.message(), "busy (gave up after 1 try; it asks to wait 2 hours)");
    }

    #[test]
    fn only_what_may_help_is_repeated() {
        let date = ("date", "Sat, 21 Nov 2026 18:00:00 GMT");
        let spent = ("x-ratelimit-remaining", "0");
        type Case<'a> = (u16, &'a [(&'a str, &'a str)], &'a str, RetrySign);
        let cases: [Case<'_>; 16] = [
            (201, &[], "", RetrySign::Never),
            (401, &[], "", RetrySign::Never),
            (403, &[], "Resource not accessible by integration", RetrySign::Never),
            (404, &[("retry-after", "7")], "", RetrySign::Never),
            (422, &[], "", RetrySign::Never),
            (429, &[("retry-after", "7")], "", RetrySign::Limited(Some(SECOND * 7))),
            (429, &[], "", RetrySign::Limited(None)),
            (429, &[("retry-after", "-1")], "", RetrySign::Limited(None)),
            (429, &[("retry-after", "Sat, 21 Nov 2026 18:00:09 GMT"), date], "", RetrySign::Limited(Some(SECOND * 9))),
            (403, &[], "You have exceeded a secondary rate limit", RetrySign::Limited(None)),
            (403, &[("retry-after", "soon")], "", RetrySign::Limited(None)),
            (403, &[spent, ("x-ratelimit-reset", "1795284030"), date], "", RetrySign::Limited(Some(SECOND * 31))),
            (408, &[], "", RetrySign::Unclear(None)),
            (425, &[], "", RetrySign::Unclear(None)),
            (502, &[], "rate limit", RetrySign::Unclear(None)),
            (503, &[("retry-after", "2")], "", RetrySign::Unclear(Some(SECOND * 2))),
        ];
        for (status, headers, said, again) in cases {
            let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            assert_eq!(
                RetrySign::from_answer(status, header, || said.to_owned()),
                again,
                "{status} {headers:?} {said}"
            );
        }
    }

    #[test]
    fn waits_double_and_obey_the_server_as_long_as_there_is_time() {
        let retry = Retry { tries: 5, first_wait: SECOND, limit_wait: SECOND * 60, most_waiting: SECOND * 300 };
        let none = Duration::ZERO;
        for (tried, again, waited, wait) in [
            (1, RetrySign::Never, none, None),
            (1, RetrySign::Unclear(None), none, Some(SECOND)),
            (4, RetrySign::Unclear(None), none, Some(SECOND * 8)),
            (5, RetrySign::Unclear(None), none, None),
            (u32::MAX, RetrySign::Unclear(None), none, None),
            (1, RetrySign::Limited(None), none, Some(SECOND * 60)),
            (3, RetrySign::Limited(None), none, Some(SECOND * 240)),
            (3, RetrySign::Limited(None), SECOND * 61, None),
            (1, RetrySign::Limited(Some(SECOND * 7)), none, Some(SECOND * 7)),
            (1, RetrySign::Limited(Some(none)), none, Some(SECOND)),
            (1, RetrySign::Unclear(Some(SECOND * 300)), none, Some(SECOND * 300)),
            (1, RetrySign::Unclear(Some(SECOND * 300)), SECOND, None),
            (1, RetrySign::Unclear(Some(Duration::MAX)), Duration::MAX, None),
        ] {
            assert_eq!(retry.next_wait(tried, again, waited), wait, "{tried} {again:?} {waited:?}");
        }
        for seed in [0, 255, 256, u64::MAX] {
            let spread = spread_wait(SECOND, seed);
            assert!(spread >= SECOND && spread <= SECOND * 5 / 4, "{seed} {spread:?}");
        }
    }

    #[test]
    fn a_wait_that_nobody_waits_for_is_told() {
        let retry = Retry::default();
        let most = retry.most_waiting;
        for (again, waited, asked) in [
            (RetrySign::Limited(Some(most * 2)), Duration::ZERO, Some(most * 2)),
            (RetrySign::Limited(Some(most)), Duration::ZERO, None),
            (RetrySign::Unclear(Some(most)), SECOND, Some(most)),
            (RetrySign::Unclear(None), most, None),
            (RetrySign::Never, most, None),
        ] {
            assert_eq!(retry.too_long_wait(again, waited), asked, "{again:?} {waited:?}");
        }
    }
}
