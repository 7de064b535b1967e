//! `docs/invariants.md` and `docs/invariants.zh.md`: what every sound run keeps, from the table that judges by it.

use std::fmt::Write;

use precision_gate::judge::invariants::ALL;
use precision_gate::report::messages::Language;
use precision_gate::report::phrases;

use super::fresh::is_fresh;

const ENGLISH: &str = "# What every sound run keeps\n\n\
    The invariants that [one run by itself](health.md) is held by, as `looked` in `result.json` names them: `held`, `broken`, or\n\
    `not-looked` with a reason. The second column lists [findings](findings.md) that break one, the third every reason why it\n\
    may not be looked at. Made by `UPDATE_DOCS=1 cargo test --locked --test all docs::`.\n\n\
    | sound | broken by | not looked at |\n| --- | --- | --- |\n";
const CHINESE: &str = "# 正常训练应满足的规则\n\n\
    [单侧训练](health.md)按以下规则检查。`result.json` 的 `looked` 逐条列出其状态：`held`（成立）、`broken`（不成立）或\n\
    `not-looked`（未检查，附原因）。第二列为使其不成立的[问题编码](findings.zh.md)，第三列为可能的未检查原因。由\n\
    `UPDATE_DOCS=1 cargo test --locked --test all docs::` 生成。\n\n\
    | 规则 | 不成立时的问题 | 未检查的原因 |\n| --- | --- | --- |\n";

#[test]
fn the_page_of_invariants_lists_the_table() {
    for (name, language, head, findings) in [
        ("invariants.md", Language::En, ENGLISH, "findings.md"),
        ("invariants.zh.md", Language::Zh, CHINESE, "findings.zh.md"),
    ] {
        let mut page = head.to_owned();
        let text = |key: String| phrases::find(&key, language).expect("a text");
        for row in &ALL {
            let invariant = row.invariant.as_str();
            let rules: Vec<String> =
                row.rules.iter().map(|rule| format!("[`{0}`]({findings}#{0})", rule.code)).collect();
            let reasons: Vec<&str> = row.reasons.iter().map(|reason| text(format!("reason_{reason}"))).collect();
            let sentence = text(format!("invariant_{invariant}"));
            writeln!(page, "| `{invariant}`: {sentence} | {} | {} |", rules.join(" "), reasons.join("<br>"))
                .expect("a string takes it");
        }
        is_fresh(name, &page, "docs");
    }
}
