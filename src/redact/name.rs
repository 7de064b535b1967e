//! Names that look secret.

/// Words that make a name secret wherever they stand in it.
const SECRET: [&str; 28] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "cookie",
    "cookies",
    "auth",
    "authorization",
    "authtoken",
    "accesstoken",
    "bearer",
    "jwt",
    "oauth",
    "dsn",
    "webhook",
    "sas",
    "netrc",
    "kubeconfig",
    "userpass",
    "htpasswd",
];

/// Words that make a name secret as its last one.
const SECRET_LAST: [&str; 6] = ["pat", "pwd", "pass", "ak", "sk", "pin"];

/// Words before `key` that make it a secret one; `query_key` and `prompt_key` are none.
const KEY_OF: [&str; 36] = [
    "api",
    "access",
    "secret",
    "private",
    "encryption",
    "signing",
    "ssh",
    "gpg",
    "account",
    "license",
    "storage",
    "auth",
    "deploy",
    "service",
    "shared",
    "subscription",
    "openai",
    "azure",
    "aws",
    "aliyun",
    "huawei",
    "huaweicloud",
    "obs",
    "oss",
    "s3",
    "wandb",
    "comet",
    "hf",
    "anthropic",
    "deepseek",
    "dashscope",
    "modelscope",
    "swanlab",
    "neptune",
    "google",
    "hub",
];

/// Words before `token` that make it one of a vocabulary.
const VOCABULARY: [&str; 36] = [
    "pad",
    "eos",
    "bos",
    "unk",
    "mask",
    "sep",
    "cls",
    "image",
    "video",
    "audio",
    "special",
    "stop",
    "start",
    "end",
    "begin",
    "prompt",
    "think",
    "system",
    "user",
    "assistant",
    "per",
    "next",
    "first",
    "last",
    "each",
    "every",
    "trigger",
    "placeholder",
    "fill",
    "vision",
    "speech",
    "sink",
    "register",
    "moe",
    "class",
    "sub",
];

/// Whether the value of a variable or setting with this name should be kept out of every output.
///
/// Words are parted by anything that is not a letter or digit, and where a lower-case letter meets a capital. The
/// working directory (`PWD`, `OLDPWD`) is not a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [before @ .., last] = words.as_slice() else { return false };
    words.iter().any(|word| SECRET.contains(word))
        || (SECRET_LAST.contains(last) && !before.is_empty())
        || words.windows(2).any(|pair| matches!(pair, [of, "key" | "keys"] if KEY_OF.contains(of)))
        || is_secret_token(&words)
}

/// `HF_TOKEN`, `token`, `token_value`; not `max_tokens`, `pad_token`, `token_dispatcher`.
fn is_secret_token(words: &[&str]) -> bool {
    let holder = match words {
        [before @ .., "token"] | [before @ .., "token", "value" | "file" | "path" | "string" | "secret"] => before,
        _ => return false,
    };
    holder.last().is_none_or(|word| !VOCABULARY.contains(word))
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for character in name.chars() {
        let starts_word = after_lower && character.is_uppercase();
        if (starts_word || !character.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        after_lower = character.is_lowercase() || character.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn secrets_are_told_from_the_words_of_the_field() {
        for name in [
            "HF_TOKEN",
            "token",
            "hub-token",
            "WANDB_API_KEY",
            "wandb.apiKey",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "ACCESS_KEY_ID",
            "OBS_SK",
            "GITHUB_PAT",
            "smtp_pass",
            "private-key",
            "OPENAI_KEY",
            "db_pwd",
            "SSH_AUTH_SOCK",
            "dataset.auth_header",
            "CI_JOB_TOKEN",
            "TOKEN_FILE",
            "adminPassword",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "max_tokens",
            "pad_token",
            "image_token_id",
            "moe-token-dispatcher-type",
            "tokenizer_model",
            "query_key",
            "data.prompt_key",
            "PWD",
            "OLDPWD",
            "PATH",
            "lr",
            "seed",
            "apply_query_key_layer_scaling",
            "kv_channels",
            "attention_mask",
            "bypass",
            "PYTHONHASHSEED",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
