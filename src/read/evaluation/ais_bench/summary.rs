//! `summary/summary_<time>.csv`: `dataset,version,metric,mode,<model>,…`.

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, read_all};

/// Largest summary that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Most models of a summary.
const MOST_MODELS: usize = 1000;
/// Number of columns before those of the models.
const COLUMNS: usize = 4;

/// A table of scores.
#[derive(Debug)]
pub(super) struct Summary {
    models: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Summary {
    /// Reads a summary.
    ///
    /// # Errors
    /// If the table is too large or damaged.
    pub(super) fn read(source: &dyn ByteSource) -> Result<Self> {
        let bytes = read_all(source, MAX_BYTES)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
        let damaged = |error: csv::Error| {
            Error::new(ErrorKind::Corrupt, source.name(), format!("expected a table of scores: {error}"))
        };
        let models: Vec<String> = table.headers().map_err(damaged)?.iter().skip(COLUMNS).map(str::to_owned).collect();
        if models.len() > MOST_MODELS {
            let message = format!("{} models, and up to {MOST_MODELS} are read", models.len());
            return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
        }
        let row =
            |record: csv::Result<csv::StringRecord>| Ok(record.map_err(damaged)?.iter().map(str::to_owned).collect());
        let rows = table.records().map(row).collect::<Result<Vec<Vec<String>>>>()?;
        Ok(Self { models, rows })
    }

    /// Names of the models in the table.
    pub(super) fn models(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(String::as_str)
    }

    /// Data sets of a model, each with its name, its version, and its metric and score as written.
    pub(super) fn rows<'a>(
        &'a self,
        model: &str,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>, Option<(&'a str, f64)>)> {
        let column = self.models.iter().position(|name| name == model).map(|column| column + COLUMNS);
        self.rows.iter().filter_map(move |row| {
            let [name, version, metric, ..] = row.as_slice() else { return None };
            let score = row.get(column?)?;
            if score == "-" {
                return None;
            }
            let score = score.parse().ok().map(|score| (metric.as_str(), score));
            Some((name.as_str(), Some(version.as_str()).filter(|version| !["", "-"].contains(version)), score))
        })
    }
}
