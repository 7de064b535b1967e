//! Rules over paired evaluations: each finding where it is called for, and its absence where it is not.

use std::collections::BTreeMap;
use std::sync::Arc;

use precision_gate::judge::evaluation::generations;
use precision_gate::judge::evaluation::run::{self, JudgedEvaluation, JudgedEvaluationUnit};
use precision_gate::judge::register;
use precision_gate::judge::settle::apply;
use precision_gate::kind::SampleId;
use precision_gate::pair::evaluation::{
    LeftOut, PairedGenerations, PairedMetric, PairedModel, PairedTask, SettingDifference, TextPair, ValuePair,
};
use precision_gate::policy::Policy;
use precision_gate::read::account::UnreadNumbers;
use precision_gate::read::evaluation::{
    EvaluationDamage, EvaluationRun, EvaluationSample, EvaluationTask, Generation, Generations, Harness, SampleTexts,
    SampleValue, Samples, Score, ScoreName, TextPlace, Token,
};
use precision_gate::result::finding::{Fact, Finding, verdict_of};
use precision_gate::result::unit::{AnyUnit, DivergenceKind, EvaluationScope, EvaluationTest, Shard};
use precision_gate::verdict::{Severity, Side, Verdict};

fn policy(yaml: &str) -> Policy {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    Policy::parse("p.yml", yaml, &codes).expect("a sound policy")
}

fn sample(id: u64, value: SampleValue) -> EvaluationSample {
    EvaluationSample {
        id: SampleId::Number(id),
        document: Some(id),
        prompt: Some(id),
        answer: Some(id),
        values: BTreeMap::from([("acc".to_owned(), value)]),
        is_failed: false,
        texts: TextPlace::Line { path: Arc::from("samples.jsonl"), offset: id, len: 1 },
    }
}

/// A metric with pairs of these values, by id from 0.
fn metric(name: &str, values: &[(f64, f64)]) -> PairedMetric {
    let pair = |(place, (b, c)): (usize, &(f64, f64))| ValuePair {
        id: SampleId::Number(place as u64),
        baseline: SampleValue::Number(*b),
        candidate: SampleValue::Number(*c),
        same_answer: Some(b.to_bits() == c.to_bits()),
        places: (place, place),
    };
    let mean = |of: fn(&(f64, f64)) -> f64| values.iter().map(of).sum::<f64>() / values.len() as f64;
    let score = |value| Score { value, error: Some(0.03), higher_is_better: Some(true) };
    PairedMetric {
        metric: name.to_owned(),
        filter: None,
        higher_is_better: Some(true),
        baseline: Some(score(mean(|(b, _)| *b))),
        candidate: Some(score(mean(|(_, c)| *c))),
        has_samples: true,
        counts: (Some(values.len() as u64), Some(values.len() as u64)),
        samples: values.len() as u64,
        pairs: values.iter().enumerate().map(pair).collect(),
        left_out: LeftOut::default(),
    }
}

/// Right and wrong answers: so many lost, won, right on both sides and wrong on both.
fn answers(lost: usize, won: usize, right: usize, wrong: usize) -> Vec<(f64, f64)> {
    [((1.0, 0.0), lost), ((0.0, 1.0), won), ((1.0, 1.0), right), ((0.0, 0.0), wrong)]
        .into_iter()
        .flat_map(|(values, count)| vec![values; count])
        .collect()
}

fn scores_only(name: &str, baseline: Score, candidate: Score, count: Option<u64>) -> PairedMetric {
    PairedMetric {
        baseline: Some(baseline),
        candidate: Some(candidate),
        has_samples: false,
        counts: (count, count),
        samples: 0,
        pairs: Vec::new(),
        ..metric(name, &[(1.0, 1.0)])
    }
}

fn score(value: f64, error: Option<f64>) -> Score {
    Score { value, error, higher_is_better: Some(true) }
}

fn task(name: &str, metrics: Vec<PairedMetric>) -> PairedTask {
    PairedTask {
        name: name.to_owned(),
        unequal: Vec::new(),
        is_sampled: false,
        limits: None,
        metrics,
        metrics_missing: Vec::new(),
    }
}

fn answered(name: &str, lost: usize, won: usize, right: usize, wrong: usize) -> PairedTask {
    task(name, vec![metric("acc", &answers(lost, won, right, wrong))])
}

/// Runs of both sides in which each of these tasks has samples.
fn runs_of(tasks: &[PairedTask]) -> (EvaluationRun, EvaluationRun) {
    (run_of(tasks, |pair| pair.baseline), run_of(tasks, |pair| pair.candidate))
}

fn run_of(tasks: &[PairedTask], value: fn(&ValuePair) -> SampleValue) -> EvaluationRun {
    let of = |task: &PairedTask| {
        let samples = task.metrics.iter().filter(|metric| metric.has_samples).map(|metric| {
            let samples = metric.pairs.iter().zip(0..).map(|(pair, id)| sample(id, value(pair))).collect();
            (metric.filter.clone(), samples)
        });
        let by_filter: BTreeMap<Option<String>, Vec<EvaluationSample>> = samples.collect();
        let samples = (!by_filter.is_empty()).then_some(Samples { by_filter });
        (task.name.clone(), EvaluationTask { samples, ..EvaluationTask::default() })
    };
    EvaluationRun {
        harness: Harness::LmEval,
        model: "toy".to_owned(),
        path: "results.json".to_owned(),
        settings: BTreeMap::new(),
        tasks: tasks.iter().map(of).collect(),
        groups: BTreeMap::new(),
        older: Vec::new(),
        damages: Vec::new(),
        account: UnreadNumbers::default(),
    }
}

/// Input of the judge.
struct Case {
    tasks: Vec<PairedTask>,
    missing: Vec<(Side, String)>,
    settings: Vec<SettingDifference>,
    policy: String,
    sides: Option<(EvaluationRun, EvaluationRun)>,
    groups: Vec<(&'static str, Vec<&'static str>)>,
}

impl Case {
    fn of(tasks: Vec<PairedTask>) -> Self {
        Self {
            tasks,
            missing: Vec::new(),
            settings: Vec::new(),
            policy: String::new(),
            sides: None,
            groups: Vec::new(),
        }
    }

