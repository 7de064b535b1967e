//! Kind of a table, from its header, and its folder, time stamp and rank, from its path.

/// Byte order mark that the tool writes first.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// First word of every header.
const FIRST_WORD: &[u8] = b"API ";
/// Largest accepted rank; larger numbers are not ranks.
const MOST_RANK: u64 = 1 << 20;
/// Number of digits of a time stamp: year, month, day, hour, minute, second.
const STAMP: usize = 14;

/// Kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableKind {
    /// One row per output, by `acc_check`.
    Details,
    /// One row per operator, by `acc_check`.
    Results,
    /// One row per output, by `api_precision_compare`.
    ComparedDetails,
    /// One row per operator, by `api_precision_compare`.
    ComparedResults,
}

impl TableKind {
    /// All kinds of tables.
    pub const ALL: [Self; 4] = [Self::Details, Self::Results, Self::ComparedDetails, Self::ComparedResults];

    /// Name of the kind in the table of artifacts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Details => "operator details",
            Self::Results => "operator results",
            Self::ComparedDetails => "compared operator details",
            Self::ComparedResults => "compared operator results",
        }
    }

    /// Whether it is a table of `acc_check`.
    pub(crate) fn is_acc_check(self) -> bool {
        matches!(self, Self::Details | Self::Results)
    }

    /// Kind of the table at `path` that begins with `head`; `None` for any other file.
    ///
    /// The header decides. Both programs write tables of results with nearly the same header: `acc_check` calls the first
    /// column `API name`, `api_precision_compare` calls it `API Name`. For these tables the usual file name takes precedence. A
    /// file that is empty or cut within its header is recognised only by its name.
    pub fn recognise(path: &str, head: &[u8]) -> Option<Self> {
        let text = head.strip_prefix(MARK).unwrap_or(head);
        let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        let named = Self::of_name(path);
        if named.is_none() && !begins_as_header(line) {
            return None;
        }
        let cells = header(line);
        let has = |name: &str| cells.iter().any(|cell| cell == name);
        let first = cells.first().map_or("", String::as_str);
        if !first.eq_ignore_ascii_case("API Name") {
            named.filter(|_| is_cut(line, text))
        } else if has("DEVICE Dtype") && has("Shape") && has("Status") {
            Some(Self::Details)
        } else if has("比对结果") {
            Some(Self::ComparedDetails)
        } else if has("Forward Test Success") && has("Backward Test Success") {
            let by_header = if first == "API name" { Self::Results } else { Self::ComparedResults };
            let is_result = |kind: &Self| matches!(kind, Self::Results | Self::ComparedResults);
            Some(named.filter(is_result).unwrap_or(by_header))
        } else {
            named.filter(|_| is_cut(line, text))
        }
    }

    fn of_name(path: &str) -> Option<Self> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let begins = |start: &str| file.starts_with(start) && file.ends_with(".csv");
        if begins("accuracy_checking_details") {
            Some(Self::Details)
        } else if begins("accuracy_checking_result") {
            Some(Self::Results)
        } else if begins("api_precision_compare_details") {
            Some(Self::ComparedDetails)
        } else if begins("api_precision_compare_result") {
            Some(Self::ComparedResults)
        } else {
            None
        }
    }
}

/// Whether a line may be a header, because it starts with the first word of all headers.
fn begins_as_header(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    line.get(..FIRST_WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(FIRST_WORD))
}

/// Whether a file ends within its first line.
fn is_cut(line: &[u8], text: &[u8]) -> bool {
    line.len() == text.len()
}

/// Cells of a header; empty if the line cannot be parsed.
fn header(line: &[u8]) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line);
    let record = reader.records().next().and_then(Result::ok);
    record.map(|record| record.iter().map(|cell| cell.trim().to_owned()).collect()).unwrap_or_default()
}

/// Path of a table in a run's folder, and the facts in that path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorPlace {
    /// Path, relative to the side's root.
    pub path: String,
    /// Folder of the file; empty for the root.
    pub folder: String,
    /// Time stamp in the file's name; empty if there is none.
    pub stamp: String,
    /// Rank or device in the name of a folder or the file; `None` if there is none.
    pub rank: Option<u64>,
    /// Kind of table.
    pub kind: TableKind,
}

impl OperatorPlace {
    /// Reads the facts in the `path` of a table of `kind`.
    pub fn from_path(path: &str, kind: TableKind) -> Self {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let digits = |text: &&str| text.len() == STAMP && text.bytes().all(|byte| byte.is_ascii_digit());
        let stamp = file.split(|letter: char| !letter.is_ascii_digit()).find(digits).unwrap_or_default();
        let stem = file.strip_suffix(".csv").unwrap_or(file);
        let rank = std::iter::once(stem).chain(folder.rsplit('/')).find_map(rank_of);
        Self { path: path.to_owned(), folder: folder.to_owned(), stamp: stamp.to_owned(), rank, kind }
    }
}

/// Rank in a name such as `rank3`, `npu_rank_3` or `accuracy_checking_details_20261122123053_rank3`.
fn rank_of(name: &str) -> Option<u64> {
    let after = name.rsplit_once("rank")?.1;
    let digits = after.strip_prefix(['_', '-']).unwrap_or(after);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    let rank = digits.get(..end)?.parse().ok();
    rank.filter(|rank| *rank < MOST_RANK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_kind() {
        let of = |path: &str, head: &str| TableKind::recognise(path, head.as_bytes());
        let results = "\u{feff}API name,Forward Test Success,Backward Test Success,Message\r\n";
        assert_eq!(of("x.csv", results), Some(TableKind::Results));
        let compared = results.replace("API name", "API Name");
        assert_eq!(of("x.csv", &compared), Some(TableKind::ComparedResults));
        assert_eq!(of("a/accuracy_checking_result_1.csv", &compared), Some(TableKind::Results));
        let details = "\u{feff}API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,Status,Message\n";
        assert_eq!(of("x.csv", details), Some(TableKind::Details));
        assert_eq!(of("x.csv", "API Name,比对结果,比对算法,Message\n"), Some(TableKind::ComparedDetails));
        assert_eq!(of("x.csv", "API Name,Latency\n"), None);
        assert_eq!(of("x.csv", "step,loss\n1,2\n"), None);
        assert_eq!(of("accuracy_checking_details_1.csv", ""), Some(TableKind::Details));
        assert_eq!(of("accuracy_checking_details_1.csv", "API Name,Ben"), Some(TableKind::Details));
        assert_eq!(of("accuracy_checking_details_1.csv", "step,loss\n1,2\n"), None);
    }

    #[test]
    fn folder_stamp_and_rank_stand_in_the_path() {
        let place =
            OperatorPlace::from_path("node/rank_3/accuracy_checking_details_20261122123053.csv", TableKind::Details);
        assert_eq!(
            (place.folder.as_str(), place.stamp.as_str(), place.rank),
            ("node/rank_3", "20261122123053", Some(3))
        );
        let place = OperatorPlace::from_path("accuracy_checking_details_20261122123053_rank7.csv", TableKind::Details);
        assert_eq!((place.stamp.as_str(), place.rank), ("20261122123053", Some(7)));
        assert_eq!(OperatorPlace::from_path("details.csv", TableKind::Details).rank, None);
    }
}
