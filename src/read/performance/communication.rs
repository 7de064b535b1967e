//! `communication.json`: times of collectives by step.

use std::collections::BTreeMap;

use super::profile::CommunicationTimes;
use crate::error::Result;
use crate::fetch::ByteSource;
use crate::read::json::{Json, Parser};

/// Most types of collectives.
const MOST_TYPES: usize = 10_000;

/// Reads the times of all collectives, added up by type.
///
/// # Errors
/// `Corrupt` if the file is not JSON or ends too early.
pub(super) fn read_communication(source: &dyn ByteSource) -> Result<BTreeMap<String, CommunicationTimes>> {
    let mut times: BTreeMap<String, CommunicationTimes> = BTreeMap::new();
    let mut parser = Parser::new(source);
    parser.object(|_, parser| {
        if parser.peek()? != Some(b'{') {
            return parser.value().map(|_| ());
        }
        parser.object(|_, parser| {
            if parser.peek()? != Some(b'{') {
                return parser.value().map(|_| ());
            }
            parser.object(|name, parser| {
                let value = parser.value()?;
                add(&mut times, &name, &value);
                Ok(())
            })
        })
    })?;
    parser.end()?;
    Ok(times)
}

fn add(times: &mut BTreeMap<String, CommunicationTimes>, name: &str, value: &Json) {
    let info = value.get("Communication Time Info");
    let number = |title: &str| info.and_then(|info| info.get(title)).and_then(Json::as_f64);
    let (Some(transit), Some(wait)) = (number("Transit Time(ms)"), number("Wait Time(ms)")) else { return };
    add_call(times, name, transit, wait);
}

/// Adds one call. Rows with sums over all calls of a step are skipped.
pub(super) fn add_call(times: &mut BTreeMap<String, CommunicationTimes>, name: &str, transit: f64, wait: f64) {
    if name.starts_with("Total Op Info") || !transit.is_finite() || !wait.is_finite() {
        return;
    }
    let kind = collective_type(name);
    if times.len() >= MOST_TYPES && !times.contains_key(kind) {
        return;
    }
    let times = times.entry(kind.to_owned()).or_default();
    times.count += 1;
    times.transit += transit;
    times.wait += wait;
}

/// Type of a collective: `hcom_allReduce_` for `hcom_allReduce__371_24_1@group`.
pub(super) fn collective_type(name: &str) -> &str {
    let call = name.split('@').next().unwrap_or(name);
    match call.find("__") {
        Some(at) => call.get(..=at).unwrap_or(call),
        None => call,
    }
}

#[cfg(test)]
mod tests {
    use super::collective_type;

    #[test]
    fn a_type_has_no_call_number_and_no_group() {
        for (name, kind) in [
            ("hcom_allReduce__371_24_1@10.0.0.1%eth0_60000_0_28000000000", "hcom_allReduce_"),
            ("hcom_send__1_2_3", "hcom_send_"),
            ("broadcast@group", "broadcast"),
            ("", ""),
        ] {
            assert_eq!(collective_type(name), kind);
        }
    }
}
