//! The profiler's databases: kernels, steps, operators and memory are in `ascend_pytorch_profiler*.db`, and the table of steps is in
//! `analysis.db`. Rows are read one by one. Names are ids of the table `STRING_IDS`.

use std::collections::{BTreeMap, HashMap};

use super::communication::add_call;
use super::kernels::{COMMUNICATION, Kernels, OperatorKey, core_kind, without_quotes};
use super::launches::Spans;
use super::npu_trace::median;
use super::number::microseconds;
use super::operator_times::{OperatorTimes, is_loading};
use super::profile::{CommunicationTimes, LoadingTime, OperatorTime, StepRow};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;
use crate::read::sqlite::{Database, SqlValue};

/// Most rows that are read from one table.
const MOST_ROWS: usize = 16_000_000;
const MOST_NAME_BYTES: usize = 256 << 20;
/// Most rows of the table of steps.
const MOST_STEPS: usize = 100_000;
/// Number of bytes of an MB in the profiler's tables.
const MB: f64 = 1_048_576.0;

type Ids<T> = HashMap<u64, T, foldhash::fast::RandomState>;

/// Contents of a profile's database.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) kernels: Option<Kernels>,
    pub(super) operators: Vec<OperatorTime>,
    pub(super) loading: Option<LoadingTime>,
    pub(super) memory_peak: Option<f64>,
    pub(super) frequency: Option<f64>,
    pub(super) device_name: Option<String>,
}

/// Reads a profile's database.
///
/// # Errors
/// `Corrupt` if the file is cut or not a database.
pub(super) fn read_database(source: &dyn ByteSource) -> Result<Recorded> {
    let database = Database::open(source)?;
    database.demand_all_pages()?;
    let mut tables = Tables { source, file: source.name(), database, names: Ids::default() };
    tables.names = tables.names()?;
    let spans = tables.spans()?;
    let (kernels, tasks) = tables.kernels(&spans)?;
    let times = tables.operators(&tasks)?;
    Ok(Recorded {
        kernels,
        operators: times.operators(),
        loading: times.loading(),
        memory_peak: tables.memory_peak()?,
        frequency: tables.frequency()?,
        device_name: tables.device_name()?,
    })
}

/// Cells of the requested columns; `Null` for a column that the table lacks.
struct Row<'a> {
    places: &'a [Option<usize>],
    values: &'a [SqlValue],
}

impl<'a> Row<'a> {
    fn value(&self, nth: usize) -> &'a SqlValue {
        self.places.get(nth).copied().flatten().and_then(|place| self.values.get(place)).unwrap_or(&SqlValue::Null)
    }

    fn whole(&self, nth: usize) -> Option<u64> {
        match self.value(nth) {
            SqlValue::Text(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        }
    }

    /// Point in time, which some tables store as text.
    fn time(&self, nth: usize) -> Option<i64> {
        self.whole(nth).and_then(|time| i64::try_from(time).ok())
    }

    fn number(&self, nth: usize) -> Option<f64> {
        match self.value(nth) {
            SqlValue::Text(text) => text.trim().parse().ok(),
            value => value.as_f64(),
        }
        .filter(|number| number.is_finite())
    }
}

/// Calls `take` with each row of a table, and returns whether the table exists. The first of the columns must exist.
fn each(
    database: &Database<'_>,
    file: &str,
    table: &str,
    columns: &[&str],
    mut take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<bool> {
    let Some(found) = database.table(table)? else { return Ok(false) };
    let places: Vec<Option<usize>> = columns.iter().map(|name| found.column(name)).collect();
    if places.first().is_none_or(Option::is_none) {
        let wanted = columns.first().copied().unwrap_or_default();
        return Err(Error::corrupt(file, format!("has a table `{table}` without a column `{wanted}`")));
    }
    let mut rows = 0_usize;
    database.rows(&found, |values| {
        rows += 1;
        if rows > MOST_ROWS {
            let message = format!("more than {MOST_ROWS} rows in `{table}`; record fewer steps");
            return Err(Error::new(ErrorKind::LimitExceeded, file, message));
        }
        take(&Row { places: &places, values })
    })?;
    Ok(true)
}

/// Number and total duration of kernels by connection, to assign them to operators.
type Tasks = Ids<(u64, i64)>;

struct Tables<'a> {
    source: &'a dyn ByteSource,
    file: &'a str,
    database: Database<'a>,
    names: Ids<String>,
}

