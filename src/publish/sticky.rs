//! The flow of the comment: look, settle, write, and look again for a run that wrote at the same time.

use serde_json::{Value, json};

use super::call::Call;
use super::client::Failure;
use super::comment::{self, Settlement, Shown, Step, Text, compose, settle};
use super::forge::{Comment, Pull};
use super::session::{Desk, Story};
use crate::error::Result;
use crate::policy::publish::{CommentMode, ImageMode};

/// Pages that are read of a list: ten thousand comments.
const MOST_PAGES: u32 = 100;
/// Items on a full page.
const PAGE: usize = 100;

impl Desk {
    /// Brings the comment of a pull request up to date; the outer error is a template's.
    pub(super) async fn comment(&mut self, pull: &Pull, story: &Story<'_>) -> Result<Result<(), Failure>> {
        let mode = self.job.settings.comment;
        if mode == CommentMode::Never {
            return Ok(Ok(()));
        }
        let known = match self.me().await {
            Ok(me) => self.own_comments(pull.number, &me).await.map(|own| (me, own)),
            Err(failure) => Err(failure),
        };
        let (me, own) = match known {
            Ok(known) => known,
            Err(failure) => return Ok(Err(failure)),
        };
        let verdict = story.result.verdict;
        let mut body = compose(&self.text(story, &[]))?;
        let mut settlement = settle(&own, &body, mode, verdict);
        // Pictures are stored only for a comment that will be written.
        if settlement.step != Step::Nothing {
            let known = own.first().map_or("", |comment| comment.body.as_str());
            let pictures = self.pictures(story, known).await?;
            body = compose(&self.text(story, &pictures))?;
            settlement = settle(&own, &body, mode, verdict);
        }
        Ok(self.carry_out((pull.number, &me), &body, settlement).await)
    }

    pub(super) fn text<'a>(&'a self, story: &Story<'a>, pictures: &'a [Shown]) -> Text<'a> {
        let settings = &self.job.settings;
        Text {
            result: story.result,
            language: settings.language,
            templates: story.templates,
            key: &settings.key,
            pictures,
            diagram: settings.image != ImageMode::None,
            notes: story.notes,
            commit: &self.job.commit,
            run_url: &self.job.run_url,
            limit: self.forge.comment_limit(),
        }
    }

    async fn carry_out(&self, place: (u64, &str), body: &str, settlement: Settlement) -> Result<(), Failure> {
        let (number, _) = place;
        match settlement.step {
            Step::Nothing => {}
            Step::Create => return self.create(place, body).await,
            Step::Update(id) => match self.client.send(&self.forge.update_comment(number, id, body)).await {
                // Somebody removed it in between.
                Err(failure) if failure.status == Some(404) => return self.create(place, body).await,
                updated => updated.map(|_| ())?,
            },
        }
        self.remove(number, &settlement.remove).await
    }

    /// Writes a first comment. Of several runs that do so at once, each keeps the oldest and removes the others.
    async fn create(&self, (number, me): (u64, &str), body: &str) -> Result<(), Failure> {
        let look = async || {
            let own = self.own_comments(number, me).await?;
            Ok(own.iter().find(|comment| comment::says(comment, body)).map(|comment| json!({ "id": comment.id })))
        };
        let created = self.client.create(&self.forge.create_comment(number, body), look).await?;
        // The answer knows for sure who wrote it: what an assumed name did not find is found now.
        let author =
            self.forge.read_comment(&created).map(|comment| comment.author).filter(|author| !author.is_empty());
        let own = self.own_comments(number, author.as_deref().unwrap_or(me)).await?;
        if let Some(first) = own.first().filter(|first| !comment::says(first, body)) {
            self.client.send(&self.forge.update_comment(number, first.id, body)).await?;
        }
        let others: Vec<u64> = own.iter().skip(1).map(|comment| comment.id).collect();
        self.remove(number, &others).await
    }

    async fn remove(&self, number: u64, ids: &[u64]) -> Result<(), Failure> {
        for id in ids {
            match self.client.send(&self.forge.delete_comment(number, *id)).await {
                Err(failure) if failure.status != Some(404) => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }

    async fn own_comments(&self, number: u64, me: &str) -> Result<Vec<Comment>, Failure> {
        let items = self.pages(|page| self.forge.comments(number, page)).await?;
        let all = items.iter().filter_map(|item| self.forge.read_comment(item)).collect();
        Ok(comment::own(all, &self.job.settings.key, me))
    }

    /// Every item of a list, page by page.
    pub(super) async fn pages(&self, list: impl Fn(u32) -> Call) -> Result<Vec<Value>, Failure> {
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let answer = self.client.send(&list(page)).await?;
            let items = answer.json().as_array().cloned().unwrap_or_default();
            let full = items.len() == PAGE;
            all.extend(items);
            let more = match (answer.header("link"), answer.header("x-next-page")) {
                (Some(link), _) => link.contains("rel=\"next\""),
                (None, Some(_)) => true,
                // Gitee and GitCode may say nothing.
                (None, None) => self.forge.as_community().is_some() && full,
            };
            if !more {
                break;
            }
        }
        Ok(all)
    }

    /// Whose comments are this token's.
    pub(super) async fn me(&self) -> Result<String, Failure> {
        if let Some(author) = &self.job.settings.author {
            return Ok(author.clone());
        }
        match self.client.send(&self.forge.me()).await {
            Ok(answer) => Ok(self.forge.read_me(&answer.json()).unwrap_or_default()),
            // The token of a workflow or an app may not ask; the check it wrote tells.
            Err(failure) if failure.status == Some(403) => {
                let app = self.app.get().map(String::as_str).or(self.forge.unnamed_author());
                app.map(str::to_owned).ok_or(failure)
            }
            Err(failure) => Err(failure),
        }
    }
}
