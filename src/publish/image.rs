//! Pictures in the comment. No forge accepts a picture as part of a comment: GitLab has uploads, at GitHub they are on a branch.
//!
//! The branch holds a single commit without parents with the newest pictures by run, so that the repository does not grow. Links
//! name the commit, which stays available when the branch moves.

use super::answer::github::{Reference, Repository, Tree};
use super::answer::gitlab::Upload;
use super::answer::{Answer, Read};
use super::client::Failure;
use super::comment::{CommentPicture, digest, known_picture};
use super::desk::{Desk, Story};
use super::dialect::Gallery;
use super::objects::{Objects, read_object};
use crate::error::Result;
use crate::policy::publish::ImageMode;
use crate::report::messages::Language;
use crate::report::pictures::{self, DrawnPicture};

const BRANCH: &str = "precision-gate-pictures";
/// Largest number of pictures on the branch.
const MOST_KEPT: usize = 100;

/// A rendered picture.
struct Png {
    name: &'static str,
    digest: String,
    bytes: Vec<u8>,
}

impl Desk {
    /// Stores the pictures of a comment. A failure is a warning, and the comment has no pictures then.
    pub(super) async fn pictures(&mut self, story: &Story<'_>, known: &str) -> Result<Vec<CommentPicture>> {
        let mode = self.job.settings.image;
        let is_wanted = |gallery: &Gallery<'_>| match gallery {
            Gallery::Uploads(_) => matches!(mode, ImageMode::Auto | ImageMode::Branch),
            Gallery::Branch(_) => mode == ImageMode::Branch,
        };
        let Some(gallery) = self.forge.gallery().filter(is_wanted) else { return Ok(Vec::new()) };
        let pngs = render(story, self.job.settings.language)?;
        let placed = match gallery {
            Gallery::Uploads(root) => self.upload(root, pngs, known).await,
            Gallery::Branch(objects) => self.put_on_branch(objects, pngs).await,
        };
        Ok(placed.unwrap_or_else(|failure| {
            self.warn(failure);
            Vec::new()
        }))
    }

    /// Uploads the pictures that the comment does not show already, since an upload can never be removed.
    async fn upload(&self, root: &str, pngs: Vec<Png>, known: &str) -> Result<Vec<CommentPicture>, Failure> {
        let mut shown = Vec::new();
        for png in pngs {
            let url = match known_picture(known, png.name, &png.digest) {
                Some(url) => url,
                None => {
                    let call = Gallery::upload(root, &format!("{}.png", png.name), png.bytes);
                    self.client.ask(&call, |answer| answer.read::<Upload>("the picture's address")).await?.url
                }
            };
            shown.push(CommentPicture { name: png.name, digest: png.digest, url });
        }
        Ok(shown)
    }

    async fn put_on_branch(&self, objects: Objects<'_>, pngs: Vec<Png>) -> Result<Vec<CommentPicture>, Failure> {
        let read = |answer: &Answer| answer.read::<Repository>("a repository");
        let repository = self.client.ask(&self.forge.repository(), read).await?;
        let (head, mut files) = self.on_branch(objects).await?;
        let mut paths = Vec::new();
        let mut added = false;
        for png in pngs {
            let end = format!("{}-{}.png", png.name, png.digest);
            if let Some((path, _)) = files.iter().find(|(path, _)| path.ends_with(&end)) {
                paths.push((png, path.clone()));
                continue;
            }
            let blob = self.client.ask(&objects.create_blob(&png.bytes), read_object).await?;
            let path = format!("{:0>24}-{}-{end}", self.job.run, self.job.settings.key);
            files.push((path.clone(), blob.sha));
            paths.push((png, path));
            added = true;
        }
        let commit = match head {
            Some(head) if !added => head,
            head => self.commit(objects, files, head.is_some()).await?,
        };
        let shown = |(png, path): (Png, String)| CommentPicture {
            name: png.name,
            digest: png.digest,
            url: address(&repository, &commit, &path),
        };
        Ok(paths.into_iter().map(shown).collect())
    }

    /// The branch's commit and files; no commit and no files if the branch does not exist yet.
    async fn on_branch(&self, objects: Objects<'_>) -> Result<(Option<String>, Vec<(String, String)>), Failure> {
        let head = match self.client.ask(&objects.picture_branch(BRANCH), branch).await {
            Ok(reference) if self.client.is_dry() => Some(reference.object.sha).filter(|sha| !sha.is_empty()),
            Ok(reference) => Some(reference.object.sha),
            Err(failure) if failure.status == Some(404) => None,
            Err(failure) => return Err(failure),
        };
        let Some(head) = head else { return Ok((None, Vec::new())) };
        let read = |answer: &Answer| answer.read::<Tree>("the files of a commit");
        let tree = self.client.ask(&objects.pictures(&head), read).await?;
        let files = tree.tree.into_iter().filter(|entry| entry.kind == "blob");
        Ok((Some(head), files.map(|entry| (entry.path, entry.sha)).collect()))
    }

    /// Replaces the content of the branch by the newest of these files.
    async fn commit(
        &self,
        objects: Objects<'_>,
        mut files: Vec<(String, String)>,
        is_there: bool,
    ) -> Result<String, Failure> {
        // A name starts with the number of its run, padded: the oldest come first.
        files.sort();
        let newest = files.split_off(files.len().saturating_sub(MOST_KEPT));
        let tree = self.client.ask(&objects.create_tree(&newest), read_object).await?.sha;
        let commit = self.client.ask(&objects.create_commit(&tree), read_object).await?.sha;
        let moved = |answer: &Answer| {
            let shown = branch(answer)?.object.sha;
            if shown == commit { Ok(()) } else { Err("with a commit other than the one sent".to_owned()) }
        };
        if !is_there {
            match self.client.ask(&objects.create_branch(BRANCH, &commit), moved).await {
                // Another run created the branch first.
                Err(failure) if failure.status == Some(422) => {}
                created => return created.map(|_| commit),
            }
        }
        self.client.ask(&objects.move_branch(BRANCH, &commit), moved).await?;
        Ok(commit)
    }
}

fn branch(answer: &Answer) -> Read<Reference> {
    answer.read("a branch")
}

fn render(story: &Story<'_>, language: Language) -> Result<Vec<Png>> {
    let png = |drawn: DrawnPicture| Png { name: drawn.name(), digest: digest(&drawn.png), bytes: drawn.png };
    Ok(pictures::draw_run_pictures(story.result, language)?.into_iter().map(png).collect())
}

/// Address at which readers of the comment can see a picture: the raw file for a public repository of GitHub.com, otherwise a page
/// for signed-in users.
fn address(repository: &Repository, commit: &str, path: &str) -> String {
    let (page, name) = (&repository.html_url, &repository.full_name);
    if !repository.private && page.starts_with("https://github.com/") {
        format!("https://raw.githubusercontent.com/{name}/{commit}/{path}")
    } else {
        format!("{page}/blob/{commit}/{path}?raw=true")
    }
}
