//! Terms and rules for Chinese texts: names, codes, metrics, and the words that the Ascend community writes in
//! Latin letters.

use std::collections::BTreeSet;

use regex::Regex;

/// Terms and names that stand in Chinese sentences as they are. Words of capitals, words with a digit, `_`, `.` or `=` in
/// them, and everything in code spans are names anyway.
const TERMS: &str = "\
    Adam AdamW RoPE LoRA Ascend atol rtol Dependabot GitHub GitLab Mermaid NaN NumPy Python TensorBoard cuBLAS cuDNN in-toto msprobe precision-gate \
    argmax erf tanh epsilon MoE own-weights same-weights true on yes Atlas tokenizer Hugging Face matmul Mann-Kendall Theil-Sen \
    Bonferroni Mann-Whitney datasets deepspeed megatron megatron-core mindspore peft transformers Polygraphy \
    FlagPerf Megatron-LM MindSpore Transformers MindSpeed-LLM MindSpeed-MM OpenRLHF verl \
    prefixes torch numpy python pip Megatron MindSpeed Rust Schema Lines torchtitan safetensors explain \
    attention autocast autograd batch benchmark beta bias bit-exact buffer checkpoint clip compile config dataset default detach \
    device double dropout dtype dump embedding epoch eps exp fork fused global gradient hook host inf input issue kernel \
    level list logits loss mask master micro micro-batch mix nan next-dump norm operations optimizer out output padding \
    kB MB GB param permute pow profile profiling rank release requires reshape scale scaler schedule seed shape shuffle sigmoid softmax static dynamic \
    statistics step strict suite summary task tensor token warmup warm-up worker id baseline lr bfloat seq tag log job \
    pass warn fail incomplete skipped info max min mean margin csv page issues report json md html yml policy debug dict state xor https None ConfigChecker \
    PyTorch Profiler profiler trace Core MHz ms us bucket stream tiling head AISBench OpenCompass evalscope lm-evaluation-harness vLLM OpenAI Holm few-shot prefill cache nat MiB bleu chrf ter logprob slime sglang adapter top-k top-p \
    MLflow SQLite SwanLab Trackio diff meta KiB GiB TiB pickle storage zip tar npy npz pt sh yaml hunk deflate gzip git diff-tree secret shell \
    webhook api src obs nginx Slurm Kubernetes lm-eval nvdlfw-inspect unified dumper reward site-packages branch precision-history gitlab github \
    memo query key Reporter pull request push feishu dingtalk wecom slack Slack incoming Environments Zstandard GitCode Actions Enterprise \
    Gitea Forgejo Gitee alpha power Pages Excel samples-too-few-runs diagnoses monitor pytest dp pp";

/// Text without what is quoted in it: code, addresses, templates' holes, digests.
fn without_quotes(text: &str) -> String {
    let quoted = [
        r"(?s)<(script|style|code|pre)\b.*?</(script|style|code|pre)>",
        r"(?s)<!--.*?-->",
        r"<[^<>]*>",
        r"(?s)```.*?```",
        r"``[^\n]*?``",
        r"`[^`]{1,200}`",
        r"\{\{.*?\}\}",
        r"\{%.*?%\}",
        r"\{\w+\}",
        r"&[a-z]+;",
        r#"(?:https?|sha256|s3|baseline):[^\s）]+"#,
        r"(?:^|\s)--?[a-z][a-z-]*",
        r"[\w.\-]*/[\w./\-]+",
        // A line of msprobe's configuration, or of source code.
        r#"(?m)^\s+[{}"\[\]].*$"#,
    ];
    let mut text = text.to_owned();
    for pattern in quoted {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, "\u{1}").into_owned();
    }
    text
}

/// English words that a Chinese text still holds; `names` are the words of artifacts that it may quote.
pub(crate) fn english(text: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let terms: BTreeSet<&str> = TERMS.split_whitespace().collect();
    let word = Regex::new(r"[A-Za-z0-9_][A-Za-z0-9_.=()\[\]\-]*[A-Za-z0-9_)\]]").expect("a pattern");
    let text = without_quotes(text);
    let is_name = |word: &str| {
        let has = |letter: fn(&char) -> bool| word.chars().any(|each| letter(&each));
        has(|letter| letter.is_ascii_digit() || "_.=()[]".contains(*letter))
            || !has(char::is_ascii_lowercase)
            || terms.contains(word)
            || names.contains(word)
    };
    word.find_iter(&text).map(|found| found.as_str()).filter(|word| !is_name(word)).map(str::to_owned).collect()
}

/// Places with a space between two Chinese characters, or beside Chinese punctuation.
pub(crate) fn stray_spaces(text: &str) -> Vec<String> {
    let chinese = r"[\p{Han}，。：；、（）！？「」《》]";
    let stray =
        Regex::new(&format!(r"{chinese} {chinese}|[，。：；、（！？] [A-Za-z0-9`]|[A-Za-z0-9`] [，。：；、）！？]"))
            .expect("a pattern");
    stray.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}