    fn under(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    fn judge(self) -> Found {
        self.judge_with(&|_, _| None)
    }

    fn judge_with(self, texts: &run::TextReader<'_>) -> Found {
        let policy = policy(&self.policy);
        let (mut baseline, candidate) = self.sides.unwrap_or_else(|| runs_of(&self.tasks));
        for (name, tasks) in self.groups {
            baseline.groups.insert(name.to_owned(), tasks.into_iter().map(str::to_owned).collect());
        }
        let model = PairedModel {
            name: "toy".to_owned(),
            baseline: &baseline,
            candidate: &candidate,
            settings: self.settings,
            missing: self.missing,
            tasks: self.tasks,
        };
        Found::of(run::judge(&[model], &[], &policy, texts), &policy)
    }
}

/// Units with their verdicts, and all findings.
struct Found {
    units: Vec<JudgedEvaluationUnit>,
    findings: Vec<Finding>,
    verdict: Verdict,
}

impl Found {
    fn of(judged: JudgedEvaluation, policy: &Policy) -> Self {
        let applied = |findings: &[Finding]| apply(findings.to_vec(), policy).findings;
        let tasks: Vec<Vec<Finding>> = judged.tasks.iter().map(|findings| applied(findings)).collect();
        let mut findings: Vec<Finding> = applied(&judged.rest);
        findings.extend(tasks.iter().flatten().cloned());
        let mut units = judged.units;
        for one in &mut units {
            let own = applied(&one.findings);
            let of_task = one.task.map_or(Verdict::Pass, |task| verdict_of(&tasks[task]));
            one.unit.verdict = one.unit.settled(verdict_of(&own).max(of_task));
            findings.extend(own);
        }
        let tasks: Vec<(&str, bool)> =
            units.iter().map(|one| (one.unit.task.as_str(), one.unit.test.is_some())).collect();
        findings.extend(applied(&run::missing_required_tasks(&tasks, &policy.evaluation)));
        let verdict = Verdict::of_all(units.iter().map(|one| one.unit.verdict).chain([verdict_of(&findings)]));
        Self { units, findings, verdict }
    }

