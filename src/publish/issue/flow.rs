//! The flow of the issue: look, decide, write, and look again for a run that wrote at the same time.

use minijinja::context;

use super::{IssueChange, IssueStep, Stamp, SuiteState, next_step, own_issues};
use crate::error::{Error, ErrorKind, Result};
use crate::publish::answer::{Answer, Read};
use crate::publish::client::{Failure, Undone};
use crate::publish::comment::{self, compose_below_head, footer, is_same_text};
use crate::publish::desk::{Desk, Story};
use crate::publish::forge::Issue;
use crate::publish::marker::Marker;
use crate::publish::tracker::{StateChange, Tracker};
use crate::report::escape::TextTarget;
use crate::report::writer::Writer;

/// Texts of an issue.
struct Words {
    title: String,
    body: String,
    /// The comment, if something changed.
    remark: Option<String>,
}

impl Desk {
    /// Brings the suite's issue up to date.
    pub(in crate::publish) async fn issue(&mut self, story: &Story<'_>) -> Result<(), Undone> {
        let Some(tracker) = self.forge.tracker() else {
            let message = format!("issues of {} are not supported yet", self.job.kind.name());
            let error = Error::new(ErrorKind::Unsupported, "--issue", message);
            self.warnings.push(error.with_help("use a chat or your own system instead: --webhook, --post-command"));
            return Ok(());
        };
        let me = self.token_user().await?;
        let own = self.own_issues(tracker, &me).await?;
        let before = own.first().and_then(|issue| Stamp::read(&issue.body));
        let now =
            Stamp::from_result(story.result, before.as_ref().filter(|_| own.first().is_some_and(|issue| issue.open)));
        let step = next_step(own.first(), &now, SuiteState::from_result(story.result));
        let change = if let IssueStep::Update(_, change) = step { change } else { None };
        let words = self.words(story, &now, change)?;
        Ok(self.carry(tracker, (&me, &own), step, &words).await?)
    }

    async fn carry(
        &self,
        tracker: &dyn Tracker,
        (me, own): (&str, &[Issue]),
        step: IssueStep,
        words: &Words,
    ) -> Result<(), Failure> {
        match step {
            IssueStep::Nothing => return Ok(()),
            IssueStep::Open => return self.open(tracker, me, words).await,
            IssueStep::Update(number, change) => {
                let known = own.first().is_some_and(|issue| is_same_text(&issue.body, &words.body));
                if change.is_some() || !known {
                    let state = change.and_then(IssueChange::state_change);
                    self.rewrite(tracker, number, &words.body, state).await?;
                }
                // The comment comes after the update, since the next run compares with the facts in the issue to find a change.
                if let Some(remark) = &words.remark {
                    self.tell_of(tracker, number, remark).await?;
                }
            }
        }
        self.close(tracker, own.get(1..).unwrap_or_default(), words).await
    }

    /// Opens the issue. Of several runs that do so at once, each keeps the oldest and closes the others.
    async fn open(&self, tracker: &dyn Tracker, me: &str, words: &Words) -> Result<(), Failure> {
        let look = async || {
            let own = self.own_issues(tracker, me).await?;
            Ok(own.into_iter().find(|issue| is_same_text(&issue.body, &words.body)))
        };
        let call = tracker.create_issue(&words.title, &words.body);
        let issue = self.client.create(&call, |answer| shown(tracker, answer, &words.body), look).await?;
        // Without its label, the next run would not find the issue.
        if !issue.labelled && !self.client.is_dry() {
            self.client.send(&tracker.label_issue(issue.number)).await?;
        }
        // The answer names the author reliably.
        let author = Some(issue.author.as_str()).filter(|author| !author.is_empty());
        let own = self.own_issues(tracker, author.unwrap_or(me)).await?;
        self.close(tracker, own.get(1..).unwrap_or_default(), words).await
    }

