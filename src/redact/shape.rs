//! Credentials known by their shape.

use super::name::looks_secret;

/// Replacement for a secret.
pub(crate) const REDACTED: &str = "<redacted>";

/// Prefixes of tokens of well-known services.
const PREFIXES: [&str; 19] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "glcbt-",
    "hf_",
    "sk-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "eyJ",
    "npm_",
    "pypi-",
    "dckr_pat_",
    "AIza",
];
/// Shortest rest after such a prefix.
const SHORTEST_REST: usize = 16;

/// `text` without tokens of well-known services, user names and passwords in addresses, and literals that are
/// assigned to a name that looks secret.
pub(super) fn without_credentials(text: &str) -> String {
    let text = without_literals(&without_user_info(text));
    if !PREFIXES.iter().any(|prefix| text.contains(prefix)) {
        return text;
    }
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let len = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(len);
        out.push_str(if is_token(word) { REDACTED } else { word });
        let gap = after.find(is_part).unwrap_or(after.len());
        let (between, next) = after.split_at(gap);
        out.push_str(between);
        rest = next;
    }
    out
}

fn is_token(word: &str) -> bool {
    PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix)).any(|rest| {
        rest.len() >= SHORTEST_REST
            && rest.bytes().any(|b| b.is_ascii_digit())
            && rest.bytes().any(|b| b.is_ascii_alphabetic())
    })
}

/// `scheme://user:password@host` to `scheme://<redacted>@host`.
fn without_user_info(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let authority = after.split(['/', ' ', '"', '\'', '\n', '?', '#']).next().unwrap_or(after);
        rest = match authority.rfind('@') {
            Some(at) => {
                out.push_str(REDACTED);
                after.get(at..).unwrap_or_default()
            }
            None => after,
        };
    }
    out + rest
}

/// `password = "x"` to `password = "<redacted>"`, in the source lines of call stacks.
fn without_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(start);
        let (quote, inner) = quoted.split_at(1);
        let len = inner.find(quote).unwrap_or(inner.len());
        let (literal, after) = inner.split_at(len);
        out.push_str(before);
        out.push_str(quote);
        out.push_str(if !literal.is_empty() && assigned_to_secret(before) { REDACTED } else { literal });
        let closing = after.len().min(1);
        out.push_str(after.get(..closing).unwrap_or_default());
        rest = after.get(closing..).unwrap_or_default();
    }
    out + rest
}

/// Whether the text before a literal ends in `name =` or `name:` with a name that looks secret.
fn assigned_to_secret(before: &str) -> bool {
    let Some(before) = before.trim_end().strip_suffix(['=', ':']) else { return false };
    let before = before.trim_end();
    let start = before
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
        .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    before.get(start..).is_some_and(looks_secret)
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn credentials_are_cut_out_and_the_rest_stays() {
        for (text, expected) in [
            ("x https://me:pw@host/a?b, y", "x https://<redacted>@host/a?b, y"),
            ("login(token=\"abc\", n=3)", "login(token=\"<redacted>\", n=3)"),
            ("h = {'x': 'y'}; password: 'p q'", "h = {'x': 'y'}; password: '<redacted>'"),
            ("use ghp_0123456789abcdefABCD now", "use <redacted> now"),
            ("hf_model_name sk-learn eyJ", "hf_model_name sk-learn eyJ"),
            (
                "torch.manual_seed(int(os.environ.get(\"JOB_SEED\", \"1\")))",
                "torch.manual_seed(int(os.environ.get(\"JOB_SEED\", \"1\")))",
            ),
            ("unclosed 'quote", "unclosed 'quote"),
            ("学习率 = \"中\"", "学习率 = \"中\""),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in "\\PC{0,60}") {
            let _ = without_credentials(&text);
        }
    }
}
