//! The comment: one per key, found by a hidden marker *and* its author, updated in place and never duplicated.
//!
//! The last line is the marker, the line before it a stamp that summarises what the comment shows. Both are HTML comments, which
//! every forge keeps and nobody sees. Anyone may quote a marker, so a comment counts only if its author matches too.

use minijinja::context;
use sha2::{Digest, Sha256};

use super::forge::Comment;
use super::marker::{self, Marker};
use crate::error::Result;
use crate::policy::publish::CommentMode;
use crate::report::escape::TextTarget;
use crate::report::messages::Language;
use crate::report::summary::{self, LinkedPicture};
use crate::report::templates::Templates;
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::verdict::Verdict;

/// Remark for readers of the comment about the way in which its result was obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The pull request changes these files, which control its own judgement.
    SettingsChanged(Vec<String>),
    /// The pull request changes these files; those of the target branch were used instead.
    SettingsOfBase(Vec<String>),
    /// The numbers come from a run of a fork, which could report any numbers.
    NumbersOfFork,
    /// The numbers come from a run that may be a fork's.
    NumbersOfOther,
    /// The artifacts come from a fork and were judged again here.
    JudgedHere,
    /// The run uploaded nothing that could be judged.
    NothingUploaded,
    /// The target branch has moved since the run read its policy; the policy of this tip decides now.
    TargetMoved {
        /// The branch.
        branch: String,
        /// Its newest commit.
        commit: String,
    },
    /// The commit is the head of pull requests to several branches, each judged by the policy of its branch; the worst verdict counts.
    Requests(Vec<Ruling>),
    /// The result states one verdict, but its units and findings lead to another.
    OtherVerdict {
        /// The verdict that the result states.
        claimed: Verdict,
        /// The verdict that follows from the result's units and findings.
        found: Verdict,
    },
}

/// The verdict under the policy of one branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The branch.
    pub branch: String,
    /// The commit from which its policy was read.
    pub commit: String,
    /// The verdict.
    pub verdict: Verdict,
}

impl Ruling {
    fn shown(&self) -> minijinja::Value {
        let commit = self.commit.get(..12).unwrap_or(&self.commit);
        context! { branch => &self.branch, commit, verdict => self.verdict.as_str() }
    }
}

/// A picture in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentPicture {
    /// `loss` or `divergence`.
    pub name: &'static str,
    /// The start of its content's SHA-256.
    pub digest: String,
    /// Address of the picture.
    pub url: String,
}

/// Parts of a comment.
#[derive(Clone, Copy, Debug)]
pub struct CommentText<'a> {
    /// The result.
    pub result: &'a GateResult,
    /// The language.
    pub language: Language,
    /// Templates.
    pub templates: &'a Templates,
    /// The marker.
    pub marker: &'a Marker,
    /// Pictures.
    pub pictures: &'a [CommentPicture],
    /// Whether a curve without a picture is drawn as a text diagram.
    pub diagram: bool,
    /// Remarks that stand above the report.
    pub notes: &'a [Note],
    /// The commit that was judged; empty where it is not known.
    pub commit: &'a str,
    /// The job's page; empty where there is none.
    pub run_url: &'a str,
    /// Largest length that the forge accepts, in bytes and in UTF-16 units.
    pub limit: usize,
}

/// Writes the comment.
pub fn compose(text: &CommentText<'_>) -> Result<String> {
    let stamp = stamp(text);
    compose_below_head(&notes(text.notes, text.language)?, &stamp, text)
}

/// The summary and the footer below `head`, cut to the length that the forge accepts, with the hidden lines for the next run.
pub(super) fn compose_below_head(head: &str, stamp: &str, text: &CommentText<'_>) -> Result<String> {
    let foot = footer(text)? + &text.marker.tail(stamp);
    let pictures: Vec<LinkedPicture> =
        text.pictures.iter().map(|shown| LinkedPicture { name: shown.name, url: shown.url.clone() }).collect();
    let options = summary::SummaryOptions {
        language: text.language,
        limit: text.limit.saturating_sub(head.len() + foot.len() + 1),
        pictures: &pictures,
        diagram: text.diagram,
        templates: text.templates,
    };
    Ok(format!("{head}\n{}{foot}", summary::render(text.result, &options)?).trim_start().to_owned())
}

