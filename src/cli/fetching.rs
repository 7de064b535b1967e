//! Flags about locations, and the fetcher they make.

use std::path::PathBuf;

use clap::Args;
use precision_gate::error::Result;
use precision_gate::fetch::{CacheSettings, Environment, Fetcher, Location, Settings};

/// Threads that compare where bytes come over a network: each waits most of the time.
const REMOTE_THREADS: usize = 8;

/// Flags about fetching locations.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Resources")]
pub(crate) struct FetchArgs {
    /// Memory that the command may use, such as 256MB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
    /// Disk space for downloads and unpacked archives [default: 20GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_disk: Option<u64>,
    /// Folder of kept downloads [default: $PRECISION_GATE_CACHE, or precision-gate in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Size that the cache may reach [default: 10GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) cache_size: Option<u64>,
}

impl FetchArgs {
    /// The fetcher, with this process's environment.
    pub(crate) fn fetcher(&self) -> Fetcher {
        let usual = Settings::default();
        Fetcher::new(Settings {
            environment: environment(),
            max_memory: self.max_memory.unwrap_or(usual.max_memory),
            max_disk: self.max_disk.unwrap_or(usual.max_disk),
            cache: CacheSettings { folder: self.cache.clone(), limit: self.cache_size.unwrap_or(usual.cache.limit) },
            ..usual
        })
    }
}

/// Variables of this process; those that are not UTF-8 are left out, since no service uses one.
pub(crate) fn environment() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The threads to compare with, where the usual number does not fit these locations.
pub(crate) fn threads(locations: &[&str]) -> Result<Option<usize>> {
    let mut is_remote = false;
    for location in locations {
        is_remote |= Location::parse(location)?.is_remote();
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(is_remote.then_some(cores.max(REMOTE_THREADS)))
}

/// A number of bytes: `100MB` (10^6), `256MiB` (2^20), `4096`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "kib" => 1 << 10,
        "m" | "mb" => 1_000_000,
        "mib" => 1 << 20,
        "g" | "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        "t" | "tb" => 1_000_000_000_000,
        "tib" => 1 << 40,
        _ => return Err(format!("unknown unit `{unit}`; the units are B, KB, MB, GB, TB, KiB, MiB, GiB and TiB")),
    };
    let number: f64 = number.parse().map_err(|_| format!("expects a size such as 256MB, not `{text}`"))?;
    #[allow(clippy::cast_precision_loss, reason = "units are far below 2^53")]
    let bytes = number * factor as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and as saturates")]
    Ok(bytes as u64)
}

/// `WHAT=VERSION`
pub(crate) fn version(text: &str) -> Result<(String, String), String> {
    let (what, version) = text.split_once('=').ok_or_else(|| format!("`{text}` is not WHAT=VERSION"))?;
    Ok((what.trim().to_ascii_lowercase(), version.trim().to_owned()))
}

/// A run that was made again: the machine and the location.
///
/// # Errors
/// A text without `=`, or without one of its sides.
pub(crate) fn rerun(text: &str) -> Result<(String, String), String> {
    let (node, location) = text.split_once('=').unwrap_or_default();
    if node.trim().is_empty() || location.is_empty() {
        return Err(format!("`{text}` is not NODE=LOCATION"));
    }
    Ok((node.trim().to_owned(), location.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("100MB", Ok(100_000_000)), ("256 MiB", Ok(256 << 20)), ("1.5g", Ok(1_500_000_000)), ("7", Ok(7))]
        {
            assert_eq!(size(text), bytes, "{text}");
        }
        for text in ["", "MB", "5 parsecs", "-1", "1..5"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
