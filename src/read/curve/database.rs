//! Databases of trackers. In Trackio's, each row of `metrics` holds the values of a step as JSON; in MLflow's, each holds one
//! value. Every run in a database is a file of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::collector::Collector;
use super::file::CurveFile;
use super::format::CurveFormat;
use super::records;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, Room};
use crate::read::json;
use crate::read::sqlite::{self, Database, SqlTable, SqlValue};

/// Largest number of runs in a database; a user with more has to export one.
const MAX_RUNS: usize = 256;

/// Columns in which a tracker keeps values.
#[derive(Clone, Copy)]
enum Columns {
    Trackio { run: usize, name: usize, step: usize, values: usize },
    Mlflow { run: usize, step: usize, key: usize, value: usize, is_nan: Option<usize> },
}

/// The format of a database; `None` for one of another program. A database whose list of tables cannot be read is taken for a
/// tracker's, so that its damage is reported.
pub(super) fn recognise(head: &[u8], source: &dyn ByteSource) -> Option<CurveFormat> {
    if !sqlite::recognise(head) {
        return None;
    }
    match Database::open(source).and_then(|database| metrics(&database)) {
        Ok(found) => found.map(|(_, columns)| columns.format()),
        Err(_) => Some(CurveFormat::Trackio),
    }
}

impl Columns {
    fn of(table: &SqlTable) -> Option<Self> {
        let column = |name| table.column(name);
        if let (Some(name), Some(step), Some(values)) = (column("run_name"), column("step"), column("metrics")) {
            return Some(Self::Trackio { run: column("run_id").unwrap_or(name), name, step, values });
        }
        let (run, step, key, value) = (column("run_uuid")?, column("step")?, column("key")?, column("value")?);
        Some(Self::Mlflow { run, step, key, value, is_nan: column("is_nan") })
    }

    fn format(self) -> CurveFormat {
        match self {
            Self::Trackio { .. } => CurveFormat::Trackio,
            Self::Mlflow { .. } => CurveFormat::MlflowDatabase,
        }
    }
}

fn metrics(database: &Database<'_>) -> Result<Option<(SqlTable, Columns)>> {
    Ok(database.table("metrics")?.and_then(|table| Columns::of(&table).map(|columns| (table, columns))))
}

/// A run and the values found so far.
struct Run {
    name: Option<String>,
    collector: Collector,
}

/// Reads all runs, in the order in which they began.
///
/// # Errors
/// `Corrupt` for a damaged database and for one without a value, `LimitExceeded` for more than 256 runs.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<Vec<CurveFile>> {
    let database = Database::open(source)?;
    let Some((table, columns)) = metrics(&database)? else {
        return Err(Error::corrupt(source.name(), "is a database without a table `metrics` of Trackio or MLflow"));
    };
    let names = names(&database)?;
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let mut runs: Vec<Run> = Vec::new();
    database.rows(&table, |row| {
        let Some(found) = columns.row(row) else { return Ok(()) };
        let index = match order.get(found.run) {
            Some(index) => *index,
            None if runs.len() >= MAX_RUNS => {
                let message = format!("holds more than {MAX_RUNS} runs");
                return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message)
                    .with_help("export the run to judge as a table"));
            }
            None => {
                let name = found.name.map(str::to_owned).or_else(|| names.get(found.run).cloned());
                order.insert(found.run.to_owned(), runs.len());
                runs.push(Run { name, collector: Collector::new(source.name(), room) });
                runs.len() - 1
            }
        };
        let Some(run) = runs.get_mut(index) else { return Ok(()) };
        found.take(&mut run.collector)
    })?;
    if runs.is_empty() {
        let message = "has the table `metrics` of a tracker, and no row in it; expected one per step";
        return Err(Error::corrupt(source.name(), message)
            .with_help("give the folder of the database: the `-wal` file beside it may hold the rows"));
    }
    runs.into_iter().map(|run| file(source, columns, run)).collect()
}

fn file(source: &dyn ByteSource, columns: Columns, run: Run) -> Result<CurveFile> {
    Ok(CurveFile { run: run.name, ..CurveFile::new(source, columns.format(), run.collector.finish()?) })
}

/// Names of MLflow's runs by their ids.
fn names(database: &Database<'_>) -> Result<HashMap<String, String>> {
    let mut names = HashMap::new();
    let Some(table) = database.table("runs")? else { return Ok(names) };
    let (Some(id), Some(name)) = (table.column("run_uuid"), table.column("name")) else { return Ok(names) };
    database.rows(&table, |row| {
        let text = |at| row.get(at).and_then(SqlValue::as_str);
        if let (Some(id), Some(name), true) = (text(id), text(name), names.len() < MAX_RUNS) {
            names.insert(id.to_owned(), name.to_owned());
        }
        Ok(())
    })?;
    Ok(names)
}