impl Tables<'_> {
    fn each(&self, table: &str, columns: &[&str], take: impl FnMut(&Row<'_>) -> Result<()>) -> Result<bool> {
        each(&self.database, self.file, table, columns, take)
    }

    fn name(&self, id: Option<u64>) -> &str {
        id.and_then(|id| self.names.get(&id)).map_or("", String::as_str)
    }

    fn names(&self) -> Result<Ids<String>> {
        let (mut names, mut bytes) = (Ids::default(), 0);
        self.each("STRING_IDS", &["id", "value"], |row| {
            if let (Some(id), Some(text)) = (row.whole(0), row.value(1).as_str()) {
                bytes += text.len();
                if bytes > MOST_NAME_BYTES {
                    return Err(Error::new(ErrorKind::LimitExceeded, self.file, "names above 256 MB"));
                }
                names.insert(id, text.to_owned());
            }
            Ok(())
        })?;
        Ok(names)
    }

    fn spans(&self) -> Result<Spans> {
        let mut spans = Vec::new();
        self.each("STEP_TIME", &["id", "startNs", "endNs"], |row| {
            if let (Some(number), Some(start), Some(end)) = (row.whole(0), row.time(1), row.time(2))
                && spans.len() < MOST_STEPS
            {
                spans.push((start, end, number));
            }
            Ok(())
        })?;
        Ok(Spans::new(spans))
    }

    /// Kernels, and their number and duration by connection; `None` if nothing of the device was recorded.
    fn kernels(&self, spans: &Spans) -> Result<(Option<Kernels>, Tasks)> {
        let (mut kernels, mut tasks) = (Kernels::new(self.source), Tasks::default());
        let kinds = self.kinds(&mut kernels)?;
        let is_there = self.each("TASK", &["globalTaskId", "startNs", "endNs", "connectionId"], |row| {
            // Tasks without an entry are events and memory copies, which the text files do not list either.
            let Some(kind) = row.whole(0).and_then(|id| kinds.get(&id)) else { return Ok(()) };
            let (Some(start), Some(end)) = (row.time(1), row.time(2)) else {
                return Err(Error::corrupt(self.file, "has a row in `TASK` without a start or an end"));
            };
            let step = spans.begun(start);
            let duration = end.saturating_sub(start);
            kernels.add(self.file, *kind, step, (start, duration))?;
            if let Some(connection) = row.whole(3).filter(|_| step.is_some()) {
                let (count, total) = tasks.entry(connection).or_default();
                (*count, *total) = (*count + 1, total.saturating_add(duration.max(0)));
            }
            Ok(())
        })?;
        self.each("COMMUNICATION_OP", &["opName", "startNs", "endNs", "opType"], |row| {
            let (Some(start), Some(end)) = (row.time(1), row.time(2)) else {
                return Err(Error::corrupt(self.file, "has a row in `COMMUNICATION_OP` without a start or an end"));
            };
            let kind = self.name(row.whole(3));
            let call = self.name(row.whole(0));
            let name = if kind.is_empty() { super::communication::collective_type(call) } else { kind };
            let key = OperatorKey { name: name.to_owned(), core: COMMUNICATION.to_owned(), ..OperatorKey::default() };
            let kind = kernels.kind_place(self.file, key)?;
            kernels.add(self.file, kind, spans.begun(start), (start, end.saturating_sub(start)))
        })?;
        Ok((is_there.then(|| kernels.finish()), tasks))
    }

    /// Kind of every computing task of the device.
    fn kinds(&self, kernels: &mut Kernels) -> Result<Ids<u32>> {
        let mut kinds = Ids::default();
        let mut known: HashMap<[Option<u64>; 4], u32> = HashMap::new();
        let columns = ["globalTaskId", "opType", "taskType", "inputShapes", "inputDataTypes"];
        self.each("COMPUTE_TASK_INFO", &columns, |row| {
            let Some(id) = row.whole(0) else { return Ok(()) };
            let ids = [1, 2, 3, 4].map(|nth| row.whole(nth));
            let kind = match known.get(&ids) {
                Some(kind) => *kind,
                None => {
                    let [name, of_core, shapes, dtypes] = ids.map(|id| self.name(id));
                    let key = OperatorKey {
                        name: name.trim().to_owned(),
                        shapes: without_quotes(shapes),
                        dtypes: without_quotes(dtypes),
                        core: core_kind(of_core),
                    };
                    let kind = kernels.kind_place(self.file, key)?;
                    known.insert(ids, kind);
                    kind
                }
            };
            kinds.insert(id, kind);
            Ok(())
        })?;
        Ok(kinds)
    }

    fn operators(&self, tasks: &Tasks) -> Result<OperatorTimes> {
        let mut times = OperatorTimes::default();
        let mut connections: Ids<Vec<u64>> = Ids::default();
        self.each("CONNECTION_IDS", &["id", "connectionId"], |row| {
            if let (Some(id), Some(connection)) = (row.whole(0), row.whole(1)) {
                connections.entry(id).or_default().push(connection);
            }
            Ok(())
        })?;
        self.each("PYTORCH_API", &["name", "startNs", "endNs", "connectionId"], |row| {
            let name = self.name(row.whole(0));
            if is_loading(name)
                && let (Some(start), Some(end)) = (row.time(1), row.time(2))
            {
                times.add_loading(microseconds(end.saturating_sub(start).max(0)));
            }
            let Some(connections) = row.whole(3).and_then(|id| connections.get(&id)) else { return Ok(()) };
            let found = connections.iter().filter_map(|connection| tasks.get(connection));
            let total: i64 = found.fold(0, |total, (_, time)| total.saturating_add(*time));
            if total > 0 { times.add(self.file, name, 1, microseconds(total)) } else { Ok(()) }
        })?;
        Ok(times)
    }

    fn memory_peak(&self) -> Result<Option<f64>> {
        let mut peak: Option<f64> = None;
        self.each("MEMORY_RECORD", &["component", "totalAllocated"], |row| {
            let is_framework = ["PTA", "PTA+GE"].contains(&self.name(row.whole(0)));
            if let Some(bytes) = row.number(1).filter(|_| is_framework) {
                let allocated = bytes / MB;
                peak = Some(peak.map_or(allocated, |peak| peak.max(allocated)));
            }
            Ok(())
        })?;
        Ok(peak)
    }

    fn frequency(&self) -> Result<Option<f64>> {
        let mut clock = Vec::new();
        self.each("AICORE_FREQ", &["freq"], |row| {
            clock.extend(row.number(0).filter(|clock| *clock > 0.0));
            Ok(())
        })?;
        Ok(median(clock))
    }

    fn device_name(&self) -> Result<Option<String>> {
        let mut name = None;
        self.each("NPU_INFO", &["name"], |row| {
            name = name.take().or_else(|| row.value(0).as_str().map(str::to_owned));
            Ok(())
        })?;
        Ok(name.filter(|name| !name.is_empty()))
    }
}