    fn codes(&self) -> Vec<&str> {
        let mut codes: Vec<&str> = self.findings.iter().map(|finding| finding.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    fn unit(&self, task: &str) -> &precision_gate::result::unit::EvaluationUnit {
        &self.units.iter().find(|one| one.unit.task == task).unwrap_or_else(|| panic!("no unit {task}")).unit
    }

    fn finding(&self, code: &str) -> &Finding {
        self.findings
            .iter()
            .find(|finding| finding.code == code)
            .unwrap_or_else(|| panic!("no {code}: {:?}", self.codes()))
    }

    fn fact(&self, code: &str, name: &str) -> Fact {
        self.finding(code).facts.get(name).unwrap_or_else(|| panic!("{code} has no {name}")).clone()
    }
}

fn verdict(tasks: Vec<PairedTask>, policy: &str) -> (Verdict, Vec<String>) {
    let found = Case::of(tasks).under(policy).judge();
    let codes = found.codes().into_iter().map(str::to_owned).collect();
    (found.verdict, codes)
}

fn texts(codes: &[&str]) -> Vec<String> {
    codes.iter().map(|code| (*code).to_owned()).collect()
}

#[test]
fn lost_answers_fail_warn_or_pass_by_chance_and_margin() {
    for (lost, won, right, wrong, expected, codes) in [
        (20, 1, 100, 79, Verdict::Fail, &["evaluation-drop"][..]),
        (0, 0, 120, 80, Verdict::Pass, &[]),
        (3, 2, 115, 80, Verdict::Pass, &[]),
        (5, 0, 115, 80, Verdict::Warn, &["evaluation-possible-drop"]),
        (7, 0, 113, 80, Verdict::Fail, &["evaluation-drop"]),
        (40, 10, 5000, 4950, Verdict::Warn, &["evaluation-small-drop"]),
        (1, 12, 107, 80, Verdict::Pass, &["evaluation-better"]),
        (16, 15, 100, 69, Verdict::Warn, &["evaluation-answers-changed"]),
    ] {
        let found = verdict(vec![answered("t", lost, won, right, wrong)], "");
        assert_eq!(found, (expected, texts(codes)), "{lost} {won}");
    }
}

#[test]
fn a_unit_carries_its_table_and_the_place_of_its_losses() {
    let found = Case::of(vec![answered("t", 20, 1, 100, 79)]).judge();
    let unit = found.unit("t");
    assert_eq!((unit.worse, unit.better, unit.paired, unit.samples), (20, 1, 200, 200));
    assert_eq!(
        (unit.test, unit.scope, unit.verdict),
        (Some(EvaluationTest::Mcnemar), EvaluationScope::Task, Verdict::Fail)
    );
    let near = |number: Option<precision_gate::result::number::Number>, expected: f64| {
        (number.expect("a number").0 - expected).abs() < 1e-9 * expected
    };
    assert!(near(unit.p_value, 1.0490417480468751e-05) && near(unit.p_adjusted, 1.0490417480468751e-05));
    assert!(near(unit.drop, 0.095) && near(unit.detectable, 0.072_633_824_765_050_06));
    let ids: Vec<SampleId> = (0..20).map(SampleId::Number).collect();
    assert_eq!(unit.examples, ids);
    assert_eq!(found.fact("evaluation-drop", "worse"), Fact::Count(20));
    assert_eq!(found.fact("evaluation-drop", "test"), Fact::Text("mcnemar".into()));
}

#[test]
fn many_tests_are_corrected_for_their_number() {
    let quiet: Vec<PairedTask> = (0..11).map(|nth| answered(&format!("q{nth}"), 0, 0, 12, 8)).collect();
    let unlucky = || answered("unlucky", 5, 0, 10, 5);
    assert_eq!(verdict(vec![unlucky()], "").0, Verdict::Warn, "alone");
    let all = || quiet.iter().map(task_again).chain([unlucky()]).collect::<Vec<_>>();
    let (found, codes) = verdict(all(), "");
    assert_eq!((found, codes), (Verdict::Pass, texts(&[])));
    assert_eq!(
        verdict(all(), "evaluation: {correction: none}").1,
        texts(&["evaluation-answers-changed", "evaluation-possible-drop"])
    );
}

fn task_again(task: &PairedTask) -> PairedTask {
    PairedTask {
        name: task.name.clone(),
        unequal: task.unequal.clone(),
        is_sampled: task.is_sampled,
        limits: task.limits,
        metrics: task.metrics.clone(),
        metrics_missing: task.metrics_missing.clone(),
    }
}

#[test]
fn what_every_task_loses_a_little_of_shows_in_the_pool() {
    let tasks = || (0..60).map(|nth| answered(&format!("t{nth}"), 3, 1, 60, 36)).collect::<Vec<_>>();
    let found = Case::of(tasks()).judge();
    assert_eq!(found.unit("t0").verdict, Verdict::Pass);
    let pool = found.unit("*");
    assert_eq!((pool.scope, pool.verdict), (EvaluationScope::All, Verdict::Fail));
    assert_eq!((pool.worse, pool.better, pool.paired), (180, 60, 6000));
    assert_eq!(found.fact("evaluation-drop", "scope"), Fact::Text("all".into()));
    let mut grouped = Case::of(tasks());
    grouped.groups = vec![("g", vec!["t0", "t1", "t2"])];
    let grouped = grouped.judge();
    assert_eq!(grouped.unit("g").scope, EvaluationScope::Group);
    assert_eq!((grouped.unit("g").worse, grouped.unit("*").worse), (9, 180));
}

#[test]
fn numbers_per_sample_are_tested_by_flipped_signs() {
    let values: Vec<(f64, f64)> = (0..200).map(|id| (0.5, 0.5 - f64::from(id % 5) * 0.02)).collect();
    let found = Case::of(vec![task("t", vec![metric("f1", &values)])]).judge();
    let unit = found.unit("t");
    assert_eq!((unit.test, unit.verdict), (Some(EvaluationTest::PairedPermutation), Verdict::Fail));
    assert!((unit.p_value.expect("a test").0 - 1e-4).abs() < 1e-12, "{:?}", unit.p_value);
    assert_eq!((unit.worse, unit.better), (160, 0));
    assert_eq!(unit.examples.first(), Some(&SampleId::Number(4)), "the worst first");
    let small: Vec<(f64, f64)> = values.iter().map(|(b, c)| (*b, b - (b - c) / 10.0)).collect();
    assert_eq!(verdict(vec![task("t", vec![metric("f1", &small)])], "").1, texts(&["evaluation-small-drop"]));
    let tiny: Vec<(f64, f64)> = values.iter().map(|(b, c)| (*b, b - (b - c) / 100.0)).collect();
    assert_eq!(verdict(vec![task("t", vec![metric("f1", &tiny)])], "").0, Verdict::Pass, "below the floor");
}

fn perplexity(name: &str, factor: f64) -> PairedTask {
    let mut found = metric(name, &[(20.0, 20.0)]);
    found.higher_is_better = Some(false);
    (found.baseline, found.candidate) = (None, None);
    found.samples = 100;
    found.pairs = (0..100)
        .map(|id| {
            let log = -100.0 - (id % 7) as f64;
            ValuePair {
                id: SampleId::Number(id),
                baseline: SampleValue::Likelihood { log, size: 40.0 },
                candidate: SampleValue::Likelihood { log: log * factor + 0.1 * ((id % 3) as f64 - 1.0), size: 40.0 },
                same_answer: None,
                places: (0, 0),
            }
        })
        .collect();
    task("text", vec![found])
}

#[test]
fn perplexities_are_judged_by_their_own_size() {
    for (name, factor, expected) in [
        ("word_perplexity", 1.015, Verdict::Fail),
        ("word_perplexity", 1.003, Verdict::Warn),
        ("word_perplexity", 1.0, Verdict::Pass),
        ("bits_per_byte", 1.015, Verdict::Fail),
        ("bits_per_byte", 1.005, Verdict::Warn),
    ] {
        let found = Case::of(vec![perplexity(name, factor)]).judge();
        assert_eq!(found.verdict, expected, "{name} {factor} {:?}", found.unit("text").drop);
        assert!(found.unit("text").is_relative);
    }
    let drop = Case::of(vec![perplexity("bits_per_byte", 1.015)]).judge().unit("text").drop.expect("a drop").0;
    assert!((drop - 0.015).abs() < 1e-4, "{drop}");
    let absolute =
        Case::of(vec![perplexity("word_perplexity", 1.015)]).under("evaluation: {margin: {word_perplexity: 2}}");
    let absolute = absolute.judge();
    assert!(
        !absolute.unit("text").is_relative && absolute.verdict == Verdict::Warn,
        "{:?}",
        absolute.unit("text").drop
    );
}

#[test]
fn scores_alone_warn_at_best_and_fail_where_the_drop_is_plain() {
    let only = |b: Score, c: Score, count| {
        let tasks = [task("t", vec![scores_only("acc", b, c, count)])];
        move |policy: &str| verdict(tasks.iter().map(task_again).collect(), policy)
    };
    let same = only(score(0.6, Some(0.03)), score(0.6, Some(0.03)), Some(200));
    assert_eq!(same(""), (Verdict::Warn, texts(&["evaluation-samples-missing"])));
    assert_eq!(same("evaluation: {accept-scores: true}").0, Verdict::Pass);
    let plain = only(score(0.6, Some(0.03)), score(0.4, Some(0.03)), Some(200));
    assert_eq!(plain(""), (Verdict::Fail, texts(&["evaluation-drop", "evaluation-samples-missing"])));
    let small = only(score(0.6, None), score(0.55, None), Some(200));
    assert_eq!(small(""), (Verdict::Warn, texts(&["evaluation-samples-missing"])), "the error follows from the rate");
    let without = only(score(12.0, None), score(12.0, None), Some(200));
    assert_eq!(without(""), (Verdict::Incomplete, texts(&["evaluation-no-stderr", "evaluation-samples-missing"])));
    assert_eq!(without("evaluation: {accept-scores: true}").0, Verdict::Incomplete, "nothing was tested");
    let certain = only(score(1.0, Some(0.0)), score(0.0, Some(0.0)), Some(50));
    assert_eq!(certain("").0, Verdict::Fail);
    let single = only(score(1.0, None), score(0.0, None), Some(1));
    assert_eq!(single("").0, Verdict::Incomplete);
}

#[test]
fn no_standard_error_of_the_candidate_hides_its_drop() {
    for wrong in [50.0, -1.0, f64::NAN] {
        let only = scores_only("acc", score(0.745, Some(0.031)), score(0.35, Some(wrong)), Some(200));
        let (found, codes) = verdict(vec![task("t", vec![only])], "evaluation: {accept-scores: true}");
        assert_eq!(
            (found, codes),
            (Verdict::Fail, texts(&["evaluation-drop", "evaluation-samples-missing", "evaluation-stderr-replaced"])),
            "{wrong}"
        );
    }
    let right = scores_only("acc", score(0.745, Some(0.031)), score(0.74, Some(0.031)), Some(200));
    let passes = (Verdict::Pass, texts(&["evaluation-samples-missing"]));
    assert_eq!(verdict(vec![task("t", vec![right])], "evaluation: {accept-scores: true}"), passes);
}

#[test]
fn scores_that_are_too_good_warn() {
    let only = |baseline: f64, candidate: f64| {
        let (ours, theirs) = (score(baseline, Some(0.03)), score(candidate, Some(0.03)));
        verdict(vec![task("t", vec![scores_only("acc", ours, theirs, Some(200))])], "evaluation: {accept-scores: true}")
    };
    assert!(only(0.2, 0.7).1.contains(&"too-good".to_owned()));
    assert_eq!(only(0.7, 0.9), (Verdict::Pass, texts(&["evaluation-better", "evaluation-samples-missing"])));
    assert!(!only(0.01, 0.04).1.contains(&"too-good".to_owned()), "by chance");
}

#[test]
fn results_and_answers_are_two_witnesses() {
    let judged = |claimed: f64, asked: u64, keeps_answers: bool| {
        let mut found = metric("acc", &answers(0, 0, 30, 10));
        (found.baseline, found.candidate) = (Some(score(0.75, Some(0.07))), Some(score(claimed, Some(0.07))));
        let mut case = Case::of(vec![task("t", vec![found])]);
        let (mut ours, mut theirs) = runs_of(&case.tasks);
        for run in [&mut ours, &mut theirs] {
            run.tasks.get_mut("t").expect("the task").asked = Some(asked);
        }
        if !keeps_answers {
            theirs.tasks.get_mut("t").expect("the task").samples = None;
            let metric = &mut case.tasks[0].metrics[0];
            (metric.has_samples, metric.samples) = (false, 0);
            metric.pairs.clear();
        }
        case.sides = Some((ours, theirs));
        let found = case.judge();
        (found.verdict, found.codes().into_iter().map(str::to_owned).collect::<Vec<String>>())
    };
    let has = |(_, codes): &(Verdict, Vec<String>), code: &str| codes.iter().any(|one| one == code);
    let (right, rounded) = (judged(0.75, 40, true), judged(0.7504, 40, true));
    assert_eq!((right.0, rounded.0), (Verdict::Pass, Verdict::Pass), "{rounded:?}");
    let zero = judged(0.0, 40, true);
    assert!(zero.0 == Verdict::Incomplete && has(&zero, "evaluation-results-contradict"), "{zero:?}");
    let few = judged(0.75, 400, true);
    assert!(few.0 == Verdict::Incomplete && has(&few, "evaluation-answers-missing"), "{few:?}");
    let lost = judged(0.7, 40, false);
    assert!(lost.0 == Verdict::Incomplete && has(&lost, "evaluation-answers-needed"), "{lost:?}");
    let no_drop = judged(0.75, 40, false);
    assert!(no_drop.0 == Verdict::Warn && !has(&no_drop, "evaluation-answers-needed"), "{no_drop:?}");
}

#[test]
fn values_that_are_no_numbers_fail_or_stay_open() {
    let mut values = answers(0, 0, 10, 10);
    values[3].1 = f64::NAN;
    let (found, codes) = verdict(vec![task("t", vec![metric("acc", &values)])], "");
    assert_eq!((found, codes.contains(&"evaluation-non-finite".to_owned())), (Verdict::Fail, true));
    let mut values = answers(0, 0, 10, 10);
    values[3].0 = f64::NAN;
    values[3].1 = f64::NAN;
    let mut both = metric("acc", &values);
    (both.baseline, both.candidate) = (Some(score(0.5, None)), Some(score(0.5, None)));
    assert_eq!(verdict(vec![task("t", vec![both])], ""), (Verdict::Incomplete, texts(&["evaluation-metric-error"])));
    let mut scores = metric("acc", &answers(0, 0, 10, 10));
    scores.candidate = Some(score(f64::INFINITY, None));
    assert_eq!(verdict(vec![task("t", vec![scores])], "").0, Verdict::Fail);
}

#[test]
fn numbers_too_large_to_add_up_never_pass() {
    for values in [vec![(1e308, -1e308); 3], vec![(1e308, -1e308), (-1e308, 1e308)], vec![(1.5e308, 1.4e308); 3]] {
        let mut found = metric("score", &values);
        (found.baseline, found.candidate) = (None, None);
        assert_eq!(
            verdict(vec![task("t", vec![found])], ""),
            (Verdict::Incomplete, texts(&["evaluation-metric-error"]))
        );
    }
    let huge = scores_only("score", score(1e308, Some(1e308)), score(-1e308, Some(1e308)), None);
    assert_eq!(verdict(vec![task("t", vec![huge])], "").0, Verdict::Incomplete);
}

#[test]
fn a_metric_of_the_corpus_is_compared_by_its_scores() {
    let corpus = |baseline: Score, candidate: Score, is_same: bool| {
        let mut found = metric("bleu", &answers(0, 0, 30, 30));
        for pair in &mut found.pairs {
            (pair.baseline, pair.candidate, pair.same_answer) =
                (SampleValue::Corpus, SampleValue::Corpus, Some(is_same));
        }
        (found.baseline, found.candidate) = (Some(baseline), Some(candidate));
        verdict(vec![task("t", vec![found])], "")
    };
    assert_eq!(corpus(score(30.0, Some(1.0)), score(29.0, Some(1.0)), false), (Verdict::Pass, texts(&[])));
    assert_eq!(
        corpus(score(30.0, Some(1.0)), score(20.0, Some(1.0)), false),
        (Verdict::Fail, texts(&["evaluation-drop"]))
    );
    assert_eq!(corpus(score(30.0, None), score(30.0, None), true), (Verdict::Pass, texts(&[])), "the same answers");
    assert_eq!(
        corpus(score(30.0, None), score(30.0, None), false),
        (Verdict::Incomplete, texts(&["evaluation-no-stderr"]))
    );
}

#[test]
fn an_unknown_direction_warns_at_most_and_looks_both_ways() {
    for (lost, won) in [(30, 1), (1, 30)] {
        let mut found = metric("strange", &answers(lost, won, 100, 69));
        found.higher_is_better = None;
        let found = Case::of(vec![task("t", vec![found])]).judge();
        assert_eq!(
            (found.verdict, found.codes().contains(&"evaluation-possible-drop")),
            (Verdict::Warn, true),
            "{lost} {won}"
        );
        assert!(found.unit("t").drop.expect("a size").0 > 0.0);
    }
}

#[test]
fn lower_is_better_where_the_metric_says_so() {
    let mut found = metric("error_rate", &answers(1, 30, 100, 69));
    found.higher_is_better = Some(false);
    let found = Case::of(vec![task("t", vec![found])]).judge();
    assert_eq!(found.verdict, Verdict::Fail);
    assert_eq!((found.unit("t").worse, found.unit("t").better), (30, 1));
}

#[test]
fn margins_are_the_policys_by_metric_and_task() {
    let lost = || vec![answered("t", 20, 1, 100, 79)];
    for (margin, expected) in [
        ("0.2", Verdict::Warn),
        ("{acc: 0.2}", Verdict::Warn),
        ("{acc: 0.2, t/acc: 0.01}", Verdict::Fail),
        ("{t/acc: 0.2}", Verdict::Warn),
        ("'20%'", Verdict::Warn),
        ("'10%'", Verdict::Fail),
    ] {
        assert_eq!(verdict(lost(), &format!("evaluation: {{margin: {margin}}}")).0, expected, "{margin}");
    }
    let codes = verdict(lost(), "evaluation: {margin: 0.2}").1;
    assert_eq!(codes, texts(&["evaluation-answers-changed", "evaluation-small-drop"]));
}

#[test]
fn a_release_needs_tests_that_can_find_a_drop() {
    let small = || vec![answered("t", 0, 0, 12, 8)];
    assert_eq!(verdict(small(), "").0, Verdict::Pass);
    let (found, codes) = verdict(small(), "profile: release");
    assert_eq!((found, codes), (Verdict::Incomplete, texts(&["evaluation-not-detectable"])));
    assert_eq!(verdict(small(), "{profile: release, evaluation: {max-detectable: 0.4}}").0, Verdict::Pass);
    assert_eq!(verdict(vec![answered("t", 0, 0, 300, 200)], "profile: release").0, Verdict::Pass);
}

#[test]
fn other_questions_are_never_compared_silently() {
    for (name, code) in [
        ("version", "evaluation-task-version-differs"),
        ("shots", "evaluation-shots-differ"),
        ("generation", "evaluation-generation-settings-differ"),
    ] {
        let mut other = answered("t", 20, 1, 100, 79);
        let side = |text: &str| Some(text.to_owned());
        other.unequal = vec![SettingDifference { name: name.to_owned(), baseline: side("1"), candidate: side("2") }];
        let found = Case::of(vec![other]).judge();
        assert_eq!((found.verdict, found.codes()), (Verdict::Incomplete, vec![code]));
        assert_eq!((found.unit("t").test, found.unit("t").verdict), (None, Verdict::Incomplete));
    }
    let lowered = "severity: {evaluation-shots-differ: info}";
    let mut other = answered("t", 0, 0, 100, 79);
    other.unequal =
        vec![SettingDifference { name: "shots".to_owned(), baseline: None, candidate: Some("5".to_owned()) }];
    let found = Case::of(vec![other]).under(lowered).judge();
    assert_eq!(found.unit("t").verdict, Verdict::Warn, "what was not tested never passes");
}

fn left_out(left_out: LeftOut) -> PairedTask {
    let mut found = metric("acc", &answers(0, 0, 100, 60));
    found.left_out = left_out;
    found.samples = 200;
    task("t", vec![found])
}

#[test]
fn samples_that_leave_the_test_are_told() {
    for (left, codes) in [
        (LeftOut { documents: 5, ..LeftOut::default() }, &["evaluation-docs-differ"][..]),
        (LeftOut { prompts: 5, ..LeftOut::default() }, &["evaluation-prompts-differ"]),
        (LeftOut { only_baseline: 5, ..LeftOut::default() }, &["evaluation-samples-unpaired"]),
        (LeftOut { only_candidate: 5, ..LeftOut::default() }, &["evaluation-samples-unpaired"]),
        (LeftOut { failed: 5, ..LeftOut::default() }, &["evaluation-metric-error"]),
        (LeftOut { contradictory: 5, ..LeftOut::default() }, &["evaluation-duplicate-samples"]),
    ] {
        assert_eq!(verdict(vec![left_out(left)], ""), (Verdict::Incomplete, texts(codes)), "{left:?}");
    }
    let twice = LeftOut { twice: 5, ..LeftOut::default() };
    assert_eq!(verdict(vec![left_out(twice)], ""), (Verdict::Pass, texts(&["evaluation-duplicate-samples"])));
    let mut limited = left_out(LeftOut::default());
    limited.limits = Some((200, 160));
    assert_eq!(verdict(vec![limited], ""), (Verdict::Incomplete, texts(&["evaluation-limit-differs"])));
    let mut apart = left_out(LeftOut { only_candidate: 40, ..LeftOut::default() });
    apart.limits = Some((200, 160));
    assert_eq!(verdict(vec![apart], "").1, texts(&["evaluation-limit-differs", "evaluation-samples-unpaired"]));
}

#[test]
fn a_plain_drop_fails_whatever_else_is_missing() {
    let mut found = metric("acc", &answers(20, 1, 100, 79));
    found.left_out = LeftOut { only_baseline: 5, ..LeftOut::default() };
    let found = Case { missing: vec![(Side::Candidate, "other".to_owned())], ..Case::of(vec![task("t", vec![found])]) };
    let found = found.judge();
    assert_eq!(
        (found.verdict, found.codes()),
        (Verdict::Fail, vec!["evaluation-drop", "evaluation-samples-unpaired", "evaluation-task-missing"])
    );
}

#[test]
fn contradictory_samples_are_not_tested() {
    let mut found = metric("acc", &answers(40, 0, 100, 60));
    found.left_out = LeftOut { contradictory: 5, ..LeftOut::default() };
    let found = Case::of(vec![task("t", vec![found])]).judge();
    assert_eq!((found.verdict, found.unit("t").test), (Verdict::Incomplete, None));
}

#[test]
fn damage_belongs_to_its_task() {
    let tasks = vec![answered("a", 0, 0, 100, 60), answered("b", 0, 0, 100, 60)];
    let mut candidate = run_of(&tasks, |pair| pair.baseline);
    let damage = |line| EvaluationDamage {
        path: "samples_a.jsonl".to_owned(),
        line: Some(line),
        reason: "ends early".to_owned(),
    };
    candidate.tasks.get_mut("a").expect("there").damages = vec![damage(3), damage(9)];
    let case = Case { sides: Some((run_of(&tasks, |pair| pair.baseline), candidate)), ..Case::of(tasks) };
    let found = case.judge();
    assert_eq!((found.verdict, found.codes()), (Verdict::Incomplete, vec!["evaluation-damaged"]));
    assert_eq!((found.unit("a").verdict, found.unit("b").verdict), (Verdict::Incomplete, Verdict::Pass));
    assert_eq!(found.findings.len(), 1, "one per file");
    assert_eq!(found.fact("evaluation-damaged", "line"), Fact::Count(3));
}

#[test]
fn missing_tasks_and_metrics_have_units_that_are_not_tested() {
    let tasks = vec![answered("a", 0, 0, 100, 60)];
    let mut baseline = run_of(&tasks, |pair| pair.baseline);
    let name = |metric: &str| ScoreName { metric: metric.to_owned(), filter: Some("none".to_owned()) };
    let gone =
        EvaluationTask { scores: BTreeMap::from([(name("acc"), score(0.5, None))]), ..EvaluationTask::default() };
    baseline.tasks.insert("gone".to_owned(), gone);
    let mut with_missing = tasks;
    with_missing[0].metrics_missing = vec![(Side::Candidate, "f1,none".to_owned())];
    let candidate = run_of(&with_missing, |pair| pair.baseline);
    let missing = vec![(Side::Candidate, "gone".to_owned())];
    let found = Case { sides: Some((baseline, candidate)), missing, ..Case::of(with_missing) }.judge();
    assert_eq!(
        (found.verdict, found.codes()),
        (Verdict::Incomplete, vec!["evaluation-metric-missing", "evaluation-task-missing"])
    );
    let unit = found.unit("gone");
    assert_eq!((unit.verdict, unit.test, unit.filter.as_deref()), (Verdict::Incomplete, None, Some("none")));
    assert_eq!(found.fact("evaluation-task-missing", "side"), Fact::Text("candidate".into()));
}

#[test]
fn a_model_of_one_side_has_units_that_are_not_tested() {
    let mut run = run_of(&[answered("a", 0, 0, 10, 10)], |pair| pair.baseline);
    let scores = BTreeMap::from([(ScoreName { metric: "acc".to_owned(), filter: None }, score(0.5, None))]);
    run.tasks.get_mut("a").expect("there").scores = scores;
    let policy = Policy::default();
    let found = Found::of(run::judge(&[], &[(Side::Baseline, &run)], &policy, &|_, _| None), &policy);
    assert_eq!((found.verdict, found.codes()), (Verdict::Incomplete, vec!["evaluation-model-missing"]));
    assert_eq!(
        found.fact("evaluation-model-missing", "side"),
        Fact::Text("candidate".into()),
        "the side that lacks it"
    );
    let unit = found.unit("a");
    assert_eq!((unit.verdict, unit.test, unit.samples), (Verdict::Incomplete, None, 20));
}

#[test]
fn settings_of_the_model_warn() {
    let setting = |name: &str| SettingDifference {
        name: name.to_owned(),
        baseline: Some("a".to_owned()),
        candidate: Some("b".to_owned()),
    };
    let case =
        Case { settings: vec![setting("dtype"), setting("model")], ..Case::of(vec![answered("t", 0, 0, 100, 60)]) };
    let found = case.judge();
    assert_eq!(
        (found.verdict, found.codes()),
        (Verdict::Warn, vec!["evaluation-model-args-differ", "evaluation-model-differs"])
    );
    assert_eq!(found.fact("evaluation-model-differs", "names"), Fact::List(vec!["model: a / b".to_owned()]));
    assert_eq!(found.unit("t").verdict, Verdict::Pass);
}

#[test]
fn tasks_are_chosen_required_and_left_out() {
    let tasks = || vec![answered("gsm8k", 20, 1, 100, 79), answered("arc", 0, 0, 100, 60)];
    assert_eq!(verdict(tasks(), "evaluation: {ignore-tasks: [gsm8k]}").0, Verdict::Pass);
    assert_eq!(verdict(tasks(), "evaluation: {tasks: ['a*']}").0, Verdict::Pass);
    assert_eq!(verdict(tasks(), "evaluation: {tasks: [arc], required: [arc]}").0, Verdict::Pass);
    for policy in ["evaluation: {tasks: [arc], required: [gsm8k]}", "evaluation: {tasks: [arc, mmlu]}"] {
        assert_eq!(
            verdict(tasks(), policy),
            (Verdict::Incomplete, texts(&["evaluation-required-task-missing"])),
            "{policy}"
        );
    }
    let mut other = answered("arc", 0, 0, 10, 10);
    other.unequal = vec![SettingDifference { name: "shots".to_owned(), baseline: None, candidate: None }];
    let codes = verdict(vec![other], "evaluation: {required: [arc]}").1;
    assert_eq!(codes, texts(&["evaluation-required-task-missing", "evaluation-shots-differ"]), "there, and not tested");
}

#[test]
fn a_preset_fails_what_leaves_its_band_either_way() {
    let better = || vec![answered("t", 1, 20, 100, 79)];
    assert_eq!(verdict(better(), "").0, Verdict::Pass);
    let found = verdict(better(), "evaluation: {preset: vllm-ascend}");
    assert_eq!(found, (Verdict::Fail, texts(&["evaluation-better", "evaluation-outside-band"])));
    let near = || vec![answered("t", 2, 3, 100, 95)];
    assert_eq!(verdict(near(), "evaluation: {preset: vllm-ascend}").0, Verdict::Pass);
}

#[test]
fn sampled_answers_may_change() {
    let mut drawn = answered("t", 26, 25, 80, 69);
    drawn.is_sampled = true;
    let found = Case::of(vec![drawn]).judge();
    assert_eq!((found.verdict, found.codes()), (Verdict::Pass, vec![]));
    assert!(found.unit("t").is_sampled);
}

#[test]
fn any_changed_answer_fails_where_every_bit_counts() {
    assert_eq!(verdict(vec![answered("t", 1, 1, 100, 60)], "profile: bit-exact").0, Verdict::Fail);
    assert_eq!(verdict(vec![answered("t", 0, 0, 100, 60)], "profile: bit-exact").0, Verdict::Pass);
}

#[test]
fn one_rank_that_computes_wrongly_is_named() {
    let values: Vec<(f64, f64)> = (0..200).map(|id| if id % 4 == 1 { (1.0, 0.0) } else { (1.0, 1.0) }).collect();
    let found = Case::of(vec![task("t", vec![metric("acc", &values)])]).judge();
    assert_eq!(found.unit("t").shard, Some(Shard { modulus: 4, remainder: 1 }));
    assert_eq!((found.verdict, found.codes()), (Verdict::Fail, vec!["evaluation-drop", "evaluation-shard-pattern"]));
    assert_eq!(found.fact("evaluation-shard-pattern", "inside"), Fact::Count(50));
    assert_eq!(Case::of(vec![answered("t", 20, 1, 100, 79)]).judge().unit("t").shard, None);
}

#[test]
fn answers_that_end_early_or_late_are_told_once_beside_the_drop() {
    let two = || {
        let mut other = metric("acc", &answers(20, 1, 100, 79));
        other.metric = "em".to_owned();
        vec![task("t", vec![metric("acc", &answers(0, 0, 121, 79)), other])]
    };
    let answer =
        |text: &str| SampleTexts { question: "q".to_owned(), answer: text.to_owned(), target: "42".to_owned() };
    for (ours, theirs, code) in [
        ("it is 42", "it is", "evaluation-truncated-generation"),
        ("42", "42 and more", "evaluation-overlong-generation"),
    ] {
        let texts = |_: &TextPlace, _: &TextPlace| Some(TextPair { baseline: answer(ours), candidate: answer(theirs) });
        let found = Case::of(two()).judge_with(&texts);
        assert_eq!(told(&found), ["evaluation-drop", code]);
        assert_eq!(found.finding(code).place, "t em");
        assert_eq!((found.fact(code, "count"), found.fact(code, "paired")), (Fact::Count(21), Fact::Count(200)));
        let flipped = &found.units.iter().find(|one| one.unit.metric == "em").expect("there").unit.flipped;
        assert_eq!((flipped.len(), flipped[0].baseline.as_str()), (3, ours));
    }
    let same = |_: &TextPlace, _: &TextPlace| Some(TextPair { baseline: answer("1"), candidate: answer("2") });
    assert_eq!(told(&Case::of(two()).judge_with(&same)), ["evaluation-drop"]);
}

/// The codes of a case whose made scores are not those of its made answers, which is told as well.
fn told(found: &Found) -> Vec<&str> {
    found.codes().into_iter().filter(|code| *code != "evaluation-results-contradict").collect()
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let tasks = || {
        let values =
            |salt: u32| (0..300).map(|id| (0.5, 0.5 + f64::from((id * salt) % 11) / 100.0 - 0.051)).collect::<Vec<_>>();
        let numbers = (1..9).map(|salt| task(&format!("n{salt}"), vec![metric("f1", &values(salt))]));
        numbers.chain((0..9).map(|nth| answered(&format!("a{nth}"), nth, 2, 60, 30))).collect::<Vec<_>>()
    };
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let found = pool.install(|| Case::of(tasks()).judge());
        let units: Vec<String> =
            found.units.iter().map(|one| serde_json::to_string(&one.unit).expect("JSON")).collect();
        let findings: Vec<String> =
            found.findings.iter().map(|finding| serde_json::to_string(finding).expect("JSON")).collect();
        (units, findings)
    };
    assert_eq!(of(1), of(5));
}

fn token(name: &str, list: &[(&str, f64)]) -> Token {
    let alternatives: BTreeMap<String, f64> = list.iter().map(|(name, lp)| ((*name).to_owned(), *lp)).collect();
    Token { name: name.to_owned(), log_probability: alternatives.get(name).copied(), alternatives }
}

fn generation(tokens: Vec<Token>) -> Generation {
    let text = tokens.iter().map(|token| token.name.as_str()).collect();
    Generation { text, tokens, prompt: Some("Q".to_owned()), ..Generation::default() }
}

/// Sure tokens, with one alternative each.
fn sure(count: usize) -> Vec<Token> {
    (0..count).map(|_| token("a", &[("a", -0.01), ("b", -4.6), ("c", -5.0)])).collect()
}

fn judged(pairs: Vec<(Vec<Token>, Vec<Token>)>, policy_text: &str) -> generations::JudgedGenerations {
    judged_ended(pairs, [None, None], policy_text)
}

/// Judges generations of which all of a side ended for one reason.
fn judged_ended(
    pairs: Vec<(Vec<Token>, Vec<Token>)>,
    ends: [Option<&str>; 2],
    policy_text: &str,
) -> generations::JudgedGenerations {
    let count = pairs.len();
    let (ours, theirs): (Vec<Vec<Token>>, Vec<Vec<Token>>) = pairs.into_iter().unzip();
    let ended =
        |tokens: Vec<Token>, end: Option<&str>| Generation { finish: end.map(str::to_owned), ..generation(tokens) };
    let file = |all: Vec<Vec<Token>>, end: Option<&str>| Generations {
        task: "generations".to_owned(),
        path: "generations.jsonl".to_owned(),
        records: all.into_iter().map(|tokens| ended(tokens, end)).collect(),
        ..Generations::default()
    };
    let (baseline, candidate) = (file(ours, ends[0]), file(theirs, ends[1]));
    let paired = PairedGenerations {
        baseline: &baseline,
        candidate: &candidate,
        pairs: (0..count).map(|place| (place, place)).collect(),
        names: (0..count).map(|place| place.to_string()).collect(),
        prompts: 0,
        only_baseline: 0,
        only_candidate: 0,
        contradictory: 0,
        failed: 0,
    };
    generations::judge(&paired, &policy(policy_text))
}

fn parted(place: usize, baseline: Token, candidate: Token) -> (Vec<Token>, Vec<Token>) {
    let (mut ours, mut theirs) = (sure(10), sure(10));
    ours[place] = baseline;
    theirs[place] = candidate;
    (ours, theirs)
}

fn said(found: &generations::JudgedGenerations) -> Vec<(&str, Severity)> {
    found.findings.iter().map(|finding| (finding.code.as_str(), finding.severity)).collect()
}

#[test]
fn another_end_of_the_same_text_is_told() {
    let found = judged_ended(vec![(sure(4), sure(4))], [Some("stop"), Some("length")], "");
    assert_eq!(said(&found), [("evaluation-finish-differs", Severity::Warn)]);
    for ends in [[Some("stop"), Some("stop")], [None, Some("length")], [Some("stop"), None]] {
        assert_eq!(said(&judged_ended(vec![(sure(4), sure(4))], ends, "")), [], "{ends:?}");
    }
}

#[test]
fn generations_may_part_at_a_tie_and_nowhere_else() {
    let tie = || parted(4, token("x", &[("x", -0.7), ("y", -0.72)]), token("y", &[("y", -0.7), ("x", -0.71)]));
    let far = || parted(2, token("x", &[("x", -0.1), ("y", -4.0)]), token("y", &[("y", -0.1)]));
    let beyond = || parted(3, token("x", &[("x", -0.1), ("z", -4.0)]), token("y", &[("y", -0.1)]));
    let cut = || (sure(10), sure(6));
    let bare = || (vec![token("x", &[])], vec![token("y", &[])]);
    let same = || (sure(10), sure(10));
    let found = judged(vec![tie(), same()], "");
    assert_eq!((found.unit.near_ties, said(&found)), (1, vec![]));
    assert_eq!(found.unit.tie_limit.map(|limit| limit.0.to_bits()), Some(0.1_f64.to_bits()));
    assert_eq!(said(&judged(vec![far(), same()], "")), [("evaluation-diverges-without-tie", Severity::Warn)], "one");
    let found = judged(vec![same(), beyond(), far(), tie()], "");
    assert_eq!(said(&found), [("evaluation-diverges-without-tie", Severity::Fail)]);
    let first = found.unit.first_divergence.expect("some part");
    assert_eq!((first.doc_id.as_str(), first.token, first.kind, first.prefix), ("2", 2, DivergenceKind::Far, 2));
    assert!((first.logprob_gap.expect("known").0 - 3.9).abs() < 1e-12);
    let found = judged(vec![cut(), cut(), same()], "");
    assert_eq!((found.unit.length, said(&found)), (2, vec![("evaluation-stop-differs", Severity::Fail)]));
    let found = judged(vec![bare(), same()], "");
    assert_eq!(said(&found), [("evaluation-diverges-unexplained", Severity::Warn)]);
    assert_eq!(
        said(&judged(vec![far(), beyond()], "evaluation: {tie: 5}")),
        [("evaluation-diverges-without-tie", Severity::Warn)]
    );
    assert_eq!(said(&judged(vec![tie()], "profile: bit-exact")), [("evaluation-diverges-without-tie", Severity::Fail)]);
}

#[test]
fn scaled_probabilities_fail_where_the_texts_agree() {
    let scaled = |factor: f64| -> Vec<Token> {
        let lists = sure(10).into_iter().map(|token| {
            let alternatives: BTreeMap<String, f64> =
                token.alternatives.into_iter().map(|(name, lp)| (name, lp * factor)).collect();
            Token { log_probability: alternatives.get("a").copied(), alternatives, ..token }
        });
        lists.collect()
    };
    let found = judged(vec![(sure(10), scaled(0.6)), (sure(10), scaled(0.6))], "");
    assert_eq!(said(&found), [("evaluation-logprobs-differ", Severity::Fail)]);
    assert!((found.unit.logprob_scale.expect("alternatives").0 - 0.6).abs() < 1e-9);
    assert_eq!(said(&judged(vec![(sure(10), scaled(1.01))], "")), []);
    let shifted: Vec<Token> = sure(10)
        .into_iter()
        .map(|token| Token { log_probability: token.log_probability.map(|lp| lp - 0.2), ..token })
        .collect();
    assert_eq!(said(&judged(vec![(sure(10), shifted)], "")), [("evaluation-logprobs-differ", Severity::Fail)]);
}

#[test]
fn generations_without_a_partner_are_incomplete() {
    let file = || Generations { task: "g".to_owned(), path: "g.jsonl".to_owned(), ..Generations::default() };
    let (baseline, candidate) = (file(), file());
    let none = PairedGenerations {
        baseline: &baseline,
        candidate: &candidate,
        pairs: vec![],
        names: vec![],
        prompts: 0,
        only_baseline: 0,
        only_candidate: 0,
        contradictory: 0,
        failed: 0,
    };
    let found = generations::judge(&none, &Policy::default());
    assert_eq!(said(&found), [("evaluation-samples-unpaired", Severity::Incomplete)], "nothing was compared");
    let several = PairedGenerations { prompts: 2, contradictory: 1, failed: 3, only_baseline: 4, ..none };
    let codes: Vec<&str> = [
        "evaluation-samples-unpaired",
        "evaluation-prompts-differ",
        "evaluation-duplicate-samples",
        "evaluation-metric-error",
    ]
    .to_vec();
    let found = generations::judge(&several, &Policy::default());
    let said: Vec<&str> = found.findings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(said, codes);
    assert!(found.findings.iter().all(|finding| finding.severity == Severity::Incomplete));
}
