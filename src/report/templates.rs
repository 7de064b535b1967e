//! Templates of documents: the built-in ones, and those that a user provides instead.

use std::fs;
use std::path::Path;

use super::writer::Template;
use crate::error::{Error, Result};
use crate::policy::publish::WebhookShape;

/// Every template of a run.
#[derive(Clone, Debug)]
pub struct Templates {
    /// `summary.md.j2`
    pub summary: Template,
    /// `page.html.j2`
    pub page: Template,
    /// `signoff.md.j2`
    pub signoff: Template,
    /// `signoff.html.j2`
    pub signoff_page: Template,
    /// `webhook/*.json.j2`, in the order of [`Templates::FILES`].
    webhooks: [Template; 5],
}

impl Templates {
    /// The built-in templates.
    pub fn shipped() -> Self {
        let template =
            |name: &str, source: &str| Template { name: name.into(), source: source.into(), is_custom: false };
        Self {
            summary: template("summary.md.j2", include_str!("../../templates/report/summary.md.j2")),
            page: template("page.html.j2", include_str!("../../templates/report/page.html.j2")),
            signoff: template("signoff.md.j2", include_str!("../../templates/report/signoff.md.j2")),
            signoff_page: template("signoff.html.j2", include_str!("../../templates/report/signoff.html.j2")),
            webhooks: [
                template("webhook/feishu.json.j2", include_str!("../../templates/webhook/feishu.json.j2")),
                template("webhook/dingtalk.json.j2", include_str!("../../templates/webhook/dingtalk.json.j2")),
                template("webhook/wecom.json.j2", include_str!("../../templates/webhook/wecom.json.j2")),
                template("webhook/slack.json.j2", include_str!("../../templates/webhook/slack.json.j2")),
                template("webhook/json.json.j2", include_str!("../../templates/webhook/json.json.j2")),
            ],
        }
    }

    /// The file names of all templates.
    pub const FILES: [&'static str; 9] = [
        "summary.md.j2",
        "page.html.j2",
        "signoff.md.j2",
        "signoff.html.j2",
        "webhook/feishu.json.j2",
        "webhook/dingtalk.json.j2",
        "webhook/wecom.json.j2",
        "webhook/slack.json.j2",
        "webhook/json.json.j2",
    ];

    /// The template of a webhook's message.
    pub fn webhook(&self, shape: WebhookShape) -> &Template {
        let [feishu, dingtalk, wecom, slack, json] = &self.webhooks;
        match shape {
            WebhookShape::Feishu => feishu,
            WebhookShape::Dingtalk => dingtalk,
            WebhookShape::Wecom => wecom,
            WebhookShape::Slack => slack,
            WebhookShape::Json => json,
        }
    }

    /// The built-in templates, replaced by files of the same names in `folder`.
    pub fn with_folder(folder: &Path) -> Result<Self> {
        fs::read_dir(folder).map_err(|error| Error::io(folder.display().to_string(), &error))?;
        Self::with_reader(folder, |path| match path.exists() {
            true => fs::read_to_string(path).map(Some).map_err(|error| Error::io(path.display().to_string(), &error)),
            false => Ok(None),
        })
    }

    /// The built-in templates, replaced by the texts that `read` gives for files of the same names in `folder`.
    pub fn with_reader(folder: &Path, mut read: impl FnMut(&Path) -> Result<Option<String>>) -> Result<Self> {
        let mut templates = Self::shipped();
        let Self { summary, page, signoff, signoff_page, webhooks } = &mut templates;
        for template in [summary, page, signoff, signoff_page].into_iter().chain(webhooks) {
            let path = folder.join(&template.name);
            if let Some(source) = read(&path)? {
                *template = Template { name: path.display().to_string(), source, is_custom: true };
            }
        }
        Ok(templates)
    }
}
