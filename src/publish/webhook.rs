//! Messages to a chat through a robot's or a system's webhook.
//!
//! One replaceable template per shape (`templates/webhook/*.json.j2`) writes the message, which must be JSON. The address is a
//! secret, since everybody who knows it can write: it comes from the environment and appears in no output. Robots may answer 200
//! with a refusal in the body, which is a failure here. A message that may have been lost is sent again, so that it can arrive
//! twice.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use minijinja::value::Serde;
use minijinja::{Value, context};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;
use sha2::Sha256;

use super::answer::Answer;
use super::call::segment;
use super::limit;
use super::transport::{http_client, innermost_cause, runtime};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::retry::{RetrySign, spread_wait};
use crate::fetch::{asked, limited};
use crate::policy::publish::{Key, WebhookShape};
use crate::report::escape::{self, TextTarget};
use crate::report::messages::Language;
use crate::report::summary::{self, is_link};
use crate::report::templates::Templates;
use crate::report::writer::Writer;
use crate::report::writer::safe;
use crate::result::GateResult;
use crate::verdict::Verdict;

/// The variable with the address.
pub const ADDRESS: &str = "PRECISION_GATE_WEBHOOK";
/// The variable with the secret that a robot of Feishu or DingTalk checks signatures by.
pub const SECRET: &str = "PRECISION_GATE_WEBHOOK_SECRET";

/// Largest size of a message's text in bytes; WeCom cuts at 2048, title and job included.
const MOST_TEXT: usize = 1_200;
/// Codes by which robots report too many messages (Feishu, DingTalk, WeCom).
const LIMITS: [i64; 4] = [9499, 11232, 130_101, 45009];

/// Content of a message.
#[derive(Clone, Copy, Debug)]
pub struct MessageText<'a> {
    /// The result.
    pub result: &'a GateResult,
    /// The language.
    pub language: Language,
    /// Templates.
    pub templates: &'a Templates,
    /// The key of the suite.
    pub key: &'a Key,
    /// The repository; empty where it is not known.
    pub repository: &'a str,
    /// The commit; empty where it is not known.
    pub commit: &'a str,
    /// The job's page; empty where there is none.
    pub run_url: &'a str,
}

