//! Files of a checkout as a proposal: compared with the tip of the branch that they go to, and told to its reviewers.

use std::path::{Path, PathBuf};

use minijinja::context;
use precision_gate::error::Result;
use precision_gate::gate::promote::{Promoted, Promotion};
use precision_gate::publish::Session;
use precision_gate::publish::comment::digest;
use precision_gate::publish::proposal::{Proposal, ProposedFile};
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer::Writer;

use super::policy_file;

/// Pushes a proposal, and says in Markdown where it is reviewed.
pub(crate) fn propose(session: &mut Session, proposal: &Proposal, language: Language) -> Result<String> {
    let proposed = session.propose(proposal)?;
    let (writer, url) = (Writer::new(language, TextTarget::Markdown), &proposed.url);
    let context = context! { branch => &proposal.branch, target => &proposal.target };
    let Some(pull) = proposed.pull else {
        let open = writer.word("publish_answer_open")?;
        return Ok(format!("{} [{open}]({url})", writer.phrase("publish_answer_pushed", &context)?));
    };
    let key = if proposed.is_known { "publish_answer_known" } else { "publish_answer_opened" };
    Ok(format!("[#{pull}]({url}) {}", writer.phrase(key, &context)?))
}

/// The branch that a proposal goes to.
pub(crate) struct Onto<'a> {
    /// The forge.
    pub(crate) session: &'a mut Session,
    /// Its name.
    pub(crate) branch: String,
    /// Its newest commit.
    pub(crate) tip: String,
}

/// Words of a proposal.
pub(crate) struct Words<'a> {
    /// Start of the branch's name, behind `precision-gate/`.
    pub(crate) name: &'a str,
    /// Name of the phrases, as in `publish_answer_{kind}_title`.
    pub(crate) kind: &'a str,
    /// Context of the phrases.
    pub(crate) context: &'a minijinja::Value,
    /// The language.
    pub(crate) language: Language,
}

impl Onto<'_> {
    /// The text of a file of the checkout `root`, empty where it is not there; `None` where the tip has another one.
    pub(crate) fn same_text(&mut self, root: &Path, path: &str) -> Result<Option<String>> {
        let here = policy_file::text_of(&root.join(path))?.unwrap_or_default();
        let there = self.session.file(path, &self.tip)?.unwrap_or_default();
        Ok((here == there).then_some(here))
    }

    /// The proposal of what a promotion wrote to the checkout; `number` is of the pull request that it answers, else empty.
    pub(crate) fn baseline(
        &mut self,
        promotion: &Promotion,
        promoted: &Promoted,
        number: &str,
        (context, language): (minijinja::Value, Language),
    ) -> Result<Proposal> {
        let Promotion { root, name, location, reason, .. } = promotion;
        let file = |path: &PathBuf| {
            let named = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
            let is_there = self.session.file(&named, &self.tip)?.is_some();
            Ok(ProposedFile { path: named, text: policy_file::read(path)?, is_there })
        };
        let files = promoted.written.iter().map(file).collect::<Result<Vec<_>>>()?;
        let context = context! { name, location, reason, number, changes => &promoted.changes, ..context };
        let name = ["baseline", name, number].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        self.proposal(files, &Words { name: &name, kind: "baseline", context: &context, language })
    }

    /// The proposal of `files`, on a branch that is named by what they hold.
    pub(crate) fn proposal(&self, files: Vec<ProposedFile>, words: &Words<'_>) -> Result<Proposal> {
        let content: String = files.iter().map(|file| format!("{}\0{}\0", file.path, file.text)).collect();
        let phrase = |target, part: &str| {
            Writer::new(words.language, target).phrase(&format!("publish_answer_{}_{part}", words.kind), words.context)
        };
        Ok(Proposal {
            branch: format!("precision-gate/{}-{}", words.name, digest(content.as_bytes())),
            target: self.branch.clone(),
            tip: self.tip.clone(),
            files,
            title: phrase(TextTarget::Plain, "title")?,
            body: phrase(TextTarget::Markdown, "body")?,
        })
    }
}