/// Steps and collectives of `analysis.db`.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    pub(super) steps: Vec<StepRow>,
    pub(super) communication: BTreeMap<String, CommunicationTimes>,
}

/// Reads `analysis.db`.
///
/// # Errors
/// `Corrupt` if the file is cut or not a database.
pub(super) fn read_analysis(source: &dyn ByteSource) -> Result<Analysis> {
    let (file, database) = (source.name(), Database::open(source)?);
    database.demand_all_pages()?;
    let mut analysis = Analysis::default();
    let columns = ["computing", "communication_not_overlapped", "overlapped", "free", "step"];
    each(&database, file, "StepTraceTime", &columns, |row| {
        let [Some(computing), Some(communication), Some(free)] = [0, 1, 3].map(|nth| row.number(nth)) else {
            return Err(Error::corrupt(file, "has a row in `StepTraceTime` whose numbers cannot be read"));
        };
        if analysis.steps.len() < MOST_STEPS {
            let overlapped = row.number(2).unwrap_or(0.0);
            analysis.steps.push(StepRow { step: row.whole(4), computing, communication, overlapped, free });
        }
        Ok(())
    })?;
    each(&database, file, "CommAnalyzerTime", &["hccl_op_name", "transit_time", "wait_time"], |row| {
        if let (Some(name), Some(transit), Some(wait)) = (row.value(0).as_str(), row.number(1), row.number(2)) {
            add_call(&mut analysis.communication, name, transit, wait);
        }
        Ok(())
    })?;
    Ok(analysis)
}