/// Receiver of messages.
pub struct Hook {
    /// Format of the messages.
    pub shape: WebhookShape,
    /// The address.
    pub address: SecretString,
    /// Secret that messages are signed with; `None` where they are not signed.
    pub secret: Option<SecretString>,
    /// Milliseconds since 1970, which signatures hold.
    pub now_ms: i64,
    /// Number that spreads the retries of jobs that failed at the same time.
    pub seed: u64,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// Writes the message, unsigned.
///
/// # Errors
/// `Policy` where a template of the user's gives no JSON.
pub fn message(shape: WebhookShape, text: &MessageText<'_>) -> Result<Json> {
    let writer = Writer::from_result(text.result, text.language, TextTarget::Plain);
    let result = text.result;
    let plain = |text: &str| escape::name(text, TextTarget::Plain);
    let said = [summary::headline(result, text.language)?, place(text)];
    let lines: Vec<&str> = said.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
    let key = text.key.as_str();
    let verdict = writer.word(&format!("verdict_{}", result.verdict.as_str()))?;
    let checks: Vec<Value> = result
        .checks
        .iter()
        .filter(|check| check.verdict != Verdict::Skipped)
        .map(|check| context! { id => check.id.as_str(), verdict => check.verdict.as_str() })
        .collect();
    let context = context! {
        title => safe(format!("precision-gate {key}: {verdict}")),
        text => safe(cut(&lines.join("\n"))),
        key,
        verdict => result.verdict.as_str(),
        profile => Value::from(Serde(&result.profile)),
        today => result.today.as_str(),
        culprit => result.culprit.as_ref().map(|culprit| plain(&culprit.op)),
        checks,
        repository => plain(text.repository),
        commit => plain(text.commit),
        url => if is_link(text.run_url) { text.run_url } else { "" },
        job => writer.word("publish_run")?,
    };
    let template = text.templates.webhook(shape);
    let rendered = writer.document(template, context)?;
    serde_json::from_str(&rendered).map_err(|error| {
        let kind = if template.is_custom { ErrorKind::Policy } else { ErrorKind::Internal };
        Error::new(kind, &template.name, format!("gives no JSON: {error}"))
            .with_help("print every text by `{{ text | tojson }}`")
    })
}

/// Repository and commit in one line; empty where neither is known.
fn place(text: &MessageText<'_>) -> String {
    let commit: String = text.commit.chars().take(12).collect();
    let both = format!("{} {commit}", text.repository);
    escape::name(both.trim(), TextTarget::Plain)
}

/// Start of a text, at most [`MOST_TEXT`] bytes, cut between characters.
fn cut(text: &str) -> String {
    if text.len() <= MOST_TEXT {
        return text.to_owned();
    }
    let end = (0..=MOST_TEXT - '…'.len_utf8()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Sends a message.
///
/// # Errors
/// `Unavailable` and `Denied`, without the address; `Usage` where that is none.
pub fn post(hook: &Hook, message: Json) -> Result<()> {
    runtime()?.block_on(hook.send(message))
}

impl Hook {
    async fn send(&self, message: Json) -> Result<()> {
        let (address, message) = self.signed(message);
        let is_address = ["https://", "http://"].iter().any(|start| address.expose_secret().starts_with(start));
        if !is_address {
            return Err(Error::new(ErrorKind::Usage, ADDRESS, "is not an address")
                .with_help("set it to what the chat shows for its robot, `https://` and all"));
        }
        let client = http_client(HeaderMap::new())?;
        let (mut tries, mut waited) = (0, Duration::ZERO);
        loop {
            tries += 1;
            let sent = self.once(&client, &address, &message).await;
            let again = sent.as_ref().map_or(RetrySign::Unclear(None), Answer::retry_sign);
            let Some(wait) = limit::RETRY.next_wait(tries, again, waited) else { return self.settled(sent, waited) };
            waited += wait;
            tokio::time::sleep(spread_wait(wait, self.seed)).await;
        }
    }

    /// Makes one try; a refusal in the body of an answer with status 200 counts as a failure.
    async fn once(&self, client: &reqwest::Client, address: &SecretString, message: &Json) -> Result<Answer, String> {
        let sent = async {
            let response = client.post(address.expose_secret()).json(message).send().await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let read = limited::read(response.bytes_stream(), limit::WORD).await?;
            Ok::<_, reqwest::Error>((status, headers, read))
        };
        let in_time = tokio::time::timeout(limit::TIME, sent).await;
        let in_time = in_time.map_err(|_| format!("no complete answer in {}", asked::wait_in_words(limit::TIME)))?;
        let (status, headers, read) = in_time.map_err(|error| innermost_cause(&error))?;
        let body = String::from_utf8_lossy(&read.bytes).into_owned();
        let status = match refusal(self.shape, &body) {
            Some(code) if status < 300 && LIMITS.contains(&code) => 429,
            Some(_) if status < 300 => 400,
            _ => status,
        };
        Ok(Answer { status, headers, body, longer_than: (!read.is_complete).then_some(limit::WORD) })
    }

    /// Result of sending a message, after `waited` in all.
    fn settled(&self, sent: Result<Answer, String>, waited: Duration) -> Result<()> {
        let (kind, said) = match sent {
            Ok(answer) if answer.is_success() => match unsaid(self.shape, &answer) {
                None => return Ok(()),
                Some(lacks) => (ErrorKind::Unavailable, format!("answered {} {lacks}", answer.status)),
            },
            Ok(answer) => {
                let kind = if answer.status < 500 && answer.status != 429 {
                    ErrorKind::Denied
                } else {
                    ErrorKind::Unavailable
                };
                let asked = answer.too_long_a_wait(waited);
                (kind, format!("{}{asked}", format!("answered {} {}", answer.status, said(&answer)).trim_end()))
            }
            Err(error) => (ErrorKind::Unavailable, error),
        };
        Err(Error::new(kind, "could not send to the webhook", self.without_secrets(said.trim_end())).with_help(
            format!("check {ADDRESS}, the keywords that the robot asks for, and {SECRET} where it checks signatures"),
        ))
    }

    /// Address and message, signed for a robot that checks signatures.
    ///
    /// Feishu: base64 of HMAC-SHA256 with `timestamp\nsecret` for the key and nothing for the message, in the body, seconds.
    /// DingTalk: with the secret for the key and `timestamp\nsecret` for the message, in the address, milliseconds.
    fn signed(&self, mut message: Json) -> (SecretString, Json) {
        let Some(secret) = self.secret.as_ref().map(|secret| secret.expose_secret()) else {
            return (self.address.clone(), message);
        };
        match self.shape {
            WebhookShape::Feishu => {
                let timestamp = (self.now_ms / 1000).to_string();
                let sign = hmac(&format!("{timestamp}\n{secret}"), "");
                // A template of the user's may give something other than an object, which the robot refuses.
                if let Json::Object(fields) = &mut message {
                    fields.insert("sign".into(), sign.into());
                    fields.insert("timestamp".into(), timestamp.into());
                }
                (self.address.clone(), message)
            }
            WebhookShape::Dingtalk => {
                let sign = segment(&hmac(secret, &format!("{}\n{secret}", self.now_ms)));
                let address = self.address.expose_secret();
                let and = if address.contains('?') { '&' } else { '?' };
                (format!("{address}{and}timestamp={}&sign={sign}", self.now_ms).into(), message)
            }
            WebhookShape::Wecom | WebhookShape::Slack | WebhookShape::Json => (self.address.clone(), message),
        }
    }

    /// Removes secrets from a text of the server, which may repeat the request.
    fn without_secrets(&self, text: &str) -> String {
        let address = self.address.expose_secret();
        let token = address.rsplit(['/', '=']).next().unwrap_or_default();
        let secret = self.secret.as_ref().map_or("", |secret| secret.expose_secret());
        let hidden = [address, token, secret].into_iter().filter(|word| !word.is_empty());
        hidden.fold(text.to_owned(), |text, word| text.replace(word, "***"))
    }
}

/// The fields of an answer in which a robot reports whether it accepted a message; other systems report it by the status alone.
fn fields(shape: WebhookShape) -> &'static [&'static str] {
    match shape {
        WebhookShape::Feishu => &["code", "StatusCode"],
        WebhookShape::Dingtalk | WebhookShape::Wecom => &["errcode"],
        WebhookShape::Slack | WebhookShape::Json => &[],
    }
}

/// Code in a robot's answer, 0 if it accepted the message; `None` without a code.
fn word(shape: WebhookShape, body: &str) -> Option<i64> {
    let answer: BTreeMap<String, Json> = serde_json::from_str(body).ok()?;
    fields(shape).iter().find_map(|key| answer.get(*key)?.as_i64())
}

/// The code of a refusal in an answer whose status reports success.
fn refusal(shape: WebhookShape, body: &str) -> Option<i64> {
    word(shape, body).filter(|code| *code != 0)
}

/// The part that is missing in a robot's answer of success; `None` if it is complete.
fn unsaid(shape: WebhookShape, answer: &Answer) -> Option<String> {
    let fields = fields(shape);
    let is_unsaid = !fields.is_empty() && word(shape, &answer.body).is_none();
    answer
        .too_long_message()
        .or_else(|| is_unsaid.then(|| format!("without `{}`, so it was not confirmed", fields.join("` or `"))))
}

/// Body of the answer, in one short line.
fn said(answer: &Answer) -> String {
    let body: BTreeMap<String, Json> = serde_json::from_str(&answer.body).unwrap_or_default();
    let words = ["errmsg", "msg", "StatusMessage", "message", "error"];
    let word = words.iter().find_map(|key| body.get(*key)?.as_str()).unwrap_or(&answer.body);
    escape::cleaned(word).chars().take(200).collect()
}

fn hmac(key: &str, text: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else { return String::new() };
    mac.update(text.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(shape: WebhookShape, address: &str, secret: Option<&str>) -> Hook {
        let secret = secret.map(|text| SecretString::from(text.to_owned()));
        Hook { shape, address: address.to_owned().into(), secret, now_ms: 1_700_000_000_123, seed: 1 }
    }

    /// Signatures computed with Python's `hmac`, as both vendors' pages show it.
    #[test]
    fn robots_get_the_signatures_that_they_check() {
        let (_, message) = hook(WebhookShape::Feishu, "https://x/hook", Some("s3cret")).signed(serde_json::json!({}));
        assert_eq!(message["timestamp"], "1700000000");
        assert_eq!(message["sign"], "IX3eHI0/v/Td7jqJ0ynSEK3Dq5JY3HUZeoeMgVZeZGo=");
        let (address, message) =
            hook(WebhookShape::Dingtalk, "https://x/?t=1", Some("s3cret")).signed(serde_json::json!({}));
        assert_eq!(message, serde_json::json!({}));
        let wanted = "https://x/?t=1&timestamp=1700000000123&sign=Q%2FGu1K6gif%2F%2FXkCNhmmMXCz3dFOshDi118WieTgZpto%3D";
        assert_eq!(address.expose_secret(), wanted);
    }

    #[test]
    fn a_refusal_with_200_is_seen() {
        use WebhookShape::{Dingtalk, Feishu, Json, Slack, Wecom};
        for (shape, body, code) in [
            (Feishu, r#"{"code":19021,"msg":"sign match fail"}"#, Some(19021)),
            (Feishu, r#"{"StatusCode":0,"StatusMessage":"success","code":0}"#, None),
            (Dingtalk, r#"{"errcode":310000,"errmsg":"keywords not in content"}"#, Some(310_000)),
            (Wecom, r#"{"errcode":0,"errmsg":"ok"}"#, None),
            (Slack, "ok", None),
            (Json, r#"{"code":7}"#, None),
        ] {
            assert_eq!(refusal(shape, body), code, "{body}");
        }
    }

    #[test]
    fn a_robot_that_does_not_say_that_it_took_a_message_did_not() {
        use WebhookShape::{Dingtalk, Feishu, Json, Slack, Wecom};
        let taken = |shape, body: &str| {
            unsaid(shape, &Answer { status: 200, body: body.into(), ..Answer::default() }).is_none()
        };
        for shape in [Feishu, Dingtalk, Wecom] {
            assert!(taken(shape, r#"{"code":0,"errcode":0}"#));
            for body in ["", "null", "<html>", "{}", "[0]", r#"{"code":"0","errcode":"0"}"#, r#"{"code":0,"errcode":0"#]
            {
                assert!(!taken(shape, body), "{shape:?} {body}");
            }
        }
        assert!(taken(Slack, "ok") && taken(Json, ""));
    }

    #[test]
    fn texts_are_cut_between_characters_and_secrets_hidden() {
        assert!(cut(&"模型".repeat(1000)).len() <= MOST_TEXT);
        assert_eq!(cut("short"), "short");
        let hook = hook(WebhookShape::Feishu, "https://x/hook/abc-def", Some("s3cret"));
        assert_eq!(hook.without_secrets("no abc-def, s3cret at https://x/hook/abc-def"), "no ***, *** at ***");
        assert!(!format!("{hook:?}").contains("abc"));
    }
}
