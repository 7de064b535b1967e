//! `signoff.md` and `signoff.html`: the documents that people read and sign.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::Signoff;
use super::input::LoadedResult;
use crate::error::Result;
use crate::report::escape::TextTarget;
use crate::report::messages::Language;
use crate::report::pictures::{data_address, draw_run_pictures};
use crate::report::templates::Templates;
use crate::report::view::View;
use crate::report::writer::Writer;

/// The document in Markdown, without pictures.
pub fn markdown(
    signoff: &Signoff,
    loaded: &[LoadedResult],
    language: Language,
    templates: &Templates,
) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Markdown);
    let text = writer.document(&templates.signoff, template_context(signoff, loaded, &writer)?)?;
    Ok(crate::report::summary::tidy(&text))
}

/// The document as one self-contained page, with its pictures.
pub fn page(signoff: &Signoff, loaded: &[LoadedResult], language: Language, templates: &Templates) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Html);
    writer.document(&templates.signoff_page, template_context(signoff, loaded, &writer)?)
}

fn template_context(signoff: &Signoff, loaded: &[LoadedResult], writer: &Writer) -> Result<Value> {
    let mut suites = Vec::new();
    for (suite, loaded) in signoff.suites.iter().zip(loaded) {
        let names = Writer::from_result(&loaded.result, writer.language(), writer.target());
        let view = View::new(&loaded.result, &names)?;
        suites.push(context! {
            suite => Value::from(Serde(suite)),
            view => Value::from(Serde(&view)),
            pictures => pictures(loaded, writer)?,
        });
    }
    Ok(context! {
        language => writer.language().tag(),
        signoff => Value::from(Serde(signoff)),
        suites,
    })
}

/// Pictures of a result as `data:` addresses; a page alone shows them.
fn pictures(loaded: &LoadedResult, writer: &Writer) -> Result<Vec<Value>> {
    if writer.target() != TextTarget::Html {
        return Ok(Vec::new());
    }
    let drawn = draw_run_pictures(&loaded.result, writer.language())?;
    Ok(drawn.iter().map(|picture| context! { name => picture.name(), url => data_address(&picture.png) }).collect())
}
