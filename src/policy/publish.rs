//! Publishing: where and how a verdict is shown beside a commit.
//!
//! Nothing here changes a verdict.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Publishing.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PublishPolicy {
    /// Tells the comments and checks of several gates in one repository apart.
    pub key: Option<Key>,
    /// Occasions on which the comment is written.
    pub comment: Option<CommentMode>,
    /// Form of the verdict beside the commit.
    pub check: Option<CheckMode>,
    /// Way of pictures into the comment.
    pub image: Option<ImageMode>,
    /// Conclusion of a check whose verdict is `warn`.
    pub warn: Option<WarnAs>,
    /// Whether a suite that blocks without a pull request (every night) gets an issue, closed when it is green again.
    pub issue: Option<bool>,
    /// The chat or system that a webhook tells; its address comes from the environment alone.
    pub webhook: Option<WebhookShape>,
    /// Occasions on which the webhook gets a message.
    pub webhook_on: Option<WebhookOn>,
}

impl PublishPolicy {
    /// Reads the publishing section of a policy file whose other parts may be wrong, so that a refused run is reported under the
    /// usual key. `None` where the section cannot be read.
    pub fn from_damaged(text: &str) -> Option<Self> {
        let whole: serde_yaml::Value = serde_yaml::from_str(text).ok()?;
        match whole.get("publish") {
            Some(section) => serde_yaml::from_value(section.clone()).ok(),
            None => (whole.is_mapping() || whole.is_null()).then(Self::default),
        }
    }
}

/// Occasions on which the comment is written. An existing comment is updated in place, never doubled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum CommentMode {
    /// Always: it shows the latest run
    #[default]
    Always,
    /// Once written, it changes only with the verdict or the culprit
    OnChange,
    /// First when the gate blocks; updated from then on
    OnFailure,
    /// Not at all
    Never,
}

/// Form of the verdict beside the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum CheckMode {
    /// A check run with the whole report (GitHub), else a commit status
    Check,
    /// A commit status: one line
    Status,
    /// Not at all
    None,
}

/// Way of pictures into the comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ImageMode {
    /// GitLab: uploaded to the project; elsewhere a diagram as text
    #[default]
    Auto,
    /// A diagram as text
    Mermaid,
    /// On a branch of their own in the repository (GitHub; needs `contents: write`)
    Branch,
    /// Not at all
    None,
}

/// Conclusion of a check whose verdict is `warn`. Only `failure` blocks where the check is required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum WarnAs {
    /// Neither good nor bad
    #[default]
    Neutral,
    /// Good
    Success,
    /// Bad: it blocks where the check is required
    Failure,
}

/// Format of a webhook's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum WebhookShape {
    /// A robot of a Feishu or Lark group
    Feishu,
    /// A robot of a DingTalk group
    Dingtalk,
    /// A robot of a WeCom group
    Wecom,
    /// An incoming webhook of Slack, or of a system that takes the same
    Slack,
    /// Plain JSON, for a system of your own
    Json,
}

/// Occasions on which a webhook gets a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum WebhookOn {
    /// After runs that block
    #[default]
    Alert,
    /// After every run
    Always,
}

/// A name of 1 to 64 letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub struct Key(String);

impl Key {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Key {
    fn default() -> Self {
        Self("default".into())
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=64).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Self(text));
        }
        Err(format!("expects 1 to 64 letters, digits, `.`, `_` or `-`, not `{text}`"))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Key {
    fn schema_name() -> Cow<'static, str> {
        "Key".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "examples": ["nightly"]})
    }
}

#[cfg(test)]
mod tests {
    use super::{CommentMode, Key, PublishPolicy};

    #[test]
    fn a_damaged_policy_may_still_say_where_to_tell_it() {
        let said = |text: &str| {
            PublishPolicy::from_damaged(text).map(|policy| (policy.key.map(|key| key.to_string()), policy.comment))
        };
        for (text, found) in [
            ("no-such-key: 1", Some((None, None))),
            ("", Some((None, None))),
            (
                "no-such-key: 1\npublish: { key: night, comment: never }",
                Some((Some("night".to_owned()), Some(CommentMode::Never))),
            ),
            ("publish: { key: 'a b' }", None),
            ("publish: { kee: night }", None),
            ("publish: [", None),
            ("just words", None),
        ] {
            assert_eq!(said(text), found, "{text}");
        }
    }

    #[test]
    fn a_key_fits_into_a_marker() {
        for (text, fits) in [("gpt-7b.nightly_1", true), ("", false), ("a b", false), ("a-->", false), ("模型", false)]
        {
            assert_eq!(text.parse::<Key>().is_ok(), fits, "{text}");
        }
        assert!("k".repeat(65).parse::<Key>().is_err());
    }
}
