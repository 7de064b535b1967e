//! Repeats of requests, and the waits before them.
//!
//! Limits of a forge are obeyed as it states them (`Retry-After`, `x-ratelimit-reset`), or waited out for a minute,
//! doubling. Server errors and broken connections get three more tries. What the forge refuses is never repeated.
//! A limit is told before anything was done; after a server error or a broken connection a write may have taken
//! effect, and whoever creates something looks before it is repeated.

use std::time::Duration;

use super::answer::Answer;
use crate::fetch::asked;

/// Tries after the first one.
const MOST_REPEATS: u32 = 3;
/// Wait before the first repeat after a server error.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Wait where a forge limits and does not say for how long; GitHub asks for at least a minute.
const UNKNOWN_LIMIT: Duration = Duration::from_secs(60);
/// Time that may be spent waiting in one run; publishing is given up then, the verdict stands anyway.
pub const MOST_WAITING: Duration = Duration::from_secs(300);

/// Action after one try of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// No further try: the request succeeded or failed for good.
    Settled,
    /// The forge did nothing: wait, and send it again.
    Limited(Duration),
    /// The request may have taken effect: wait, look where it creates something, and send it again.
    Unclear(Duration),
}

/// The action after try number `tries` (1 for the first), given its answer, or none where the connection broke.
pub fn after(answer: Option<&Answer>, tries: u32) -> Next {
    if tries > MOST_REPEATS {
        return Next::Settled;
    }
    let doubled = |wait: Duration| wait * 2_u32.saturating_pow(tries - 1);
    match answer {
        None => Next::Unclear(doubled(FIRST_WAIT)),
        Some(answer) if is_limit(answer) => {
            Next::Limited(stated_wait(answer).unwrap_or_else(|| doubled(UNKNOWN_LIMIT)))
        }
        Some(answer) if answer.status >= 500 => {
            Next::Unclear(stated_wait(answer).unwrap_or_else(|| doubled(FIRST_WAIT)))
        }
        Some(_) => Next::Settled,
    }
}

/// A limit of requests. GitHub's secondary ones come as 403, told from a refusal by their headers or their text.
fn is_limit(answer: &Answer) -> bool {
    let spent = answer.header("x-ratelimit-remaining") == Some("0");
    let said = || answer.message().to_ascii_lowercase().contains("rate limit");
    answer.status == 429 || answer.status == 403 && (answer.header("retry-after").is_some() || spent || said())
}

/// Wait that the forge asks for, at least the first wait.
fn stated_wait(answer: &Answer) -> Option<Duration> {
    asked::wait(|name| answer.header(name)).map(|wait| wait.max(FIRST_WAIT))
}

/// Reason not to repeat a request although its answer allows it: the answer asks for a longer wait than `left`. Empty
/// where it does not.
pub fn too_long_a_wait(answer: &Answer, left: Duration) -> String {
    let is_again = is_limit(answer) || answer.status >= 500;
    let asked = stated_wait(answer).filter(|wait| is_again && *wait > left);
    asked.map_or_else(String::new, |wait| {
        let (wait, most) = (asked::spoken(wait), asked::spoken(MOST_WAITING));
        format!("; it asks to wait {wait}, and one run waits at most {most} in all")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer { status, headers, body: body.into(), longer_than: None }
    }

    #[test]
    fn only_what_may_help_is_repeated() {
        let seconds = Duration::from_secs;
        let date = ("date", "Sat, 21 Nov 2026 18:00:00 GMT");
        let secondary = r#"{"message":"You have exceeded a secondary rate limit"}"#;
        for (given, next) in [
            (answer(201, &[], "{}"), Next::Settled),
            (answer(401, &[], "{}"), Next::Settled),
            (answer(403, &[], r#"{"message":"Resource not accessible by integration"}"#), Next::Settled),
            (answer(404, &[], "{}"), Next::Settled),
            (answer(422, &[], "{}"), Next::Settled),
            (answer(429, &[("retry-after", "7")], ""), Next::Limited(seconds(7))),
            (answer(429, &[], ""), Next::Limited(seconds(60))),
            (answer(429, &[("retry-after", "0")], ""), Next::Limited(FIRST_WAIT)),
            (answer(429, &[("retry-after", "-1")], ""), Next::Limited(seconds(60))),
            (answer(429, &[("retry-after", "Sat, 21 Nov 2026 18:00:09 GMT"), date], ""), Next::Limited(seconds(9))),
            (answer(403, &[], secondary), Next::Limited(seconds(60))),
            (
                answer(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1795284030"), date], ""),
                Next::Limited(seconds(31)),
            ),
            (answer(502, &[], "<html>"), Next::Unclear(FIRST_WAIT)),
            (answer(503, &[("retry-after", "2")], ""), Next::Unclear(seconds(2))),
        ] {
            assert_eq!(after(Some(&given), 1), next, "{given:?}");
        }
        assert_eq!(after(None, 1), Next::Unclear(FIRST_WAIT));
        assert_eq!(after(None, u32::MAX), Next::Settled);
        assert_eq!(after(None, 3), Next::Unclear(FIRST_WAIT * 4));
        assert_eq!(after(None, 4), Next::Settled);
    }

    #[test]
    fn a_wait_that_nobody_waits_for_is_told() {
        let left = MOST_WAITING;
        for (headers, said) in [
            (&[("retry-after", "10000")][..], "; it asks to wait 2 hours, and one run waits at most 5 minutes in all"),
            (
                &[("retry-after", "99999999999999999999999")],
                "; it asks to wait 10 years or more, and one run waits at most 5 minutes in all",
            ),
            (&[("retry-after", "300")], ""),
            (&[("retry-after", "-300")], ""),
            (&[], ""),
        ] {
            assert_eq!(too_long_a_wait(&answer(429, headers, ""), left), said, "{headers:?}");
            assert_eq!(too_long_a_wait(&answer(503, headers, ""), left), said, "{headers:?}");
            assert_eq!(too_long_a_wait(&answer(404, headers, ""), left), "", "{headers:?}");
        }
    }
}