    /// Closes superfluous issues.
    async fn close(&self, tracker: &dyn Tracker, others: &[Issue], words: &Words) -> Result<(), Failure> {
        for other in others.iter().filter(|issue| issue.open) {
            self.rewrite(tracker, other.number, &words.body, Some(StateChange::Closed)).await?;
        }
        Ok(())
    }

    /// Replaces an issue's text and state, and checks that the answer shows them.
    async fn rewrite(
        &self,
        tracker: &dyn Tracker,
        number: u64,
        body: &str,
        state: Option<StateChange>,
    ) -> Result<(), Failure> {
        let shows = |answer: &Answer| {
            let issue = shown(tracker, answer, body)?;
            let is_so = state.is_none_or(|state| issue.open == (state == StateChange::Open));
            if issue.number == number && is_so {
                Ok(())
            } else {
                Err("with an issue or state other than the one sent".to_owned())
            }
        };
        self.client.ask(&tracker.update_issue(number, body, state), shows).await
    }

    async fn tell_of(&self, tracker: &dyn Tracker, number: u64, remark: &str) -> Result<(), Failure> {
        let look = async || {
            let read = |answer: &Answer| self.forge.read_comments(answer);
            let said = self
                .pages(|page| tracker.issue_comments(number, page), read, |said| comment::has_text(said, remark))
                .await?;
            Ok(said.into_iter().next_back())
        };
        let read = |answer: &Answer| {
            let said = self.forge.read_comment(answer)?;
            if comment::has_text(&said, remark) {
                Ok(said)
            } else {
                Err("with a text other than the one sent".to_owned())
            }
        };
        self.client.create(&tracker.comment_on_issue(number, remark), read, look).await.map(|_| ())
    }

    async fn own_issues(&self, tracker: &dyn Tracker, me: &str) -> Result<Vec<Issue>, Failure> {
        let marker = self.issue_marker();
        let read = |answer: &Answer| tracker.read_issues(answer);
        let wanted = |issue: &Issue| issue.author == me && marker.is_in(&issue.body);
        Ok(own_issues(self.pages(|page| tracker.issues(page), read, wanted).await?, &marker, me))
    }

    fn issue_marker(&self) -> Marker {
        Marker::of_issue(&self.job.repository, &self.job.settings.key)
    }

    fn words(&self, story: &Story<'_>, now: &Stamp, change: Option<IssueChange>) -> Result<Words> {
        let settings = &self.job.settings;
        let writer = Writer::new(settings.language, TextTarget::Markdown);
        let marker = self.issue_marker();
        let text = self.text(story, &marker, &[]);
        let (key, today) = (settings.key.as_str(), story.result.today.as_str());
        let intro = if now.since.is_empty() {
            writer.phrase("publish_issue_was_red", &context! { key, today })?
        } else {
            writer.phrase("publish_issue_red", &context! { key, since => now.since.as_str() })?
        };
        let head = format!("{intro}\n");
        let verdict = writer.word(&format!("verdict_{}", story.result.verdict.as_str()))?;
        let culprit = story.result.culprit.as_ref().map_or("", |culprit| culprit.op.as_str());
        let said = context! { verdict => crate::report::writer::safe(verdict), culprit, today };
        let remark = change.map(|change| {
            Ok::<String, Error>(format!("{}\n{}", writer.phrase(change.phrase(), &said)?, footer(&text)?))
        });
        Ok(Words {
            title: Writer::new(settings.language, TextTarget::Plain)
                .phrase("publish_issue_title", &context! { key })?,
            body: compose_below_head(&head, &now.line(), &text)?,
            remark: remark.transpose()?,
        })
    }
}

/// Reads the issue of an answer, which must have the text `body`.
fn shown(tracker: &dyn Tracker, answer: &Answer, body: &str) -> Read<Issue> {
    let issue = tracker.read_issue(answer)?;
    if is_same_text(&issue.body, body) { Ok(issue) } else { Err("with a text other than the one sent".to_owned()) }
}