/// Remarks as quoted paragraphs, each with an empty line before it.
pub fn notes(notes: &[Note], language: Language) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Markdown);
    let mut text = String::new();
    for note in notes {
        let said = match note {
            Note::SettingsChanged(files) => writer.phrase("publish_settings_changed", &context! { files }),
            Note::SettingsOfBase(files) => writer.phrase("publish_settings_of_base", &context! { files }),
            Note::NumbersOfFork => writer.word("publish_numbers_of_fork"),
            Note::NumbersOfOther => writer.word("publish_numbers_of_other"),
            Note::JudgedHere => writer.word("publish_judged_here"),
            Note::NothingUploaded => writer.word("publish_nothing_uploaded"),
            Note::TargetMoved { branch, commit } => {
                let commit = commit.get(..12).unwrap_or(commit);
                writer.phrase("publish_target_moved", &context! { branch, commit })
            }
            Note::Requests(rulings) => {
                let rulings: Vec<_> = rulings.iter().map(Ruling::shown).collect();
                writer.phrase("publish_requests", &context! { rulings })
            }
            Note::OtherVerdict { claimed, found } => {
                let [claimed, found] = [claimed, found].map(|verdict| verdict.as_str());
                writer.phrase("publish_other_verdict", &context! { claimed, found })
            }
        };
        text.push_str(&format!("\n> {}\n", said?));
    }
    Ok(text)
}

/// The one-line text of the check: `headline`, preceded by a remark on whether it blocks and, if the numbers were not measured
/// here, by a remark on their source.
pub(super) fn title(headline: String, notes: &[Note], report_only: bool, language: Language) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Plain);
    let origin = notes.iter().find_map(|note| match note {
        Note::NumbersOfFork => Some("publish_title_of_fork"),
        Note::NumbersOfOther => Some("publish_title_of_other"),
        _ => None,
    });
    let only = report_only.then_some("publish_title_report_only");
    let mut title = String::new();
    for phrase in only.into_iter().chain(origin) {
        title.push_str(&writer.word(phrase)?);
    }
    Ok(title + &headline)
}

/// Commit and job, as far as they are known.
pub(super) fn footer(text: &CommentText<'_>) -> Result<String> {
    footer_of_run(text.commit, text.run_url, text.language)
}

/// The footer of a run that may have no result.
pub(super) fn footer_of_run(commit: &str, run_url: &str, language: Language) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Markdown);
    let mut parts = Vec::new();
    if !commit.is_empty() {
        let commit = commit.get(..12).unwrap_or(commit);
        parts.push(writer.phrase("publish_commit", &context! { commit })?);
    }
    if summary::is_link(run_url) {
        parts.push(format!("[{}]({})", writer.word("publish_run")?, run_url));
        let artifacts = artifacts_of(run_url).map(|url| Ok(format!("[{}]({url})", writer.word("publish_artifacts")?)));
        parts.extend(artifacts.transpose()?);
    }
    Ok(if parts.is_empty() { String::new() } else { format!("\n<sub>{}</sub>\n", parts.join(" · ")) })
}

/// Page of a job's artifacts, which include the report; `None` for systems whose addresses are not known.
fn artifacts_of(run_url: &str) -> Option<String> {
    match run_url {
        github if github.contains("/actions/runs/") => Some(format!("{github}#artifacts")),
        gitlab if gitlab.contains("/-/jobs/") => Some(format!("{}/artifacts/browse", gitlab.trim_end_matches('/'))),
        _ => None,
    }
}

/// Hidden line that the next run reads: the verdict, a digest of the culprit, the pictures.
fn stamp(text: &CommentText<'_>) -> String {
    let culprit =
        text.result.culprit.as_ref().map_or_else(|| "none".to_owned(), |culprit| digest(culprit.op.as_bytes()));
    let mut stamp = format!("verdict={} culprit={culprit}", text.result.verdict.as_str());
    if !text.commit.is_empty() {
        stamp.push_str(&format!(" commit={}", text.commit));
    }
    for shown in text.pictures {
        stamp.push_str(&format!(" {}={}@{}", shown.name, shown.digest, shown.url));
    }
    stamp
}

/// The first twelve hexadecimal digits of the SHA-256 of `bytes`.
pub fn digest(bytes: &[u8]) -> String {
    let digest = format!("{:x}", Sha256::digest(bytes));
    digest.get(..12).unwrap_or(&digest).to_owned()
}

