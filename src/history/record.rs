//! The record of a run: one immutable JSON file.
//!
//! Its path is `<suite>/<time>-<commit>-<digest>.json`: sorted by name, the records of a suite are sorted by time, and as
//! the digest is that of the content, two runs never write the same file unless they say the same. A record read back is
//! untrusted: whoever may write to the place may have written anything.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Digest;
use crate::result::history::{Case, Suite};
use crate::result::number::Number;
use crate::result::outcome::{LimitDirection, RuleKind};
use crate::verdict::{CheckId, Profile, Severity, Verdict};

/// Version of a record's layout.
pub(crate) const LAYOUT: u32 = 1;
/// Largest record that is read: a run of a thousand ranks takes a tenth of it.
pub(crate) const LARGEST: u64 = 16 << 20;

/// Digits of a commit in a file's name.
const COMMIT_DIGITS: usize = 12;
/// Digits of the content's digest in a file's name.
const DIGEST_DIGITS: usize = 12;
/// Part of a file's name in place of an unknown commit.
const NO_COMMIT: &str = "unknown";

/// Record of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this layout.
    pub schema_version: u32,
    /// The suite.
    pub suite: Suite,
    /// Time at which the run was judged, to the millisecond.
    pub time: Timestamp,
    /// The commit judged; empty where it is not known.
    pub commit: String,
    /// `owner/name` of its repository; empty where it is not known.
    pub repository: String,
    /// The job's page; empty where it is not known.
    pub run: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Profile that the gate ran under.
    pub profile: Profile,
    /// Version of the gate.
    pub tool: String,
    /// The trusted run.
    pub baseline: RecordedBaseline,
    /// The candidate's label.
    pub candidate: String,
    /// Known facts about the candidate's environment.
    #[serde(flatten)]
    pub facts: EnvironmentFacts,
    /// Digest of the policy file's text; empty where there is none.
    pub policy: String,
    /// First wrong operation; absent where none was found.
    pub culprit: Option<RecordedCulprit>,
    /// Rules that block; empty where none does.
    pub failing: Vec<Case>,
    /// Every rule with its value and limits, and counts of what was compared.
    pub measures: Vec<RecordedMeasure>,
    /// Findings by code.
    pub findings: BTreeMap<String, FindingCount>,
}

/// The trusted run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedBaseline {
    /// Its label.
    pub label: String,
    /// Digest of what was judged.
    pub digest: String,
    /// Its name, where it was named by a manifest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Digest of its manifest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manifest: String,
}

/// Surroundings of a run, from artifacts and manifest; empty where these are silent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentFacts {
    /// Versions by package or part: `torch`, `torch-npu`, `cann`, `driver`, `python`, `image`.
    pub versions: BTreeMap<String, String>,
    /// Environment variables that change numbers: the gate's watch list and the policy's.
    pub environment: BTreeMap<String, String>,
    /// Digests of what is too long to be kept: all `packages`, `settings`, and data and weights (`inputs`).
    pub digests: BTreeMap<String, String>,
}

/// The culprit, reduced to what can be compared between runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCulprit {
    /// The step.
    pub step: u64,
    /// The rank; null where there is only one process.
    pub rank: Option<u64>,
    /// The operation.
    pub op: String,
    /// The tensor that differs first.
    pub tensor: String,
    /// The finding's code.
    pub code: String,
}

/// One value of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedMeasure {
    /// The check.
    pub check: CheckId,
    /// A metric, a step and rank, a checkpoint, a checker.
    pub unit: String,
    /// The rule's name, or what is counted: `compared`, `not_compared`, `findings` ...
    pub rule: String,
    /// The value; null where it could not be measured.
    pub value: Option<Number>,
    /// Warns beyond this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn: Option<Number>,
    /// Fails beyond this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<Number>,
    /// On which side of its limits the value has to lie; absent where there is none, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<LimitDirection>,
    /// Verdict of the rule; for a count, of its unit.
    pub verdict: Verdict,
}

impl RecordedMeasure {
    /// On which side of its limits the value has to lie; by the rule's name where the record does not say.
    pub fn direction(&self) -> LimitDirection {
        self.direction.unwrap_or_else(|| RuleKind::held(&self.rule).1)
    }
}

