//! Recognition of files of profiles, by their folder and name, or by their first bytes outside of a profile's folder.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Folder of the profiler's results.
const OUTPUT: &str = "ASCEND_PROFILER_OUTPUT";
/// Ending of the name of a profile's folder.
const FOLDER_END: &str = "_ascend_pt";
/// Most bytes of a packed trace that are unpacked to recognise it.
const MOST_HEAD: u64 = 64 * 1024;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileFileKind {
    /// `step_trace_time.csv`.
    Steps,
    /// `kernel_details.csv`.
    Kernels,
    /// `op_statistic.csv`.
    Totals,
    /// `operator_details.csv`.
    Operators,
    /// `memory_record.csv`.
    Memory,
    /// `communication.json`.
    Communication,
    /// `trace_view.json`.
    Trace,
    /// `ascend_pytorch_profiler*.db`.
    Database,
    /// `analysis.db`.
    Analysis,
    /// `profiler_info*.json`.
    Settings,
    /// PyTorch's own trace.
    GpuTrace,
    /// Any other file of a profile, which is not read.
    Other,
}

impl ProfileFileKind {
    /// All kinds of files.
    pub const ALL: [Self; 12] = [
        Self::Steps,
        Self::Kernels,
        Self::Totals,
        Self::Operators,
        Self::Memory,
        Self::Communication,
        Self::Trace,
        Self::Database,
        Self::Analysis,
        Self::Settings,
        Self::GpuTrace,
        Self::Other,
    ];

    /// Name of the kind in the table of artifacts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steps => "times of steps",
            Self::Kernels => "kernels",
            Self::Totals => "totals of operators",
            Self::Operators => "times of operators",
            Self::Memory => "memory over time",
            Self::Communication => "times of collectives",
            Self::Trace => "trace of an NPU",
            Self::Database | Self::Analysis => "profiler database",
            Self::Settings => "settings of the profiler",
            Self::GpuTrace => "trace of a GPU",
            Self::Other => "file of a profile",
        }
    }

    fn of_name(file: &str) -> Option<Self> {
        let is_like = |start: &str, end: &str| file.starts_with(start) && file.ends_with(end);
        Some(match file {
            "step_trace_time.csv" => Self::Steps,
            "kernel_details.csv" => Self::Kernels,
            "op_statistic.csv" => Self::Totals,
            "operator_details.csv" => Self::Operators,
            "memory_record.csv" => Self::Memory,
            "communication.json" => Self::Communication,
            "trace_view.json" => Self::Trace,
            "analysis.db" => Self::Analysis,
            _ if is_like("ascend_pytorch_profiler", ".db") => Self::Database,
            _ if is_like("profiler_info", ".json") => Self::Settings,
            _ => return None,
        })
    }

    /// Kind of a table in any folder, by its first line.
    fn of_header(head: &[u8]) -> Option<Self> {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let has = |titles: &[&str]| titles.iter().all(|title| memchr::memmem::find(line, title.as_bytes()).is_some());
        if has(&["Step", "Computing", "Communication(Not Overlapped)", "Free"]) {
            Some(Self::Steps)
        } else if has(&["Accelerator Core", "Start Time(us)", "Duration(us)"]) {
            Some(Self::Kernels)
        } else if has(&["OP Type", "Core Type", "Total Time(us)"]) {
            Some(Self::Totals)
        } else if has(&["Host Total Duration(us)", "Device Self Duration(us)"]) {
            Some(Self::Operators)
        } else if has(&["Component", "Timestamp(us)", "Total Allocated(MB)"]) {
            Some(Self::Memory)
        } else {
            None
        }
    }
}

/// A file of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFile {
    /// Path, relative to the side's folder.
    pub path: String,
    /// Folder of the profile, or path of the trace.
    pub profile: String,
    /// Kind of the file.
    pub kind: ProfileFileKind,
}

impl ProfileFile {
    /// File of a profile at `path` that begins with `head`; `None` for any other file. `location` is the given folder of the side,
    /// whose own name counts too.
    pub fn recognise(path: &str, head: &[u8], location: &str) -> Option<Self> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let found = |profile: &str, kind| Some(Self { path: path.to_owned(), profile: profile.to_owned(), kind });
        if is_gpu_trace(file, head) {
            return found(path, ProfileFileKind::GpuTrace);
        }
        if let Some(profile) = folder(path) {
            return found(profile, ProfileFileKind::of_name(file).unwrap_or(ProfileFileKind::Other));
        }
        // The given folder may be the profile itself.
        let named = location.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_inside = named.ends_with(FOLDER_END) || named == OUTPUT;
        let by_header = ProfileFileKind::of_header(head);
        let by_name = ProfileFileKind::of_name(file).filter(|_| is_inside || head.is_empty() && by_header.is_none());
        let own_folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        match (by_header, by_name) {
            (Some(kind), _) => found(own_folder, kind),
            (None, Some(kind)) if is_inside => found(own_folder, kind),
            // An empty table outside of such a folder may belong to another tool.
            _ => None,
        }
    }

    /// Rank in the file's name; `None` if there is none.
    pub fn rank(&self) -> Option<u64> {
        let file = self.path.rsplit('/').next()?;
        let stem = file.rsplit_once('.')?.0;
        let number = match self.kind {
            ProfileFileKind::Settings => stem.strip_prefix("profiler_info_"),
            ProfileFileKind::Database => stem.strip_prefix("ascend_pytorch_profiler_"),
            _ => None,
        };
        number?.parse().ok()
    }
}

