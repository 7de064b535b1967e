//! Manifests of digests: JSON with a row per tensor, or JSON lines with a row each. Facts about all rows (`step` or `version`,
//! `role`, `rank`) may be in a row, in an object around the rows, or in the path.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::place;
use super::record::{DigestKind, SyncDamage, SyncRecord, SyncRecords, SyncStage, SyncTensors, TensorDigest, WHOLE};
use crate::error::Result;
use crate::fetch::{MemorySource, Source, read_all};
use crate::read::json::{Json, Parser};

/// Largest manifest in bytes, for about 200 000 tensors.
const MOST_BYTES: u64 = 64 << 20;
/// Deepest nesting in which rows are searched.
const MAX_DEPTH: usize = 6;
/// Largest distance in bytes between a name and its digest.
const NEAR: usize = 2 << 10;
/// Advice for a manifest that does not say whether tensors were sent or received.
const NAME_THE_END: &str = "write `role: sender` or `role: receiver` into it, or name the file so";
/// Advice for invalid digests.
const WRITE_DIGESTS: &str = "write the SHA-256 or MD5 of the tensor's bytes as hexadecimal digits";

const KINDS: [DigestKind; 3] = [DigestKind::Sha256, DigestKind::Md5, DigestKind::Hash];

/// Whether a text looks like a manifest: near a name there are a digest and a type or shape.
pub(super) fn is_manifest(head: &[u8]) -> bool {
    if !matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return false;
    }
    let Some(at) = memchr::memmem::find(head, b"\"name\"") else { return false };
    let near = head.get(at.saturating_sub(NEAR)..head.len().min(at + NEAR)).unwrap_or_default();
    let has = |word: &[u8]| memchr::memmem::find(near, word).is_some();
    let (dtype, shape) = (has(b"\"dtype\""), has(b"\"shape\""));
    (has(b"\"sha256\"") || has(b"\"md5\"")) && (dtype || shape) || has(b"\"hash\"") && dtype && shape
}

/// Reads a manifest into records. If it is cut, the rows before the cut are read.
pub(super) fn read(path: &str, source: &Source, records: &mut SyncRecords) {
    let damage = |reason: String, help, count| SyncDamage { path: path.to_owned(), reason, help, count };
    let bytes = match read_all(source.as_ref(), MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return records.damages.push(damage(error.message().to_owned(), WHOLE, 1)),
    };
    let mut rows = Rows::default();
    for reason in rows.read(path, bytes) {
        records.damages.push(damage(reason, WHOLE, 1));
    }
    let Rows { found, broken, nameless } = rows;
    if let Some((first, count)) = broken {
        let reason = format!("the digest of `{first}` is none ({count} such)");
        records.damages.push(damage(reason, WRITE_DIGESTS, count));
    }
    if nameless > 0 {
        records.damages.push(damage(format!("{nameless} of its rows lack a name or a digest"), WHOLE, nameless));
    }
    let mut groups: BTreeMap<(SyncStage, u64, Option<u64>), Vec<TensorDigest>> = BTreeMap::new();
    let mut endless = 0_u64;
    for Row { context, digest } in found {
        let Some(stage) = context.stage.or_else(|| place::stage(path)) else {
            endless += 1;
            continue;
        };
        let step = context.step.or(context.version).or_else(|| place::step(path)).unwrap_or(0);
        groups.entry((stage, step, context.rank.or_else(|| place::rank(path)))).or_default().push(digest);
    }
    if endless > 0 {
        let reason = format!("nothing says whether its {endless} tensors were sent or received");
        records.damages.push(damage(reason, NAME_THE_END, endless));
    }
    for ((stage, step, rank), rows) in groups {
        let tensors = SyncTensors::Digests(rows);
        records.records.push(SyncRecord { path: path.to_owned(), stage, step, rank, tensors });
    }
}

/// Facts that apply to the rows in the same object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Context {
    stage: Option<SyncStage>,
    step: Option<u64>,
    /// Version of the weights, which is used if no step is given.
    version: Option<u64>,
    rank: Option<u64>,
}

impl Context {
    /// Fills unknown facts from `other`.
    fn or(self, other: Self) -> Self {
        Self {
            stage: self.stage.or(other.stage),
            step: self.step.or(other.step),
            version: self.version.or(other.version),
            rank: self.rank.or(other.rank),
        }
    }

