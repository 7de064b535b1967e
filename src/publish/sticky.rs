//! The flow of the comment: read, plan, write, and read again in case another run wrote at the same time.

use super::answer::{Answer, Read};
use super::call::Call;
use super::client::{Failure, Undone};
use super::comment::{self, CommentPicture, CommentStep, CommentText, Occasion, Plan, compose};
use super::desk::{Desk, Story};
use super::forge::{Comment, Pull};
use super::limit;
use super::marker::Marker;
use crate::policy::publish::{CommentMode, ImageMode};

/// A comment's place: a pull request, with the author and the marker by which the comment is found there.
#[derive(Clone, Copy)]
struct Place<'a> {
    number: u64,
    /// Author of the comments that this token writes.
    me: &'a str,
    marker: &'a Marker,
}

/// Items on a full page.
const PAGE: usize = 100;

impl Desk {
    /// Brings the comment of a pull request up to date.
    pub(super) async fn comment(&mut self, pull: &Pull, story: &Story<'_>) -> Result<(), Undone> {
        let mode = self.job.settings.comment;
        if mode == CommentMode::Never {
            return Ok(());
        }
        let (me, marker) = (self.token_user().await?, self.marker(pull));
        let place = Place { number: pull.number, me: &me, marker: &marker };
        let own = self.own_comments(place).await?;
        let occasion = Occasion::Judged(story.result.verdict);
        let mut body = compose(&self.text(story, &marker, &[]))?;
        let mut plan = comment::plan(&own, &body, mode, occasion);
        // Pictures are stored only if the comment will be written.
        if plan.step != CommentStep::Nothing {
            let known = own.first().map_or("", |comment| comment.body.as_str());
            let pictures = self.pictures(story, known).await?;
            body = compose(&self.text(story, &marker, &pictures))?;
            plan = comment::plan(&own, &body, mode, occasion);
        }
        Ok(self.carry_out(place, &body, plan).await?)
    }

    /// The marker of this run's comment on a pull request.
    pub(super) fn marker(&self, pull: &Pull) -> Marker {
        Marker::of_comment(self.repository(pull), pull.number, &self.job.settings.key)
    }

    /// The repository of a pull request: the forge's number if known, since jobs name a repository in more than one way.
    fn repository<'a>(&'a self, pull: &'a Pull) -> &'a str {
        if pull.repository.is_empty() { &self.job.repository } else { &pull.repository }
    }

