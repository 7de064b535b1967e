//! A run without a verdict: cancelled, refused, or aborted. Check and comment report that; an earlier green state must not look as
//! if it belonged to this run.
//!
//! The check comes first, since a cancelled run is killed some seconds later. If the pull request has a newer commit by then, its
//! comment is not changed, because it belongs to the run of that commit.

use minijinja::context;

use super::comment::{Occasion, digest, foot};
use super::desk::Desk;
use super::status::{Report, State};
use crate::error::Result;
use crate::policy::publish::CommentMode;
use crate::report::escape::Target;
use crate::report::writer::Writer;
use crate::verdict::Verdict;

/// Reason why a run has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody asked the process to end.
    Cancelled,
    /// The run ended with an error: an unreadable policy, missing artifacts, a result that is refused.
    Refused {
        /// The error, without secrets.
        reason: String,
        /// Advice; empty if there is none.
        help: String,
    },
    /// The run ended in an unforeseen way.
    Broken,
}

/// Texts about a run that did not finish.
struct Words {
    title: String,
    text: String,
}

impl Desk {
    /// Reports that there is no verdict, with the reason.
    pub(super) async fn give_up(&mut self, why: &Why) {
        if let Err(failure) = self.know_commit().await {
            self.warn(failure);
        }
        let words = self.words_for(why).unwrap_or_else(|_| Words { title: String::new(), text: String::new() });
        let (title, summary) = (words.title, words.text.clone());
        let report = Report { title, summary, state: State::Unfinished, ..self.blank() };
        self.report(&report).await;
        if self.job.settings.comment == CommentMode::Never && self.forge.labels().is_none() {
            return;
        }
        let Some((pulls, _)) = self.addressees().await else { return };
        let stamp = stamp(why);
        let guessed = self.job.settings.guessed;
        let occasion = if *why == Why::Cancelled || guessed { Occasion::UpdateOnly } else { Occasion::Refused };
        for pull in pulls {
            let body = format!("{}{}", words.text, self.marker(&pull).tail(&stamp));
            if self.job.settings.comment != CommentMode::Never
                && let Err(failure) = self.say(&pull, &body, occasion).await
            {
                self.warn(failure);
            }
            // Without a verdict, the label `incomplete` comes closest: it blocks.
            if let Err(failure) = self.label(pull.number, Verdict::Incomplete).await {
                self.warn(failure);
            }
        }
    }

    fn words_for(&self, why: &Why) -> Result<Words> {
        let language = self.job.settings.language;
        let (plain, markdown) = (Writer::new(language, Target::Plain), Writer::new(language, Target::Markdown));
        let (reason, help) = match why {
            Why::Refused { reason, help } => (reason.as_str(), help.as_str()),
            Why::Cancelled | Why::Broken => ("", ""),
        };
        let (title, said) = match why {
            Why::Cancelled => ("publish_cancelled", "publish_unfinished_cancelled"),
            Why::Refused { .. } => ("publish_refused", "publish_unfinished_refused"),
            Why::Broken => ("publish_unfinished", "publish_unfinished_broken"),
        };
        let given = context! { reason, help };
        let heading = markdown.word("publish_unfinished_heading")?;
        let text = format!("## {heading}\n\n{}\n", markdown.phrase(said, &given)?);
        let foot = foot(&self.job.commit, &self.job.run_url, language)?;
        Ok(Words { title: plain.phrase(title, &given)?, text: format!("{text}{foot}") })
    }
}

/// The comment's stamp for the next run: no verdict, and a digest of the reason.
fn stamp(why: &Why) -> String {
    let reason = match why {
        Why::Cancelled => "cancelled",
        Why::Refused { reason, .. } => reason,
        Why::Broken => "broken",
    };
    format!("verdict=unfinished culprit={}", digest(reason.as_bytes()))
}