/// A row of the table.
struct Row<'r> {
    run: &'r str,
    name: Option<&'r str>,
    step: u64,
    held: Held<'r>,
}

enum Held<'r> {
    Json(&'r [u8]),
    One(&'r str, f64),
}

impl Columns {
    /// The parts of a row; `None` where a cell does not have the type that its column needs.
    fn row<'r>(&self, row: &'r [SqlValue]) -> Option<Row<'r>> {
        let text = |at: usize| row.get(at).and_then(SqlValue::as_str);
        let step = |at: usize| row.get(at).and_then(SqlValue::as_u64);
        match *self {
            Self::Trackio { run, name, step: at, values } => {
                let name = text(name)?;
                let run = text(run).unwrap_or(name);
                Some(Row { run, name: Some(name), step: step(at)?, held: Held::Json(row.get(values)?.as_bytes()?) })
            }
            Self::Mlflow { run, step: at, key, value, is_nan } => {
                let is_nan = is_nan.and_then(|at| row.get(at)).and_then(SqlValue::as_u64) == Some(1);
                let value = if is_nan { f64::NAN } else { row.get(value)?.as_f64()? };
                Some(Row { run: text(run)?, name: None, step: step(at)?, held: Held::One(text(key)?, value) })
            }
        }
    }
}

impl Row<'_> {
    fn take(&self, collector: &mut Collector) -> Result<()> {
        match self.held {
            Held::One(key, _) if collector.keys.of(key).is_bookkeeping => Ok(()),
            Held::One(key, value) => collector.push(key, Some(self.step), value),
            Held::Json(bytes) => match json::parse_bytes("", bytes) {
                Ok(values) => {
                    records::add_flattened(values.as_object().unwrap_or_default(), Some(self.step), collector)
                }
                Err(_) => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::{MemorySource, Source};

    const TRACKIO: &[u8] = include_bytes!("../../../tests/fixtures/curve-sources/trackio-small-pages.db");
    const MLFLOW: &[u8] = include_bytes!("../../../tests/fixtures/curve-sources/mlflow.db");

    fn read_all(bytes: &[u8]) -> Result<Vec<CurveFile>> {
        let source: Source = Arc::new(MemorySource::new("p.db", bytes.to_vec()));
        let format = recognise(bytes, source.as_ref()).expect("a tracker's");
        super::super::read(source, format, &Room::unlimited())
    }

    fn points(file: &CurveFile, name: &str) -> Vec<(u64, f64)> {
        file.loaded().into_iter().find(|series| series.name == name).expect(name).points().collect()
    }

    #[test]
    fn every_run_is_a_file_of_its_own() {
        let runs = read_all(TRACKIO).expect("sound");
        let names: Vec<Option<&str>> = runs.iter().map(|run| run.run.as_deref()).collect();
        assert_eq!(names, [Some("a"), Some("b")]);
        for run in &runs {
            let loss = points(run, "train/loss");
            assert_eq!((loss.len(), loss[0], loss[39].0), (40, (1, 9.45), 40));
            assert!(loss[6].1.is_nan(), "NaN is kept as text");
            assert_eq!(run.series.len(), 3, "a text is no metric");
        }
    }

    #[test]
    fn mlflow_keeps_a_value_per_row_and_names_its_runs() {
        let runs = read_all(MLFLOW).expect("sound");
        assert_eq!(runs.iter().map(|run| run.run.as_deref()).collect::<Vec<_>>(), [Some("first"), Some("second")]);
        let loss = points(&runs[0], "train/loss");
        assert_eq!((loss.len(), loss[0]), (5, (1, 9.25)));
        assert!(loss[2].1.is_nan());
    }

    #[test]
    fn a_database_of_another_program_is_left_alone_and_one_that_ends_early_is_damage() {
        let other = include_bytes!("../../../tests/fixtures/curve-sources/other.db");
        assert!(recognise(other, &MemorySource::new("p.db", other.to_vec())).is_none());
        for end in [16, 100, 600, TRACKIO.len() - 600] {
            assert_eq!(read_all(&TRACKIO[..end]).expect_err("cut").kind(), ErrorKind::Corrupt, "{end}");
        }
    }
}
