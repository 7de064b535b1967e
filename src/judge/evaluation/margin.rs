//! The margin of a metric: the smallest drop that matters, by the kind of metric and by the policy.

use crate::policy::evaluation::margin::{Margin, Margins, MetricScale};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricMargin {
    /// The margin, in the metric's unit or relative to the baseline's value.
    pub value: f64,
    /// Whether the margin is relative.
    pub is_relative: bool,
    /// Key of the policy that sets it; `None` for a built-in margin.
    pub key: Option<String>,
}

/// Scale of a metric by its name and its known `values`; `None` for any other number. A metric that is named as points is a rate where all
/// values are fractions.
pub fn scale(metric: &str, values: impl IntoIterator<Item = f64>) -> Option<MetricScale> {
    let (mut some, mut is_rate) = (false, true);
    for value in values.into_iter().filter(|value| value.is_finite()) {
        some = true;
        is_rate &= (0.0..=1.0).contains(&value);
    }
    match MetricScale::from_metric_name(metric) {
        Some(MetricScale::Points) if some && is_rate => Some(MetricScale::Rate),
        Some(MetricScale::Rate) | None => (some && is_rate).then_some(MetricScale::Rate),
        named => named,
    }
}

/// The margin of a metric of a task.
pub(crate) fn metric_margin(task: &str, metric: &str, scale: Option<MetricScale>, given: &Margins) -> MetricMargin {
    let fits = |margin: &Margin| match margin {
        // A rate cannot drop by 1 or more, so the key was meant for another metric.
        Margin::Absolute(value) => scale != Some(MetricScale::Rate) || *value < 1.0,
        Margin::Relative(_) => true,
    };
    let built_in = match scale {
        Some(MetricScale::Rate) => Margin::Absolute(0.01),
        Some(MetricScale::Points) => Margin::Absolute(1.0),
        Some(MetricScale::Perplexity) | None => Margin::Relative(0.02),
        Some(MetricScale::BitsPerByte) => Margin::Relative(0.01),
    };
    let named = given.margin_of(task, metric).filter(|(_, margin)| fits(margin));
    let all = given.all.filter(|margin| match margin {
        Margin::Absolute(_) => scale == Some(MetricScale::Rate),
        Margin::Relative(_) => true,
    });
    let key = named.map(|(key, _)| key.to_owned());
    match named.map(|(_, margin)| margin).or(all).unwrap_or(built_in) {
        Margin::Absolute(value) => MetricMargin { value, is_relative: false, key },
        Margin::Relative(value) => MetricMargin { value, is_relative: true, key },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn margins(yaml: &str) -> Margins {
        Policy::parse("p.yml", &format!("evaluation: {{margin: {yaml}}}"), &[]).expect("sound").evaluation.margin
    }

    fn built_in(metric: &str, values: &[f64]) -> (f64, bool) {
        let matters = metric_margin("t", metric, scale(metric, values.iter().copied()), &Margins::default());
        (matters.value, matters.is_relative)
    }

    #[test]
    fn each_kind_of_metric_has_its_margin() {
        for (metric, values, expected) in [
            ("acc", [0.6, 0.5], (0.01, false)),
            ("brier", [0.2, 0.3], (0.01, false)),
            ("acc", [60.0, 50.0], (0.02, true)),
            ("bleu", [31.0, 30.0], (1.0, false)),
            ("bleu", [0.31, 0.3], (0.01, false)),
            ("ter", [130.0, 120.0], (1.0, false)),
            ("word_perplexity", [12.0, 13.0], (0.02, true)),
            ("bits_per_byte", [0.8, 0.9], (0.01, true)),
            ("latency", [5.0, 6.0], (0.02, true)),
            ("unknown", [f64::NAN, f64::NAN], (0.02, true)),
        ] {
            assert_eq!(built_in(metric, &values), expected, "{metric}");
        }
    }

    #[test]
    fn the_policy_gives_others_and_a_number_is_for_rates() {
        let of = |yaml: &str, metric: &str, scale| metric_margin("t", metric, scale, &margins(yaml));
        assert_eq!(
            of("0.03", "acc", Some(MetricScale::Rate)),
            MetricMargin { value: 0.03, is_relative: false, key: None }
        );
        assert_eq!(of("0.03", "bleu", Some(MetricScale::Points)).value.to_bits(), 1_f64.to_bits());
        assert!(of("'3%'", "bleu", Some(MetricScale::Points)).is_relative);
        let named = of("{acc: 0.5, t/acc: 0.02}", "acc", Some(MetricScale::Rate));
        assert_eq!((named.value.to_bits(), named.key.as_deref()), (0.02_f64.to_bits(), Some("t/acc")));
        let not_meant = of("{score: 2}", "score", Some(MetricScale::Rate));
        assert_eq!((not_meant.value.to_bits(), not_meant.key), (0.01_f64.to_bits(), None));
    }
}
