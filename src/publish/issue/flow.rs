//! The flow of the issue: look, decide, write, and look again for a run that wrote at the same time.

use minijinja::context;

use super::{Change, Stamp, Standing, Step, next_step, own};
use crate::error::{Error, ErrorKind, Result};
use crate::publish::answer::{Answer, Read};
use crate::publish::client::{Failure, Undone};
use crate::publish::comment::{self, footer, is_same_text, whole};
use crate::publish::desk::{Desk, Story};
use crate::publish::forge::Issue;
use crate::publish::marker::Marker;
use crate::publish::tracker::{StateChange, Tracker};
use crate::report::escape::Target;
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
        let me = self.me().await?;
        let own = self.own_issues(tracker, &me).await?;
        let before = own.first().and_then(|issue| Stamp::read(&issue.body));
        let now = Stamp::of(story.result, before.as_ref().filter(|_| own.first().is_some_and(|issue| issue.open)));
        let step = next_step(own.first(), &now, Standing::of(story.result));
        let change = if let Step::Update(_, change) = step { change } else { None };
        let words = self.words(story, &now, change)?;
        Ok(self.carry(tracker, (&me, &own), step, &words).await?)
    }

    async fn carry(
        &self,
        tracker: &dyn Tracker,
        (me, own): (&str, &[Issue]),
        step: Step,
        words: &Words,
    ) -> Result<(), Failure> {
        match step {
            Step::Nothing => return Ok(()),
            Step::Open => return self.open(tracker, me, words).await,
            Step::Update(number, change) => {
                let known = own.first().is_some_and(|issue| is_same_text(&issue.body, &words.body));
                if change.is_some() || !known {
                    let state = change.and_then(Change::state_change);
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
            let said =
                self.pages(|page| tracker.remarks(number, page), read, |said| comment::says(said, remark)).await?;
            Ok(said.into_iter().next_back())
        };
        let read = |answer: &Answer| {
            let said = self.forge.read_comment(answer)?;
            if comment::says(&said, remark) { Ok(said) } else { Err("with a text other than the one sent".to_owned()) }
        };
        self.client.create(&tracker.remark(number, remark), read, look).await.map(|_| ())
    }

    async fn own_issues(&self, tracker: &dyn Tracker, me: &str) -> Result<Vec<Issue>, Failure> {
        let marker = self.issue_marker();
        let read = |answer: &Answer| tracker.read_issues(answer);
        let wanted = |issue: &Issue| issue.author == me && marker.is_in(&issue.body);
        Ok(own(self.pages(|page| tracker.issues(page), read, wanted).await?, &marker, me))
    }

    fn issue_marker(&self) -> Marker {
        Marker::of_issue(&self.job.repository, &self.job.settings.key)
    }

    fn words(&self, story: &Story<'_>, now: &Stamp, change: Option<Change>) -> Result<Words> {
        let settings = &self.job.settings;
        let writer = Writer::new(settings.language, Target::Markdown);
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
            title: Writer::new(settings.language, Target::Plain).phrase("publish_issue_title", &context! { key })?,
            body: whole(&head, &now.line(), &text)?,
            remark: remark.transpose()?,
        })
    }
}

/// Reads the issue of an answer, which must have the text `body`.
fn shown(tracker: &dyn Tracker, answer: &Answer, body: &str) -> Read<Issue> {
    let issue = tracker.read_issue(answer)?;
    if is_same_text(&issue.body, body) { Ok(issue) } else { Err("with a text other than the one sent".to_owned()) }
}
