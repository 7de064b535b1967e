//! `predictions/<model>/<dataset>.jsonl` of AISBench and `.json` of OpenCompass: prompts and answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::cursor::{Cursor, Parsed};
use super::super::damage::EvaluationDamage;
use super::super::digest::Digest;
use super::super::document;
use super::super::lines::Line;
use super::super::samples;
use super::draft::Draft;
use super::results;
use crate::error::Result;
use crate::fetch::{ByteSource, Source};
use crate::kind::SampleId;
use crate::read::json::Parser;

/// Bytes at the start of a file that decide whether it holds lines or one object. The first key is within them.
const HEAD: u64 = 4096;

/// Predictions of one file.
#[derive(Debug, Default)]
pub(super) struct Predictions {
    pub(super) drafts: BTreeMap<SampleId, Draft>,
    pub(super) damages: Vec<EvaluationDamage>,
}

impl Predictions {
    /// Reads a file in either form. Unreadable parts are recorded as damage.
    pub(super) fn read(path: &Arc<str>, source: &Source) -> Self {
        if !is_object(source.as_ref()) {
            return Self::lines(path, source.as_ref());
        }
        match Self::object(path, source.as_ref()) {
            Ok(drafts) => Self { drafts, damages: Vec::new() },
            Err(error) => {
                let damage =
                    EvaluationDamage { path: path.to_string(), line: None, reason: error.message().to_owned() };
                Self { drafts: BTreeMap::new(), damages: vec![damage] }
            }
        }
    }

    fn object(path: &Arc<str>, source: &dyn ByteSource) -> Result<BTreeMap<SampleId, Draft>> {
        document::check_size(source)?;
        let mut parser = Parser::at(source, document::content_start(source)?);
        let drafts = results::read_entries(path, &mut parser)?;
        parser.end()?;
        Ok(drafts)
    }

    fn lines(path: &Arc<str>, source: &dyn ByteSource) -> Self {
        let mut drafts: BTreeMap<SampleId, Draft> = BTreeMap::new();
        let read = |line: &Line<'_>, bytes: &[u8]| {
            let (id, mut draft) = line_of(bytes).map_err(|fault| fault.reason())?;
            draft.texts = Some(samples::line_place(path, line));
            Ok((id.ok_or("expected `id`, found none")?, draft))
        };
        let damages = samples::read_each_line(path, source, read, |(id, draft)| {
            // A request that was tried again occurs twice; the last try counts.
            drafts.insert(id, draft);
        });
        Self { drafts, damages }
    }
}

/// Whether a file is one object with an entry per index, which means that its first key is a number.
fn is_object(source: &dyn ByteSource) -> bool {
    let len = usize::try_from(source.len().min(HEAD)).unwrap_or(0);
    let mut head = vec![0; len];
    if source.read_at(0, &mut head).is_err() {
        return false;
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    let key = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).and_then(|rest| rest.strip_prefix(b"\""));
    key.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
}

fn line_of(bytes: &[u8]) -> Parsed<(Option<SampleId>, Draft)> {
    let (mut id, mut draft) = (None, Draft::default());
    let mut cursor = Cursor::new(bytes);
    cursor.object(|key, cursor| {
        let digest = |cursor: &mut Cursor<'_>| {
            let mut digest = Digest::default();
            digest.add_value(cursor)?;
            Ok(digest.finish())
        };
        match key {
            "id" => id = Some(samples::sample_id(cursor.raw()?)),
            "success" => draft.is_failed = cursor.raw()? == b"false",
            "origin_prompt" => draft.prompt = digest(cursor)?,
            "prediction" => draft.answer = digest(cursor)?,
            "gold" => draft.target = digest(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    cursor.end()?;
    Ok((id, draft))
}
