//! The layouts of two runs that shard the same model differently, in one line, and the ranks that hold the culprit.

use minijinja::{Value, context};
use serde::Serialize;

use super::messages::Language;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::layout::{Layout, LayoutSource};
use crate::result::GateResult;
use crate::result::unit::Culprit;

/// Largest number of ranks that are drawn.
const MOST_RANKS: u64 = 64;

/// A rank of the candidate, and whether it holds the culprit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RankBox {
    /// The rank.
    pub rank: u64,
    /// Its place along each axis that the model is sharded along.
    pub place: String,
    /// Whether it holds the culprit.
    pub is_wrong: bool,
}

/// The ranks of the candidate, if some of them but not all hold the culprit; empty otherwise, or if there are too many to draw.
pub(super) fn rank_boxes(result: &GateResult, culprit: &Culprit) -> Vec<RankBox> {
    let Some((layouts, place)) = result.layout.as_ref().zip(culprit.layout.as_ref()) else { return Vec::new() };
    let layout = &layouts.candidate;
    if !(2..=MOST_RANKS).contains(&layout.world()) {
        return Vec::new();
    }
    let told = |rank: u64| {
        let at = layout.place(rank);
        let axes =
            [("tp", layout.tp, at.tp), ("cp", layout.cp, at.cp), ("dp", layout.dp, at.dp), ("pp", layout.pp, at.pp)];
        let cut = axes.into_iter().filter(|(_, size, _)| *size > 1);
        cut.map(|(name, _, index)| format!("{name} {index}")).collect::<Vec<_>>().join(" · ")
    };
    (0..layout.world()).map(|rank| RankBox { rank, place: told(rank), is_wrong: place.ranks.contains(&rank) }).collect()
}

/// The layouts of both sides, and the source that the candidate's layout is known from; `None` if both shard the model alike.
///
/// # Errors
/// Errors of a text.
pub(super) fn layout_note(result: &GateResult, writer: &Writer) -> Result<Option<Value>> {
    let Some(layouts) = result.layout.as_ref().filter(|layouts| !layouts.baseline.cuts_as(&layouts.candidate)) else {
        return Ok(None);
    };
    let source = match layouts.candidate.source {
        LayoutSource::Declared => "layout_declared",
        LayoutSource::Arguments => "layout_arguments",
        LayoutSource::Files => "layout_files",
        LayoutSource::Inferred => "layout_inferred",
    };
    let [baseline, candidate] =
        [&layouts.baseline, &layouts.candidate].map(|layout| safe(in_words(layout, writer.language())));
    let source = safe(writer.word(source)?);
    writer.phrase("layout_line", &context! { baseline, candidate, source }).map(safe).map(Some)
}

/// A layout in a sentence: its axes. The Chinese form has ` + ` in place of commas and begins with a space.
fn in_words(layout: &Layout, language: Language) -> String {
    match language {
        Language::En => layout.to_string(),
        Language::Zh if layout.world() < 2 => "单 rank".to_owned(),
        Language::Zh => format!(" {}", layout.to_string().replace(", ", " + ")),
    }
}
