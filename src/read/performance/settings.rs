//! `profiler_info.json`, the settings of the profiler.

use std::collections::BTreeMap;

use super::profile::ProfilerSettings;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, read_all};
use crate::read::json::{Json, parse_bytes};

/// Largest file in bytes; a usual one has some kilobytes.
const MOST_BYTES: u64 = 16 << 20;
/// Longest value that is kept, in characters.
const MOST_VALUE: usize = 200;
/// Settings that change the overhead of the profiler: the part of the file that holds each, and its name there.
const COSTLY: [(&str, &str); 6] = [
    ("common_config", "record_shapes"),
    ("common_config", "profile_memory"),
    ("common_config", "with_stack"),
    ("common_config", "with_modules"),
    ("experimental_config", "_profiler_level"),
    ("experimental_config", "_aic_metrics"),
];

/// Reads the settings that change the overhead of the profiler.
///
/// # Errors
/// `Corrupt` if the file is not JSON or ends too early.
pub(super) fn read_settings(source: &dyn ByteSource) -> Result<ProfilerSettings> {
    let bytes = read_all(source, MOST_BYTES)?;
    let whole = parse_bytes(source.name(), &bytes)?;
    if whole.as_object().is_none() {
        return Err(Error::corrupt(source.name(), "is not an object with the profiler's settings"));
    }
    let config = whole.get("config").unwrap_or(&whole);
    let found = COSTLY.iter().filter_map(|(part, name)| {
        let value = config.get(part).and_then(|part| part.get(name))?;
        Some(((*name).trim_start_matches('_').to_owned(), setting_text(value)?))
    });
    Ok(ProfilerSettings(found.collect::<BTreeMap<_, _>>()))
}

/// Text of a setting's value; `None` if it is null or not a scalar.
pub(super) fn setting_text(value: &Json) -> Option<String> {
    let text = value.as_str().map(|text| text.chars().take(MOST_VALUE).collect());
    text.or_else(|| value.as_bool().map(|value| value.to_string()))
        .or_else(|| value.as_f64().map(|value| (value != 0.0).to_string()))
}
