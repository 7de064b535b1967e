//! Answers of Gitee and GitCode, where they differ from GitHub's.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::github::Login;
use super::nullable;
use crate::publish::forge;

/// A comment. GitCode's `id` may be a text of its own; later calls want the number beside it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Shown")]
pub struct Comment(forge::Comment);

#[derive(Debug, Deserialize)]
struct Shown {
    id: Id,
    #[serde(default)]
    note_id: Option<NonZeroU64>,
    #[serde(default)]
    body: Option<String>,
    #[serde(deserialize_with = "nullable")]
    user: Option<Login>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id {
    Number(NonZeroU64),
    Text(serde::de::IgnoredAny),
}

impl TryFrom<Shown> for Comment {
    type Error = &'static str;

    fn try_from(shown: Shown) -> Result<Self, Self::Error> {
        let id = match (shown.note_id, shown.id) {
            (Some(id), _) | (None, Id::Number(id)) => id,
            (None, Id::Text(_)) => return Err("no number among its ids"),
        };
        let author = shown.user.map_or_else(String::new, |user| user.login);
        Ok(Self(forge::Comment {
            id: id.get(),
            author,
            body: shown.body.unwrap_or_default(),
            ..forge::Comment::default()
        }))
    }
}

impl From<Comment> for forge::Comment {
    fn from(comment: Comment) -> Self {
        comment.0
    }
}

#[cfg(test)]
mod tests {
    use super::Comment;
    use crate::publish::forge;

    #[test]
    fn the_number_counts_whichever_field_holds_it() {
        for (text, id) in [
            (r#"{"id":5,"body":"x","user":{"login":"a"}}"#, Some(5)),
            (r#"{"id":"5abc","note_id":7,"body":"x","user":{"login":"a"}}"#, Some(7)),
            (r#"{"id":"5abc","body":"x","user":{"login":"a"}}"#, None),
            (r#"{"id":0,"body":"x","user":{"login":"a"}}"#, None),
            (r#"{"note_id":7,"body":"x","user":{"login":"a"}}"#, None),
        ] {
            let read = serde_json::from_str::<Comment>(text).ok();
            assert_eq!(read.map(|comment| forge::Comment::from(comment).id), id, "{text}");
        }
    }
}
