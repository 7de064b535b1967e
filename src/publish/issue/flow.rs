//! The flow of the issue: look, settle, write, and look again for a run that wrote at the same time.

use minijinja::context;
use serde_json::{Value, json};

use super::{Become, Change, Issue, Stamp, Standing, Step, Tracker, marker, own, settle};
use crate::error::{Error, ErrorKind, Result};
use crate::publish::client::Failure;
use crate::publish::comment::{self, below, footer};
use crate::publish::session::{Desk, Story};
use crate::report::escape::Target;
use crate::report::writer::Writer;

/// What an issue is to say.
struct Words {
    title: String,
    body: String,
    /// The comment, where something changed.
    remark: Option<String>,
}

impl Desk {
    /// Brings the suite's issue up to date. What fails is a warning.
    pub(in crate::publish) async fn issue(&mut self, story: &Story<'_>) -> Result<()> {
        let Some(tracker) = self.forge.as_tracker() else {
            let message = format!("issues of {} are not supported yet", self.forge.kind().name());
            self.warnings.push(
                Error::new(ErrorKind::Unsupported, "--issue", message)
                    .with_help("tell a chat or a system of your own in its place: --webhook, --post-command"),
            );
            return Ok(());
        };
        if let Err(failure) = self.follow(tracker, story).await? {
            self.warn(failure);
        }
        Ok(())
    }

    /// The outer error is a template's.
    async fn follow(&self, tracker: &dyn Tracker, story: &Story<'_>) -> Result<Result<(), Failure>> {
        let found = match self.me().await {
            Ok(me) => self.own_issues(tracker, &me).await.map(|own| (me, own)),
            Err(failure) => Err(failure),
        };
        let (me, own) = match found {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let before = own.first().and_then(|issue| Stamp::read(&issue.body));
        let now = Stamp::of(story.result, before.as_ref().filter(|_| own.first().is_some_and(|issue| issue.open)));
        let step = settle(own.first(), &now, Standing::of(story.result));
        let change = if let Step::Update(_, change) = step { change } else { None };
        let words = self.words(story, &now, change)?;
        Ok(self.carry(tracker, (&me, &own), step, &words).await)
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
                let known = own.first().is_some_and(|issue| is_same(&issue.body, &words.body));
                if change.is_some() || !known {
                    let state = change.and_then(Change::becomes);
                    self.client.send(&tracker.update_issue(number, &words.body, state)).await?;
                }
                // After the state: what the issue shows decides whether there is a change to tell of.
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
            Ok(own.iter().find(|issue| is_same(&issue.body, &words.body)).map(|issue| json!({ "issue": issue.number })))
        };
        let created = self.client.create(&tracker.create_issue(&words.title, &words.body), look).await?;
        let issue = tracker.read_issue(&created);
        // Without its label the next run would not find it.
        if let Some(label) =
            issue.as_ref().filter(|issue| !issue.labelled).and_then(|it| tracker.label_issue(it.number))
        {
            self.client.send(&label).await?;
        }
        // The answer knows for sure who opened it.
        let author = issue.map(|issue| issue.author).filter(|author| !author.is_empty());
        let own = self.own_issues(tracker, author.as_deref().unwrap_or(me)).await?;
        self.close(tracker, own.get(1..).unwrap_or_default(), words).await
    }

    /// Closes issues too many.
    async fn close(&self, tracker: &dyn Tracker, others: &[Issue], words: &Words) -> Result<(), Failure> {
        for other in others.iter().filter(|issue| issue.open) {
            self.client.send(&tracker.update_issue(other.number, &words.body, Some(Become::Closed))).await?;
        }
        Ok(())
    }

    async fn tell_of(&self, tracker: &dyn Tracker, number: u64, remark: &str) -> Result<(), Failure> {
        let look = async || {
            let items = self.pages(|page| tracker.remarks(number, page)).await?;
            let said = items
                .into_iter()
                .rev()
                .find(|item| self.forge.read_comment(item).is_some_and(|comment| comment::says(&comment, remark)));
            Ok::<Option<Value>, Failure>(said)
        };
        self.client.create(&tracker.remark(number, remark), look).await.map(|_| ())
    }

    async fn own_issues(&self, tracker: &dyn Tracker, me: &str) -> Result<Vec<Issue>, Failure> {
        let items = self.pages(|page| tracker.issues(page)).await?;
        let issues = items.iter().filter_map(|item| tracker.read_issue(item)).collect();
        Ok(own(issues, &self.job.settings.key, me))
    }

    fn words(&self, story: &Story<'_>, now: &Stamp, change: Option<Change>) -> Result<Words> {
        let settings = &self.job.settings;
        let writer = Writer::new(settings.language, Target::Markdown);
        let text = self.text(story, &[]);
        let (key, today) = (settings.key.as_str(), story.result.today.as_str());
        let intro = if now.since.is_empty() {
            writer.phrase("publish_issue_was_red", &context! { key, today })?
        } else {
            writer.phrase("publish_issue_red", &context! { key, since => now.since.as_str() })?
        };
        let head = format!("{}\n{}\n\n{intro}\n", marker(&settings.key), now.line());
        let verdict = writer.word(&format!("verdict_{}", story.result.verdict.as_str()))?;
        let culprit = story.result.culprit.as_ref().map_or("", |culprit| culprit.op.as_str());
        let said = context! { verdict => crate::report::writer::safe(verdict), culprit, today };
        let remark = change.map(|change| {
            Ok::<String, Error>(format!("{}\n{}", writer.phrase(change.phrase(), &said)?, footer(&text)?))
        });
        Ok(Words {
            title: Writer::new(settings.language, Target::Plain).phrase("publish_issue_title", &context! { key })?,
            body: below(&head, &text)?,
            remark: remark.transpose()?,
        })
    }
}

/// Whether two texts are the same; forges change line ends and take off the last ones.
fn is_same(one: &str, other: &str) -> bool {
    one.trim_end().lines().map(str::trim_end).eq(other.trim_end().lines().map(str::trim_end))
}
