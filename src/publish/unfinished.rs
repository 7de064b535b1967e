//! A run without a verdict: cancelled, refused, or aborted. Check and comment report that; an earlier green state must not look as
//! if it belonged to this run.
//!
//! The check comes first, since a cancelled run is killed some seconds later. If the pull request has a newer commit by then, its
//! comment is not changed, because it belongs to the run of that commit.

use minijinja::context;

use super::comment::{Occasion, digest, footer_of_run};
use super::desk::Desk;
use super::status::{CommitReport, RunState};
use crate::error::Result;
use crate::policy::publish::CommentMode;
use crate::report::escape::TextTarget;
use crate::report::writer::Writer;
use crate::verdict::Verdict;

/// Reason why a run has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnfinishedReason {
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
    pub(super) async fn give_up(&mut self, why: &UnfinishedReason) {
        if let Err(failure) = self.find_commit().await {
            self.warn(failure);
        }
        let words = self.words_for(why).unwrap_or_else(|_| Words { title: String::new(), text: String::new() });
        let (title, summary) = (words.title, words.text.clone());
        let report = CommitReport { title, summary, state: RunState::Unfinished, ..self.blank_report() };
        self.report(&report).await;
        if self.job.settings.comment == CommentMode::Never && self.forge.labels().is_none() {
            return;
        }
        let Some((pulls, _)) = self.comment_pulls().await else { return };
        let stamp = stamp(why);
        let guessed = self.job.settings.guessed;
        let occasion =
            if *why == UnfinishedReason::Cancelled || guessed { Occasion::UpdateOnly } else { Occasion::Refused };
        for pull in pulls {
            let body = format!("{}{}", words.text, self.marker(&pull).tail(&stamp));
            if self.job.settings.comment != CommentMode::Never
                && let Err(failure) = self.write_comment(&pull, &body, occasion).await
            {
                self.warn(failure);
            }
            // Without a verdict, the label `incomplete` comes closest: it blocks.
            if let Err(failure) = self.label(pull.number, Verdict::Incomplete).await {
                self.warn(failure);
            }
        }
    }

    fn words_for(&self, why: &UnfinishedReason) -> Result<Words> {
        let language = self.job.settings.language;
        let (plain, markdown) = (Writer::new(language, TextTarget::Plain), Writer::new(language, TextTarget::Markdown));
        let (reason, help) = match why {
            UnfinishedReason::Refused { reason, help } => (reason.as_str(), help.as_str()),
            UnfinishedReason::Cancelled | UnfinishedReason::Broken => ("", ""),
        };
        let (title, said) = match why {
            UnfinishedReason::Cancelled => ("publish_cancelled", "publish_unfinished_cancelled"),
            UnfinishedReason::Refused { .. } => ("publish_refused", "publish_unfinished_refused"),
            UnfinishedReason::Broken => ("publish_unfinished", "publish_unfinished_broken"),
        };
        let given = context! { reason, help };
        let heading = markdown.word("publish_unfinished_heading")?;
        let text = format!("## {heading}\n\n{}\n", markdown.phrase(said, &given)?);
        let foot = footer_of_run(&self.job.commit, &self.job.run_url, language)?;
        Ok(Words { title: plain.phrase(title, &given)?, text: format!("{text}{foot}") })
    }
}

/// The comment's stamp for the next run: no verdict, and a digest of the reason.
fn stamp(why: &UnfinishedReason) -> String {
    let reason = match why {
        UnfinishedReason::Cancelled => "cancelled",
        UnfinishedReason::Refused { reason, .. } => reason,
        UnfinishedReason::Broken => "broken",
    };
    format!("verdict=unfinished culprit={}", digest(reason.as_bytes()))
}
