//! Times and days as results write them: texts of UTC, checked where a result is read.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment: `2026-11-24T02:00:00Z`, with up to nine digits behind the seconds. Earlier ones sort first where both have none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct Time(String);

/// A day of the calendar: `2026-11-24`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct Day(String);

/// Makes what both kinds of text share.
macro_rules! texts {
    ($($name:ident by $is:ident as $form:literal, first $first:literal;)+) => {$(
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self($first.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                if $is(&text) { Ok(Self(text)) } else { Err(format!(concat!("expects ", $form, ", not `{}`"), text)) }
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    )+};
}

texts! {
    Time by is_time as "a time in UTC as in `2026-11-24T02:00:00Z`", first "1970-01-01T00:00:00Z";
    Day by is_day as "a day as in `2026-11-24`", first "1970-01-01";
}

impl Time {
    /// The day of the moment.
    pub fn day(&self) -> &str {
        self.0.split('T').next().unwrap_or_default()
    }
}

fn is_day(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut next = |digits| number(parts.next()?, digits);
    let Some((year, month, day)) = (|| Some((next(4)?, next(2)?, next(2)?)))() else { return false };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    parts.next().is_none() && (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let Some((day, clock)) = text.strip_suffix('Z').and_then(|text| text.split_once('T')) else { return false };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let mut is_below = |most| parts.next().and_then(|part| number(part, 2)).is_some_and(|value| value < most);
    let is_clock = is_below(24) && is_below(60) && is_below(60) && parts.next().is_none();
    is_day(day) && is_clock && number(fraction, fraction.len().clamp(1, 9)).is_some()
}

/// The number that so many digits, and nothing else, make.
fn number(text: &str, digits: usize) -> Option<u32> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::{Day, Time};

    #[test]
    fn a_day_is_one_of_the_calendar() {
        let is_day = |text: &str| Day::try_from(text.to_owned()).is_ok();
        for text in ["2026-11-24", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"] {
            assert!(is_day(text), "{text}");
        }
        for text in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-04-31",
            "2026-1-01",
            "2026-01-00",
            "+026-01-01",
            "",
            "2026-01-01-01",
        ] {
            assert!(!is_day(text), "{text}");
        }
    }

    #[test]
    fn a_time_is_one_of_the_clock() {
        let read = |text: &str| Time::try_from(text.to_owned());
        for text in ["2026-11-24T02:00:00Z", "2026-11-24T23:59:59.123456789Z", "2026-11-24T02:00:00.5Z"] {
            assert_eq!(
                read(text).map(|time| (time.day().to_owned(), time.to_string())),
                Ok(("2026-11-24".into(), text.into()))
            );
        }
        for text in [
            "2026-11-24T24:00:00Z",
            "2026-11-24T02:00Z",
            "2026-11-24 02:00:00Z",
            "2026-11-24T02:00:00",
            "2026-11-24T02:00:00.Z",
            "2026-11-24T02:00:00.1234567890Z",
            "2026-11-24T02:00:0éZ",
            "2026-11-31T02:00:00Z",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Time>("\"today\"")
                .map_err(|error| error.to_string().contains("expects a time in UTC")),
            Err(true)
        );
    }
}