/// Number of findings of one code in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingCount {
    /// The check that says it.
    pub check: CheckId,
    /// Its largest weight.
    pub severity: Severity,
    /// Number of findings.
    pub count: u64,
}

impl Record {
    /// Whether the run's verdict blocks.
    pub fn blocks(&self) -> bool {
        self.verdict.blocks()
    }

    /// The record's path and bytes.
    ///
    /// # Errors
    /// `LimitExceeded` where it is larger than what is read back.
    pub fn encode(&self) -> Result<(String, Vec<u8>)> {
        let failed = |error| Error::new(ErrorKind::Internal, "record", error);
        let mut bytes = serde_json::to_vec_pretty(self).map_err(failed)?;
        bytes.push(b'\n');
        let path = format!("{}/{}", self.suite, self.file_name(&bytes));
        if bytes.len() as u64 > LARGEST {
            let message = format!("{} bytes, and a record is read up to {LARGEST}", bytes.len());
            return Err(Error::new(ErrorKind::LimitExceeded, path, message));
        }
        Ok((path, bytes))
    }

    fn file_name(&self, bytes: &[u8]) -> String {
        let is_commit = self.commit.len() >= COMMIT_DIGITS && self.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let commit = self.commit.get(..COMMIT_DIGITS).filter(|_| is_commit);
        let commit = commit.map_or_else(|| NO_COMMIT.to_owned(), str::to_ascii_lowercase);
        format!("{}-{commit}-{}.json", stamp(self.time), short_digest(bytes))
    }

    /// Reads the record at `path`.
    ///
    /// # Errors
    /// `Unsupported` for a later layout, `Corrupt` where it is no record, was changed since it was written, or belongs to
    /// another suite.
    pub fn decode(path: &str, bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let damaged = |message: String| {
            Error::corrupt(path, message).with_help("remove it; the other records are read all the same")
        };
        let version = serde_json::from_slice::<Version>(bytes).map(|version| version.schema_version);
        if let Some(other) = version.ok().filter(|version| *version != LAYOUT) {
            let error = Error::unsupported(path, format!("has layout {other}; this version reads {LAYOUT}"));
            return Err(error.with_help("a later version of precision-gate wrote it: update this one"));
        }
        let record: Self =
            serde_json::from_slice(bytes).map_err(|error| damaged(format!("is not a record: {error}")))?;
        let entry = RecordEntry::from_path(path).ok_or_else(|| damaged("has no record's name".into()))?;
        if entry.suite != record.suite {
            return Err(damaged(format!("says it belongs to the suite `{}`", record.suite)));
        }
        if !path.ends_with(&format!("/{}", record.file_name(bytes))) {
            return Err(damaged("was changed since it was written: its name does not fit its content".into()));
        }
        Ok(record)
    }
}

/// A record that is not read yet, with the facts from its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordEntry {
    /// The suite.
    pub suite: Suite,
    /// Time at which the run was judged.
    pub time: Timestamp,
    /// The path, from the place's root.
    pub path: String,
}

impl RecordEntry {
    /// Time, commit and suite from a path; `None` for a file that is not a record.
    pub fn from_path(path: &str) -> Option<Self> {
        let (suite, name) = path.split_once('/')?;
        let (time, rest) = name.strip_suffix(".json")?.split_once('-')?;
        let (commit, digest) = rest.split_once('-')?;
        let hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hex(digest, DIGEST_DIGITS) || !(commit == NO_COMMIT || hex(commit, COMMIT_DIGITS)) {
            return None;
        }
        Some(Self { suite: suite.parse().ok()?, time: of_stamp(time)?, path: path.to_owned() })
    }
}

/// A time as in file names: `20261121T020000.000Z`.
fn stamp(time: Timestamp) -> String {
    time.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
}

/// The time of a stamp; `None` for any other text, even one that denotes a time.
fn of_stamp(text: &str) -> Option<Timestamp> {
    let part = |from: usize, to: usize| text.get(from..to);
    let spelled = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(9, 11)?,
        part(11, 13)?,
        part(13, text.len().checked_sub(1)?)?
    );
    spelled.parse().ok().filter(|time| stamp(*time) == text)
}

