//! `results/<model>/<dataset>.json`: scores, and optionally details with each answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::document;
use super::super::question::TextPlace;
use super::super::samples;
use super::super::unread::{self, number};
use super::draft::Draft;
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::kind::SampleId;
use crate::read::account::UnreadNumbers;
use crate::read::json::{Json, Parser};

/// Scores and details of one data set.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Scores as they are written, in the file's order.
    pub(super) scores: Vec<(String, f64)>,
    /// Samples of the details.
    pub(super) details: BTreeMap<SampleId, Draft>,
    /// Numbers that became no score.
    pub(super) account: UnreadNumbers,
}

impl Results {
    /// Reads a file of results.
    ///
    /// # Errors
    /// If the JSON is damaged or has no score.
    pub(super) fn read(path: &str, source: &dyn ByteSource) -> Result<Self> {
        document::check_size(source)?;
        let name: Arc<str> = Arc::from(path);
        let mut parser = Parser::at(source, document::content_start(source)?);
        let mut results = Self::default();
        let mut failure = None;
        parser.object(|key, parser| {
            if key == "details" {
                results.details = read_entries(&name, parser)?;
                return Ok(());
            }
            match parser.value()? {
                Json::Text(text) if key == "error" => failure = Some(text),
                value => match number(&value) {
                    Some(value) => results.scores.push((key, value)),
                    None => unread::note(&mut results.account, &Json::Object(vec![(key, value)])),
                },
            }
            Ok(())
        })?;
        parser.end()?;
        if results.scores.is_empty() {
            let reason = failure.map_or_else(String::new, |text| format!(": {text}"));
            return Err(Error::corrupt(source.name(), format!("expected a score, found none{reason}")));
        }
        Ok(results)
    }
}

/// Reads samples from an object with an entry per index, or from a list. Entries that are not objects are skipped.
pub(super) fn read_entries(path: &Arc<str>, parser: &mut Parser<'_>) -> Result<BTreeMap<SampleId, Draft>> {
    let mut drafts = BTreeMap::new();
    let mut one = |id: SampleId, parser: &mut Parser<'_>| {
        parser.peek()?;
        let offset = parser.offset();
        let entry = parser.value()?;
        let len = parser.offset() - offset;
        if entry.as_object().is_some() {
            drafts.insert(id, Draft::from_entry(&entry, TextPlace::Line { path: path.clone(), offset, len }));
        }
        Ok(())
    };
    match parser.peek()? {
        Some(b'{') => parser.object(|key, parser| one(samples::sample_id(key.as_bytes()), parser))?,
        Some(b'[') => {
            let mut number = 0;
            parser.array(|parser| {
                number += 1;
                one(SampleId::Number(number - 1), parser)
            })?;
        }
        _ => {
            parser.value()?;
        }
    }
    Ok(drafts)
}
