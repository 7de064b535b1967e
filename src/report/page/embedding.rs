//! A page in the making, into which JSON is written.

use std::borrow::Cow;
use std::io::Write;

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::report::escape;

/// Writer of a page.
pub(super) struct Embedding<'a>(pub(super) &'a mut dyn Write);

impl Embedding<'_> {
    pub(super) fn written(&mut self, text: &str) -> Result<()> {
        self.0.write_all(text.as_bytes()).map_err(|error| Error::io("report.html", &error))
    }

    pub(super) fn embedded(&mut self, json: &str) -> Result<()> {
        self.written(&embeddable(json))
    }

    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let json =
            serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Internal, "report.html", error))?;
        self.embedded(&json)
    }
}

/// JSON that cannot end the element it stands in, without characters that would reorder or hide text.
pub(super) fn embeddable(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| byte.is_ascii() && byte != b'<') {
        return json.into();
    }
    let mut safe = String::with_capacity(json.len() + json.len() / 64);
    for character in json.chars().filter(|character| escape::is_shown(*character)) {
        match character {
            '<' => safe.push_str("\\u003c"),
            other => safe.push(other),
        }
    }
    safe.into()
}
