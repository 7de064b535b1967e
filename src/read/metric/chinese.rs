//! Translation of Chinese names of metrics and counters.

use std::borrow::Cow;

/// Chinese words that trainers use, with their translations; longer words first.
const WORDS: [(&str, &str); 25] = [
    ("训练", "train"),
    ("验证", "val"),
    ("测试", "test"),
    ("损失值", "loss"),
    ("损失", "loss"),
    ("学习率", "lr"),
    ("梯度范数", "grad_norm"),
    ("准确率", "accuracy"),
    ("正确率", "accuracy"),
    ("精度", "accuracy"),
    ("困惑度", "perplexity"),
    ("召回率", "recall"),
    ("奖励", "reward"),
    ("得分", "score"),
    ("轮次", "epoch"),
    ("轮", "epoch"),
    ("步数", "step"),
    ("步", "step"),
    ("迭代次数", "iteration"),
    ("迭代", "iteration"),
    ("批次", "batch"),
    ("耗时", "time"),
    ("吞吐量", "throughput"),
    ("吞吐", "throughput"),
    ("显存", "memory"),
];

/// Name with its Chinese words translated into English and separated by `_`; borrowed if it has none.
pub(crate) fn in_english(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let (mut english, mut rest, mut is_changed) = (String::new(), name, false);
    let mut ends_in_word = false;
    while let Some(next) = rest.chars().next() {
        let word = WORDS.iter().find_map(|(chinese, word)| Some((*word, rest.strip_prefix(chinese)?)));
        let Some((word, behind)) = word else {
            if ends_in_word && next.is_alphanumeric() {
                english.push('_');
            }
            english.push(next);
            ends_in_word = false;
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
            continue;
        };
        if english.chars().next_back().is_some_and(char::is_alphanumeric) {
            english.push('_');
        }
        english.push_str(word);
        (rest, is_changed, ends_in_word) = (behind, true, true);
    }
    if is_changed { Cow::Owned(english) } else { Cow::Borrowed(name) }
}

#[cfg(test)]
mod tests {
    use crate::kind::Role;
    use crate::read::metric::{canonical, role, step_rank};

    #[test]
    fn chinese_names_are_metrics_and_counters() {
        for (name, english, expected) in [
            ("损失", "loss", Role::Loss),
            ("训练损失", "loss", Role::Loss),
            ("训练/损失值", "loss", Role::Loss),
            ("验证损失", "eval_loss", Role::EvalLoss),
            ("学习率", "learning_rate", Role::LearningRate),
            ("梯度范数", "grad_norm", Role::GradNorm),
            ("验证集准确率", "val_集_accuracy", Role::EvalScore),
            ("MoE损失", "moe_loss", Role::AuxiliaryLoss),
            ("温度", "温度", Role::Other),
        ] {
            let found = canonical(name);
            assert_eq!((found.as_ref(), role(&found)), (english, expected), "{name}");
        }
        assert!(step_rank("步数").is_some() && step_rank("迭代").is_some());
        assert!(step_rank("进步").is_none());
    }
}
