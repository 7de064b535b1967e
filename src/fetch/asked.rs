//! The wait that a server asks for in its headers: `Retry-After` (RFC 9110, section 10.2.3) and GitHub's `x-ratelimit-reset`.
//!
//! Both are untrusted: a value that is neither a number of seconds nor a date is ignored, a time in the past means no wait, and a
//! long wait is cut to [`LONGEST`], so that no sum of waits overflows. Callers have their own limits on waits.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest wait in seconds that is distinguished: ten years.
const LONGEST: u64 = 10 * 365 * 24 * 60 * 60;

/// The wait that the headers ask for; `header` looks up a header by its lower-case name.
pub(crate) fn requested_wait<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let server_time = || header("date").and_then(since_1970);
    if let Some(seconds) = header("retry-after").and_then(|text| retry_after(text.trim(), server_time)) {
        return Some(Duration::from_secs(seconds.min(LONGEST)));
    }
    if header("x-ratelimit-remaining").map(str::trim) != Some("0") {
        return None;
    }
    // Both times come from the server, so that this machine's clock does not matter.
    let (reset, now) = (number(header("x-ratelimit-reset")?.trim())?, server_time()?);
    Some(Duration::from_secs(reset.saturating_sub(now).min(LONGEST) + 1))
}

/// Seconds from now. A date is compared with the server's time, or with this machine's if the server sends none.
fn retry_after(text: &str, server_time: impl FnOnce() -> Option<u64>) -> Option<u64> {
    number(text).or_else(|| {
        let then = since_1970(text)?;
        let now = server_time().or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|now| now.as_secs()));
        Some(then.saturating_sub(now?))
    })
}

/// A number without a sign; a number that is too large becomes the largest one.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Seconds of an HTTP date, in each of its three forms.
fn since_1970(text: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(text.trim()).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

pub(crate) fn wait_in_words(wait: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(365 * 86_400, "years"), (86_400, "days"), (3_600, "hours")];
    let seconds = wait.as_secs();
    let unit = UNITS.into_iter().find(|(size, _)| seconds >= 2 * size);
    match unit {
        Some((size, _)) if seconds >= LONGEST => format!("{} years or more", LONGEST / size),
        Some((size, name)) => format!("{} {name}", seconds / size),
        None if seconds >= 120 => format!("{} minutes", seconds / 60),
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_server_asks_for_is_bounded() {
        const DATE: &str = "Sat, 21 Nov 2026 18:00:00 GMT";
        type Case = (&'static [(&'static str, &'static str)], Option<u64>);
        let cases: [Case; 22] = [
            (&[("retry-after", "7")], Some(7)),
            (&[("retry-after", " 7 ")], Some(7)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after", "-5")], None),
            (&[("retry-after", "+5")], None),
            (&[("retry-after", "1.5")], None),
            (&[("retry-after", "1e9")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "")], None),
            (&[("retry-after", "18446744073709551615")], Some(LONGEST)),
            (&[("retry-after", "99999999999999999999999999999")], Some(LONGEST)),
            (&[("retry-after", "Sat, 21 Nov 2026 18:01:30 GMT"), ("date", DATE)], Some(90)),
            (&[("retry-after", "Saturday, 21-Nov-26 18:01:30 GMT"), ("date", DATE)], Some(90)),
            (&[("retry-after", "Sat Nov 21 18:01:30 2026"), ("date", DATE)], Some(90)),
            (&[("retry-after", "Sat, 21 Nov 2020 18:00:00 GMT"), ("date", DATE)], Some(0)),
            (&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"), ("date", DATE)], Some(LONGEST)),
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1795284030"), ("date", DATE)], Some(31)),
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1"), ("date", DATE)], Some(1)),
            (
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9223372036854775807"), ("date", DATE)],
                Some(LONGEST + 1),
            ),
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "-1"), ("date", DATE)], None),
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1795284030")], None),
            (&[("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "1795284030"), ("date", DATE)], None),
        ];
        for (headers, seconds) in cases {
            let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            assert_eq!(requested_wait(header), seconds.map(Duration::from_secs), "{headers:?}");
        }
        // Without the server's time this machine's has to do.
        let past = |name: &str| (name == "retry-after").then_some("Sat, 21 Nov 2020 18:00:00 GMT");
        assert_eq!(requested_wait(past), Some(Duration::ZERO));
    }

    #[test]
    fn waits_are_said_in_units_that_people_use() {
        for (seconds, said) in [
            (0, "0 s"),
            (90, "90 s"),
            (600, "10 minutes"),
            (10_000, "2 hours"),
            (300_000, "3 days"),
            (100_000_000, "3 years"),
            (LONGEST, "10 years or more"),
            (LONGEST + 1, "10 years or more"),
        ] {
            assert_eq!(wait_in_words(Duration::from_secs(seconds)), said);
        }
    }
}
