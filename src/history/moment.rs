//! Times of records as results write them, and back.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use crate::result::time::{Day, Time};

/// The time of a record in the form of a result; the default time for one that results cannot express.
pub(crate) fn result_time(time: Timestamp) -> Time {
    Time::try_from(time.to_string()).unwrap_or_default()
}

/// The moment of a time in a result.
pub fn instant(time: &Time) -> Timestamp {
    time.as_str().parse().unwrap_or_default()
}

/// A day in the form of a result.
pub fn day(date: Date) -> Day {
    Day::try_from(date.to_string()).unwrap_or_default()
}

/// Noon (UTC) of a day in a result.
pub(crate) fn noon(day: &Day) -> Option<Timestamp> {
    let date: Date = day.as_str().parse().ok()?;
    Offset::UTC.to_timestamp(date.at(12, 0, 0, 0)).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::date;

    use super::{day, instant, noon, result_time};

    #[test]
    fn what_a_result_writes_is_the_same_moment() {
        for text in ["2026-11-24T02:00:00Z", "2024-02-29T23:59:59.000000001Z", "0000-01-01T00:00:00Z"] {
            let time: Timestamp = text.parse().expect("a time");
            assert_eq!((result_time(time).as_str(), instant(&result_time(time))), (text, time));
        }
        assert_eq!(noon(&day(date(2026, 11, 24))), "2026-11-24T12:00:00Z".parse().ok());
        assert_eq!(result_time(Timestamp::MIN), Default::default());
    }
}