/// Address of a picture with this content, if the comment's stamp already lists one.
pub(crate) fn known_picture(body: &str, name: &str, digest: &str) -> Option<String> {
    stamped(marker::stamp(body)?, &format!("{name}={digest}@")).map(str::to_owned)
}

/// The commit that a comment of the gate is about, for any key; `None` for a comment of another pull request or program, and for
/// one without a verdict.
pub(super) fn judged_commit<'a>(body: &'a str, repository: &str, number: u64) -> Option<&'a str> {
    stamped(marker::stamp_of_any(body, repository, number)?, "commit=")
}

/// The rest of the word that begins with `start` in a comment's stamp.
fn stamped<'a>(stamp: &'a str, start: &str) -> Option<&'a str> {
    stamp.split(' ').find_map(|word| word.strip_prefix(start))
}

/// The comments with this marker and author, the oldest first.
pub(crate) fn own_comments(mut comments: Vec<Comment>, marker: &Marker, author: &str) -> Vec<Comment> {
    comments.retain(|comment| comment.author == author);
    let mut own = marker.marked_items(comments, |comment| &comment.body);
    own.sort_by_key(|comment| comment.id);
    own
}

/// Actions after which exactly one comment shows the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The first step.
    pub step: CommentStep,
    /// Superfluous comments, which are removed.
    pub remove: Vec<u64>,
}

/// Action on the comment that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentStep {
    /// Nothing to do: the comment has the text already, or no comment is wanted.
    Nothing,
    /// Create the comment: there is none yet.
    Create,
    /// Update the comment of this number.
    Update(u64),
}

/// State of the run, which decides about the comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The run has a verdict.
    Judged(Verdict),
    /// The run ended with an error.
    Refused,
    /// The run was cancelled, or does not know its own comment: an existing comment must not stay green, but no comment is created.
    UpdateOnly,
}

impl Occasion {
    /// Whether it calls for a first comment.
    fn creates(self, mode: CommentMode) -> bool {
        match self {
            Self::Judged(verdict) => mode != CommentMode::OnFailure || verdict.blocks(),
            Self::Refused => true,
            Self::UpdateOnly => false,
        }
    }
}

/// Plans the actions on the gate's own comments, given the text of this run.
pub fn plan(own: &[Comment], body: &str, mode: CommentMode, occasion: Occasion) -> Plan {
    let step = match own.first() {
        _ if mode == CommentMode::Never => CommentStep::Nothing,
        None if !occasion.creates(mode) => CommentStep::Nothing,
        None => CommentStep::Create,
        Some(first) if has_text(first, body) => CommentStep::Nothing,
        Some(first) if mode == CommentMode::OnChange && same_state(&first.body, body) => CommentStep::Nothing,
        Some(first) => CommentStep::Update(first.id),
    };
    let remove =
        if mode == CommentMode::Never { vec![] } else { own.iter().skip(1).map(|comment| comment.id).collect() };
    Plan { step, remove }
}

/// Whether a comment has exactly this text; forges change line breaks and remove those at the end.
pub(crate) fn has_text(comment: &Comment, body: &str) -> bool {
    is_same_text(&comment.body, body)
}

/// Whether two texts are the same apart from line breaks.
pub(super) fn is_same_text(one: &str, other: &str) -> bool {
    one.trim_end().lines().map(str::trim_end).eq(other.trim_end().lines().map(str::trim_end))
}