fn short_digest(bytes: &[u8]) -> String {
    let mut digits = Digest::of(bytes).hex();
    digits.truncate(DIGEST_DIGITS);
    digits
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record of night `night` of November, with what `failing` says.
    pub(crate) fn record(night: u32, failing: &[(&str, &str)]) -> Record {
        let failing: Vec<Case> = failing
            .iter()
            .map(|(unit, rule)| Case { check: CheckId::Loss, unit: (*unit).into(), rule: (*rule).into() })
            .collect();
        Record {
            schema_version: LAYOUT,
            suite: "nightly".parse().expect("a suite"),
            time: format!("2026-11-{night:02}T02:00:00Z").parse().expect("a time"),
            commit: format!("{night:02}").repeat(20),
            repository: "acme/model".into(),
            run: String::new(),
            verdict: if failing.is_empty() { Verdict::Pass } else { Verdict::Fail },
            profile: Profile::Default,
            tool: "0.1.0".into(),
            baseline: RecordedBaseline {
                label: "A100".into(),
                digest: "sha256:1".into(),
                ..RecordedBaseline::default()
            },
            candidate: "910B".into(),
            facts: EnvironmentFacts::default(),
            policy: "sha256:2".into(),
            culprit: None,
            measures: vec![RecordedMeasure {
                check: CheckId::Loss,
                unit: "loss".into(),
                rule: "mean_rel".into(),
                value: Some(Number(f64::from(night) / 1e4)),
                warn: Some(Number(0.002)),
                fail: Some(Number(0.01)),
                direction: None,
                verdict: Verdict::Pass,
            }],
            failing,
            findings: BTreeMap::new(),
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was_and_sorts_by_time() {
        let (first, second) = (record(2, &[]), record(11, &[("loss", "mean_rel")]));
        let (path, bytes) = first.encode().expect("encoded");
        assert!(path.starts_with("nightly/20261102T020000.000Z-020202020202-"), "{path}");
        assert_eq!(Record::decode(&path, &bytes).expect("decoded"), first);
        assert_eq!(RecordEntry::from_path(&path).map(|entry| entry.time), Some(first.time));
        assert!(path < second.encode().expect("encoded").0);
    }

    #[test]
    fn what_is_no_record_is_told_apart() {
        let (path, bytes) = record(2, &[]).encode().expect("encoded");
        let text = String::from_utf8(bytes.clone()).expect("UTF-8");
        let elsewhere = path.replace("nightly/", "other/");
        let cases: [(&str, &[u8], &str); 6] = [
            (&path, b"", "is not a record"),
            (&path, b"[[[[", "is not a record"),
            (&path, &bytes[..bytes.len() / 2], "is not a record"),
            (&path, &text.replace("\"pass\"", "\"fail\"").into_bytes(), "was changed"),
            (&path, &text.replace("_version\": 1", "_version\": 2").into_bytes(), "has layout 2"),
            (&elsewhere, &bytes, "belongs to the suite `nightly`"),
        ];
        for (path, bytes, says) in cases {
            let error = Record::decode(path, bytes).expect_err(says);
            assert!(error.message().contains(says), "{error}");
        }
    }

    #[test]
    fn only_names_of_records_are_entries() {
        let (path, _) = record(2, &[]).encode().expect("encoded");
        assert!(RecordEntry::from_path(&path).is_some());
        for other in [
            "README.md",
            "nightly/README.json",
            "nightly/20261102T020000.000Z-020202020202-0123456789ab.json.tmp",
            "nightly/20261302T020000.000Z-020202020202-0123456789ab.json",
            "nightly/20261102T020000.000Z-../../../etc-0123456789ab.json",
            "../20261102T020000.000Z-020202020202-0123456789ab.json",
            "nightly/2026-1102T02000.000Z-020202020202-0123456789ab.json",
        ] {
            assert_eq!(RecordEntry::from_path(other), None, "{other}");
        }
    }
}