    pub(super) fn text<'a>(
        &'a self,
        story: &Story<'a>,
        marker: &'a Marker,
        pictures: &'a [CommentPicture],
    ) -> CommentText<'a> {
        let settings = &self.job.settings;
        CommentText {
            result: story.result,
            language: settings.language,
            templates: story.templates,
            marker,
            pictures,
            diagram: settings.image != ImageMode::None,
            notes: story.notes,
            commit: &self.job.commit,
            run_url: &self.job.run_url,
            limit: self.forge.comment_limit(),
        }
    }

    /// Writes `body` into the comment on a pull request, whatever the comment contains.
    pub(super) async fn write_comment(&self, pull: &Pull, body: &str, occasion: Occasion) -> Result<(), Failure> {
        let (me, marker) = (self.token_user().await?, self.marker(pull));
        let place = Place { number: pull.number, me: &me, marker: &marker };
        let plan = comment::plan(&self.own_comments(place).await?, body, self.job.settings.comment, occasion);
        self.carry_out(place, body, plan).await
    }

    async fn carry_out(&self, place: Place<'_>, body: &str, plan: Plan) -> Result<(), Failure> {
        let number = place.number;
        match plan.step {
            CommentStep::Nothing => {}
            CommentStep::Create => return self.create(place, body).await,
            CommentStep::Update(id) => match self.update(number, id, body).await {
                // Somebody removed the comment in the meantime.
                Err(failure) if failure.status == Some(404) => return self.create(place, body).await,
                updated => updated?,
            },
        }
        self.remove(number, &plan.remove).await
    }

    /// Replaces a comment's text, and checks that the answer shows it.
    async fn update(&self, number: u64, id: u64, body: &str) -> Result<(), Failure> {
        let shows = |answer: &Answer| {
            if self.forge.is_silent_update(answer) {
                return Ok(());
            }
            let comment = self.said(answer, body)?;
            if comment.id == id { Ok(()) } else { Err("with a comment other than the requested one".to_owned()) }
        };
        self.client.ask(&self.forge.update_comment(number, id, body), shows).await
    }

    /// Writes a first comment. Of several runs that do so at once, each keeps the oldest and removes the others.
    async fn create(&self, place: Place<'_>, body: &str) -> Result<(), Failure> {
        let look = async || {
            let own = self.own_comments(place).await?;
            Ok(own.into_iter().find(|comment| comment::has_text(comment, body)))
        };
        let number = place.number;
        let call = self.forge.create_comment(number, body);
        let created = self.client.create(&call, |answer| self.said(answer, body), look).await?;
        // The answer names the author reliably, so that comments are found which an assumed name did not match.
        let author = Some(created.author.as_str()).filter(|author| !author.is_empty());
        let own = self.own_comments(Place { me: author.unwrap_or(place.me), ..place }).await?;
        if let Some(first) = own.first().filter(|first| !comment::has_text(first, body)) {
            self.update(number, first.id, body).await?;
        }
        let others: Vec<u64> = own.iter().skip(1).map(|comment| comment.id).collect();
        self.remove(number, &others).await
    }

    /// Reads the comment of an answer, which must have the text `body`.
    fn said(&self, answer: &Answer, body: &str) -> Read<Comment> {
        let comment = self.forge.read_comment(answer)?;
        if comment::has_text(&comment, body) {
            Ok(comment)
        } else {
            Err("with a text other than the one sent".to_owned())
        }
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

    async fn own_comments(&self, Place { number, me, marker }: Place<'_>) -> Result<Vec<Comment>, Failure> {
        let list = |page| self.forge.comments(number, page);
        let read = |answer: &Answer| self.forge.read_comments(answer);
        let wanted = |comment: &Comment| comment.author == me && marker.is_in(&comment.body);
        Ok(comment::own_comments(self.pages(list, read, wanted).await?, marker, me))
    }

    /// Commits that the token's own comments on a pull request are about, each with the time of the comment's last change.
    pub(super) async fn judged_commits(&self, pull: &Pull) -> Result<Vec<(String, String)>, Failure> {
        let (me, repository, number) = (self.token_user().await?, self.repository(pull), pull.number);
        let list = |page| self.forge.comments(number, page);
        let read = |answer: &Answer| self.forge.read_comments(answer);
        let own = self.pages(list, read, |comment| comment.author == me).await?;
        let about = |comment: Comment| {
            let commit = comment::judged_commit(&comment.body, repository, number)?.to_owned();
            Some((commit, comment.updated))
        };
        Ok(own.into_iter().filter_map(about).collect())
    }

    /// The items of a list that are `wanted`, read page by page. An unreadable page and an endless list are failures, because an
    /// overlooked item would be written a second time.
    pub(super) async fn pages<T>(
        &self,
        list: impl Fn(u32) -> Call,
        read: impl Fn(&Answer) -> Read<Vec<T>>,
        wanted: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, Failure> {
        let (mut all, mut length) = (Vec::new(), 0);
        for page in 1..=limit::PAGES {
            let call = list(page);
            let answer = self.client.send(&call).await?;
            let items = self.client.read(&call, &answer, &read)?;
            let full = items.len() == PAGE;
            all.extend(items.into_iter().filter(&wanted));
            let more = match (answer.header("link"), answer.header("x-next-page")) {
                (Some(link), _) => link.contains("rel=\"next\""),
                (None, Some(_)) => true,
                (None, None) => full && !self.forge.says_next(),
            };
            if !more {
                return Ok(all);
            }
            length += answer.body.len();
            if length > limit::LIST {
                break;
            }
        }
        Err(self.client.failure_of_answer(&list(limit::PAGES), "answered with a longer list than is read"))
    }

    /// Author of the comments that this token writes.
    pub(super) async fn token_user(&self) -> Result<String, Failure> {
        if let Some(author) = &self.job.settings.author {
            return Ok(author.clone());
        }
        match self.client.ask(&self.forge.token_user(), |answer| self.forge.read_token_user(answer)).await {
            Ok(me) => Ok(me),
            // The token of a workflow or an app may not ask for its user; the check that it wrote names the app.
            Err(failure) if failure.status == Some(403) => {
                let app = self.app.get().map(String::as_str).or(self.forge.unnamed_author());
                app.map(str::to_owned).ok_or(failure)
            }
            Err(failure) => Err(failure),
        }
    }
}