    fn take(&mut self, key: &str, value: &Json) {
        let number =
            || value.as_i64().or_else(|| value.as_str()?.parse().ok()).and_then(|number| number.try_into().ok());
        match key {
            "role" | "end" | "side" | "stage" => {
                self.stage = value.as_str().and_then(place::stage).or(self.stage);
            }
            "step" | "global_step" => self.step = number().or(self.step),
            "version" | "weight_version" => self.version = number().or(self.version),
            "rank" => self.rank = number().or(self.rank),
            _ => {}
        }
    }
}

/// A row with the facts that apply to it.
#[derive(Debug)]
struct Row {
    context: Context,
    digest: TensorDigest,
}

/// Rows found so far.
#[derive(Default)]
struct Rows {
    found: Vec<Row>,
    /// Name of the first row with an invalid digest, and the number of such rows.
    broken: Option<(String, u64)>,
    /// Number of rows without a name or a digest.
    nameless: u64,
}

impl Rows {
    /// Reads one document, or JSON lines one after the other; returns messages about unreadable parts.
    fn read(&mut self, path: &str, bytes: Vec<u8>) -> Vec<String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(bytes);
        let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
        let is_lines = serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok()
            && first.trim_ascii().len() < bytes.trim_ascii().len();
        if !is_lines {
            return self.document(path, bytes).err().into_iter().collect();
        }
        let lines = bytes.split(|byte| *byte == b'\n').zip(1_u64..).filter(|(line, _)| !line.trim_ascii().is_empty());
        let read = lines.map(|(line, number)| self.document(path, line.to_vec()).map_err(|reason| (number, reason)));
        let wrong: Vec<(u64, String)> = read.filter_map(std::result::Result::err).collect();
        let Some((number, reason)) = wrong.first() else { return Vec::new() };
        vec![format!("line {number} cannot be read ({} such): {reason}", wrong.len())]
    }

    fn document(&mut self, path: &str, bytes: Vec<u8>) -> std::result::Result<(), String> {
        let source: Source = Arc::new(MemorySource::new(path, bytes));
        let mut parser = Parser::new(source.as_ref());
        let read = self.walk(&mut parser, 0).and_then(|_| parser.end());
        read.map_err(|error| error.message().to_owned())
    }

    /// Searches a value for rows.
    fn walk(&mut self, parser: &mut Parser<'_>, depth: usize) -> Result<()> {
        match parser.peek()? {
            Some(b'[') if depth < MAX_DEPTH => parser.array(|parser| self.walk(parser, depth + 1)),
            Some(b'{') if depth < MAX_DEPTH => self.object(parser, depth),
            _ => parser.value().map(drop),
        }
    }

    fn object(&mut self, parser: &mut Parser<'_>, depth: usize) -> Result<()> {
        let start = self.found.len();
        let (mut context, mut draft) = (Context::default(), Draft::default());
        let read = parser.object(|key, parser| {
            let is_shape = key == "shape";
            if !is_shape && matches!(parser.peek()?, Some(b'[' | b'{')) {
                return self.walk(parser, depth + 1);
            }
            let value = parser.value()?;
            context.take(&key, &value);
            draft.take(&key, &value);
            Ok(())
        });
        if read.is_ok() {
            self.finish(draft, context);
        }
        // Facts before or after the rows in the same object apply to them, even if the object is cut.
        for row in self.found.iter_mut().skip(start) {
            row.context = row.context.or(context);
        }
        read
    }

    fn finish(&mut self, draft: Draft, context: Context) {
        let Draft { name, dtype, shape, digest, is_row } = draft;
        match (name, digest) {
            (Some(name), Some((kind, value))) => match normal_digest(kind, &value) {
                Some(value) => {
                    self.found.push(Row { context, digest: TensorDigest { name, dtype, shape, kind, value } });
                }
                None => self.broken.get_or_insert((name, 0)).1 += 1,
            },
            _ if is_row => self.nameless += 1,
            _ => {}
        }
    }
}

/// A row while it is read.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    dtype: Option<String>,
    shape: Option<Vec<u64>>,
    digest: Option<(DigestKind, String)>,
    /// Whether it has a key that only rows have.
    is_row: bool,
}