/// Folder of the profile that contains a path.
fn folder(path: &str) -> Option<&str> {
    let mut end = 0;
    let mut output = None;
    for part in path.split('/') {
        let start = end;
        end += part.len() + 1;
        let is_last = end > path.len();
        if part.ends_with(FOLDER_END) && !is_last {
            return path.get(..end - 1);
        }
        if part == OUTPUT && !is_last && output.is_none() {
            output = path.get(..start.saturating_sub(1));
        }
    }
    output
}

/// Whether a file is PyTorch's own trace, by its name or its first bytes.
fn is_gpu_trace(file: &str, head: &[u8]) -> bool {
    let is_packed = file.ends_with(".json.gz");
    if file.ends_with(".pt.trace.json") || file.ends_with(".pt.trace.json.gz") {
        return true;
    }
    if !is_packed && !file.ends_with(".json") {
        return false;
    }
    if !is_packed {
        return begins_as_trace(head);
    }
    let mut unpacked = Vec::new();
    // The head is cut, so an error at its end is expected; the bytes before it are unpacked.
    let _cut = MultiGzDecoder::new(head).take(MOST_HEAD).read_to_end(&mut unpacked);
    begins_as_trace(&unpacked)
}

fn begins_as_trace(head: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
    head.trim_ascii_start().starts_with(b"{")
        && (has(b"\"traceEvents\"") || has(b"\"schemaVersion\"") && has(b"\"deviceProperties\""))
}

#[cfg(test)]
mod tests {
    use super::{ProfileFile, ProfileFileKind};

    fn of(path: &str, head: &str, location: &str) -> Option<(String, ProfileFileKind)> {
        ProfileFile::recognise(path, head.as_bytes(), location).map(|file| (file.profile, file.kind))
    }

    #[test]
    fn a_file_in_a_profile_folder_belongs_to_it_whatever_it_holds() {
        let folder = "a/node01_4242_20261121100000000_ascend_pt";
        for (file, kind) in [
            ("ASCEND_PROFILER_OUTPUT/kernel_details.csv", ProfileFileKind::Kernels),
            ("ASCEND_PROFILER_OUTPUT/step_trace_time.csv", ProfileFileKind::Steps),
            ("ASCEND_PROFILER_OUTPUT/loss.csv", ProfileFileKind::Other),
            ("profiler_info_3.json", ProfileFileKind::Settings),
            ("PROF_1/device_0/data.bin", ProfileFileKind::Other),
        ] {
            assert_eq!(of(&format!("{folder}/{file}"), "", "runs"), Some((folder.to_owned(), kind)), "{file}");
        }
        assert_eq!(
            of("x/ASCEND_PROFILER_OUTPUT/analysis.db", "", "runs"),
            Some(("x".to_owned(), ProfileFileKind::Analysis))
        );
    }

    #[test]
    fn a_table_outside_is_known_by_its_titles() {
        let steps = "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n";
        assert_eq!(of("step_trace_time.csv", steps, "runs"), Some((String::new(), ProfileFileKind::Steps)));
        assert_eq!(of("step_trace_time.csv", "step,loss\n1,2\n", "runs"), None);
        let inside = Some((String::new(), ProfileFileKind::Communication));
        assert_eq!(of("communication.json", "{", "runs/ASCEND_PROFILER_OUTPUT/"), inside);
        assert_eq!(of("communication.json", "{", "runs"), None);
    }

    #[test]
    fn a_trace_is_known_by_its_name_or_its_keys() {
        let gpu = |path: &str| Some((path.to_owned(), ProfileFileKind::GpuTrace));
        assert_eq!(of("w.pt.trace.json.gz", "", "runs"), gpu("w.pt.trace.json.gz"));
        assert_eq!(of("t.json", "{\"schemaVersion\": 1, \"deviceProperties\": [", "runs"), gpu("t.json"));
        assert_eq!(of("t.json", "{\"a\": 1}", "runs"), None);
    }
}
