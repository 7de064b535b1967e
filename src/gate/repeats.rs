//! Repeats of a baseline: runs that are opened to record its noise, and noise bands that were recorded before.

use super::discover::{Recogniser, Search};
use super::entries::entries;
use super::location;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Quiet;
use crate::fetch::{self, Fetcher, Trust};
use crate::gate::side;
use crate::judge::loss::noise::NoiseBand;
use crate::policy::location::TrustedLocation;
use crate::read::curve::CurveFile;
use crate::read::curve::log::LogPattern;
use crate::read::dump::DumpFolder;

/// Size of a recorded band, in bytes, up to which it is read.
pub const LARGEST_BAND: u64 = 64 << 20;

/// Opener of a baseline's repeats, which reads their curves and dumps.
#[derive(Clone, Copy)]
pub struct RepeatOpener<'a> {
    /// Opens them.
    pub fetcher: &'a Fetcher,
    /// Recognisers of all checks.
    pub recognisers: &'a [Recogniser],
}

/// One repeat.
#[derive(Clone, Default)]
pub struct Repeat {
    /// Its location, as documents may show it.
    pub name: String,
    /// Its training curves.
    pub curves: Vec<CurveFile>,
    /// Its dumps.
    pub dumps: Vec<DumpFolder>,
}

impl RepeatOpener<'_> {
    /// Opens the locations of several runs, or of one folder with a run in each entry. Returns the repeats, and the locations
    /// as documents may show them.
    ///
    /// # Errors
    /// Errors of opening them.
    pub fn open(&self, runs: &[TrustedLocation], pattern: Option<&LogPattern>) -> Result<(Vec<Repeat>, Vec<String>)> {
        let (mut found, mut locations) = (Vec::new(), Vec::new());
        for run in runs {
            let files = location::open(run, Trust::Baseline, self.fetcher, &Quiet)?;
            locations.push(files.location().to_owned());
            let of_run = if let [_] = runs { entries(&files) } else { vec![(String::new(), files)] };
            for (_, files) in of_run {
                let search = Search { recognisers: self.recognisers, pattern, room: None };
                let inventory = side::inventory_of_side(files, self.fetcher, search, &Quiet)?;
                let (curves, dumps) =
                    (inventory.artifacts::<CurveFile>().to_vec(), inventory.artifacts::<DumpFolder>().to_vec());
                // Not as it was given, which may hold a secret.
                found.push(Repeat { name: inventory.location().to_owned(), curves, dumps });
            }
        }
        Ok((found, locations))
    }
}

/// The error about too few repeats; `found` says how many there were.
pub(crate) fn too_few_repeats(locations: &[String], found: &str) -> Error {
    let message = format!("noise needs two repeats at least, better three; {found} were found");
    Error::new(ErrorKind::Usage, locations.join(", "), message)
        .with_help("give several runs of the same case, or a folder with one run per entry")
}

/// The error about two runs that are not repeats of one case, with the reason `why`.
pub(crate) fn not_a_repeat([first, second]: [&str; 2], why: &str, help: &str) -> Error {
    Error::new(ErrorKind::Usage, second, format!("is not a repeat of {first}: {why}")).with_help(help)
}

/// Reads the recorded noise band at `location`; `None` where something else lies there.
///
/// # Errors
/// Errors of opening it; `Policy` where it is damaged, or holds a number that no limit can be made of.
pub fn read_band_file(location: &TrustedLocation, fetcher: &Fetcher) -> Result<Option<NoiseBand>> {
    let files = fetcher.open(location, Trust::Baseline, &Quiet)?.files;
    let [entry] = files.list() else { return Ok(None) };
    let source = files.open(&entry.path)?;
    let mut head = vec![0; usize::try_from(source.len().min(256)).unwrap_or_default()];
    source.read_at(0, &mut head)?;
    if !String::from_utf8_lossy(&head).contains("\"precision_gate_noise\"") {
        return Ok(None);
    }
    let bytes = fetch::read_all(source.as_ref(), LARGEST_BAND)?;
    let damaged = |message: String| {
        Error::new(ErrorKind::Policy, files.location(), message)
            .with_help("record it again with `precision-gate noise`")
    };
    let band: NoiseBand = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if !band.is_known_layout() {
        let newest = NoiseBand::LAYOUT_WITH_RUNS;
        return Err(damaged(format!("has layout {}, expected {newest} at most", band.precision_gate_noise)));
    }
    if !band.is_sound() {
        return Err(damaged("holds a number that no limit can be made of".into()));
    }
    Ok(Some(band))
}