impl Draft {
    fn take(&mut self, key: &str, value: &Json) {
        let text = || value.as_str().map(str::to_owned);
        match key {
            "name" => self.name = text(),
            "dtype" => self.dtype = text(),
            "shape" => {
                let lengths = value.as_array().unwrap_or_default().iter();
                self.shape = lengths.map(|length| length.as_i64()?.try_into().ok()).collect();
            }
            _ => {
                let Some(kind) = KINDS.into_iter().find(|kind| kind.key() == key) else { return };
                let given = text().or_else(|| value.as_i64().map(|number| number.to_string()));
                // If a row has several digests, the strongest kind counts.
                if self.digest.as_ref().is_none_or(|(known, _)| kind < *known) {
                    self.digest = Some((kind, given.unwrap_or_default()));
                }
            }
        }
        self.is_row |= matches!(key, "dtype" | "shape") || KINDS.iter().any(|kind| kind.key() == key);
    }
}

/// Digest in lower case without a prefix; `None` if it is invalid for its kind.
fn normal_digest(kind: DigestKind, value: &str) -> Option<String> {
    let plain = value.trim().to_ascii_lowercase();
    let plain = plain.strip_prefix(kind.key()).map_or(plain.as_str(), |rest| rest.trim_start_matches([':', '-']));
    let is_sound = match kind.digits() {
        Some(digits) => plain.len() == digits && plain.bytes().all(|digit| digit.is_ascii_hexdigit()),
        None => !plain.is_empty(),
    };
    is_sound.then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(path: &str, text: &str) -> SyncRecords {
        let source: Source = Arc::new(MemorySource::new(path, text.as_bytes().to_vec()));
        let mut records = SyncRecords::default();
        read(path, &source, &mut records);
        records
    }

    fn row(name: &str, more: &str) -> String {
        format!(r#"{{"name": "{name}", "dtype": "bfloat16", "shape": [2, 2], "md5": "{}"{more}}}"#, "ab".repeat(16))
    }

    #[test]
    fn what_holds_for_all_rows_may_stand_behind_them() {
        let text = format!(r#"{{"tensors": [{}, {}], "version": 3, "role": "trainer"}}"#, row("a", ""), row("b", ""));
        assert!(is_manifest(text.as_bytes()));
        let records = read_text("x.json", &text);
        let [record] = records.records.as_slice() else { panic!("one record") };
        assert_eq!((record.stage, record.step, record.rank), (SyncStage::Sent, 3, None));
        assert_eq!(record.digests().map(<[_]>::len), Some(2));
        assert!(records.damages.is_empty());
    }

    #[test]
    fn lines_may_be_of_several_steps_and_ends() {
        let line = |name, step, role| row(name, &format!(r#", "step": {step}, "role": "{role}", "rank": 1"#)) + "\n";
        let text = line("a", 1, "sender") + &line("a", 1, "engine") + &line("a", 2, "sender");
        let records = read_text("sync.jsonl", &text);
        let stages: Vec<_> = records.records.iter().map(|record| (record.stage, record.step, record.rank)).collect();
        assert_eq!(
            stages,
            [(SyncStage::Sent, 1, Some(1)), (SyncStage::Sent, 2, Some(1)), (SyncStage::Received, 1, Some(1))]
        );
    }

    #[test]
    fn a_cut_gives_the_rows_before_it() {
        let document = format!(r#"{{"version": 1, "tensors": [{}, {{"name": "b", "dty"#, row("a", ""));
        let lines = format!("{}\n{{\"name\": \"b\", \"dty", row("a", ""));
        for text in [document, lines] {
            let records = read_text("trainer_step1.json", &text);
            assert_eq!(records.records[0].digests().map(<[_]>::len), Some(1), "{text}");
            assert_eq!(records.damages.len(), 1);
        }
    }

    #[test]
    fn a_digest_that_is_none_and_an_unknown_end_are_told() {
        let bad = r#"{"tensors": [{"name": "a", "dtype": "f32", "shape": [1], "sha256": "xyz"}, {"dtype": "f32"}]}"#;
        let records = read_text("sender.json", bad);
        assert!(records.records.is_empty());
        let reasons: Vec<&str> = records.damages.iter().map(|damage| damage.reason.as_str()).collect();
        assert_eq!(reasons, ["the digest of `a` is none (1 such)", "1 of its rows lack a name or a digest"]);
        let endless = read_text("weights.json", &format!("[{}]", row("a", "")));
        assert_eq!(endless.damages[0].help, NAME_THE_END);
    }
}