/// Whether two comments show the same verdict and culprit.
fn same_state(one: &str, other: &str) -> bool {
    let state = |body| marker::stamp(body).map(|stamp| stamp.split(' ').take(2).collect::<Vec<_>>());
    state(one) == state(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::publish::Key;

    fn comment(id: u64, author: &str, body: &str) -> Comment {
        Comment { id, author: author.into(), body: body.into(), ..Comment::default() }
    }

    fn body(key: &str, verdict: &str, rest: &str) -> String {
        let key = key.parse().expect("a key");
        format!("{rest}\n{}", Marker::of_comment("1", 5, &key).tail(&format!("verdict={verdict} culprit=none")))
    }

    #[test]
    fn a_comment_is_own_by_marker_and_author() {
        let marker = Marker::of_comment("1", 5, &Key::default());
        let quoted = format!("{}\nlook at that", body("default", "fail", "x"));
        let old = "<!-- precision-gate:v1 key=default -->\n<!-- verdict=pass culprit=none -->\n\ny\n";
        let all = vec![
            comment(9, "bot", &body("default", "fail", "x").replace('\n', "\r\n")),
            comment(3, "bot", &body("default", "pass", "y")),
            comment(4, "mallory", &body("default", "pass", "z")),
            comment(5, "bot", &body("other", "pass", "z")),
            comment(6, "bot", &quoted),
            comment(2, "bot", old),
            comment(1, "mallory", old),
        ];
        let ids = |all: &[Comment]| -> Vec<u64> {
            own_comments(all.to_vec(), &marker, "bot").iter().map(|comment| comment.id).collect()
        };
        assert_eq!(ids(&all), [3, 9]);
        assert_eq!(ids(&all[2..]), [2], "of an earlier release, where there is no other");
        let same = plan(
            &own_comments(all[2..].to_vec(), &marker, "bot"),
            &body("default", "pass", "y"),
            CommentMode::OnChange,
            Occasion::Judged(Verdict::Pass),
        );
        assert_eq!(same.step, CommentStep::Update(2), "and brought up to date though it shows the same");
    }

    #[test]
    fn one_comment_remains_and_says_what_is_wanted() {
        let (now, other) = (body("default", "fail", "now"), body("default", "fail", "before"));
        let (passed, one) = (body("default", "pass", "now"), |text: &str| vec![comment(3, "bot", text)]);
        let two = [one(&now), vec![comment(9, "bot", &other)]].concat();
        use CommentMode::{Always, Never, OnChange, OnFailure};
        for (own, body, mode, verdict, step, remove) in [
            (vec![], &now, Always, Verdict::Fail, CommentStep::Create, vec![]),
            (one(&now), &now, Always, Verdict::Fail, CommentStep::Nothing, vec![]),
            (one(&other), &now, Always, Verdict::Fail, CommentStep::Update(3), vec![]),
            (two.clone(), &now, Always, Verdict::Fail, CommentStep::Nothing, vec![9]),
            (two, &now, Never, Verdict::Fail, CommentStep::Nothing, vec![]),
            (one(&other), &now, OnChange, Verdict::Fail, CommentStep::Nothing, vec![]),
            (one(&other), &passed, OnChange, Verdict::Pass, CommentStep::Update(3), vec![]),
            (vec![], &passed, OnFailure, Verdict::Pass, CommentStep::Nothing, vec![]),
            (vec![], &now, OnFailure, Verdict::Incomplete, CommentStep::Create, vec![]),
            (one(&now), &passed, OnFailure, Verdict::Pass, CommentStep::Update(3), vec![]),
        ] {
            let planned = plan(&own, body, mode, Occasion::Judged(verdict));
            assert_eq!(planned, Plan { step, remove }, "{mode:?} {own:?}");
        }
    }

    #[test]
    fn a_run_without_a_verdict_leaves_no_green_comment() {
        let (green, unfinished) = (body("default", "pass", "now"), body("default", "unfinished", "cancelled"));
        let green = vec![comment(3, "bot", &green)];
        use CommentMode::{Always, Never, OnChange, OnFailure};
        for mode in [Always, OnChange, OnFailure] {
            for (occasion, first) in
                [(Occasion::Refused, CommentStep::Create), (Occasion::UpdateOnly, CommentStep::Nothing)]
            {
                assert_eq!(
                    plan(&green, &unfinished, mode, occasion).step,
                    CommentStep::Update(3),
                    "{mode:?} {occasion:?}"
                );
                assert_eq!(plan(&[], &unfinished, mode, occasion).step, first, "{mode:?} {occasion:?}");
            }
        }
        assert_eq!(plan(&green, &unfinished, Never, Occasion::Refused).step, CommentStep::Nothing);
    }

    #[test]
    fn pictures_are_known_by_their_content() {
        let stamp = "verdict=fail culprit=none loss=0123456789ab@/uploads/1/loss.png";
        let text = &Marker::of_comment("1", 5, &Key::default()).tail(stamp);
        assert_eq!(known_picture(text, "loss", "0123456789ab").as_deref(), Some("/uploads/1/loss.png"));
        assert_eq!(known_picture(text, "loss", "ffffffffffff"), None);
        assert_eq!(known_picture("", "loss", "0123456789ab"), None);
    }
}
