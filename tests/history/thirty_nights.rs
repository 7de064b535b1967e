//! Thirty nights, as `examples/thirty_nights` makes them: what is there is told, at its night, and nothing else is.

#[path = "../../examples/thirty_nights/nights.rs"]
#[allow(dead_code, reason = "the example uses what no test needs")]
mod simulation;

use jiff::civil::Date;
use precision_gate::history::record::Record;
use precision_gate::report::messages::Language;
use precision_gate::report::plot::trend::trend_png;
use precision_gate::result::trend::Limit;
use simulation::{CULPRIT, FLAKY, NIGHTS, Night, STEP, Suite, Told};

/// The nights of a suite, and what is told of them.
fn suite(suite: Suite) -> (Vec<Night>, Vec<Told>) {
    let folder = tempfile::tempdir().expect("a folder");
    simulation::write_baseline(folder.path()).expect("written");
    let nights = simulation::judge(suite, folder.path()).expect("judged");
    let told = simulation::told(&nights);
    (nights, told)
}

/// The records of all suites, by suite and time.
pub(crate) fn simulated() -> Vec<Record> {
    let mut records: Vec<Record> =
        Suite::ALL.into_iter().flat_map(|of| suite(of).0).map(|night| night.record).collect();
    records.sort_by(|one, other| (&one.suite, one.time).cmp(&(&other.suite, other.time)));
    records
}

#[test]
fn a_slow_drift_is_told_weeks_before_it_crosses() {
    let (nights, told) = suite(Suite::Drift);
    assert_eq!(simulation::red(&nights), Vec::<u64>::new(), "every night passes");
    for told in &told {
        assert_eq!((told.finding.code.as_str(), told.trend.unit.as_str()), ("history-drift", "loss"));
    }
    let tail = told.iter().find(|told| told.trend.rule == "tail_signed_rel").expect("the end of the run drifts most");
    assert!(tail.night <= 20, "the warning limit is crossed on night 37, and told on night {}", tail.night);
    // The end of the run drifts by 5.7e-5 a night, from -1.1e-4 on: beyond the warning limit of 2e-3 on night 37.
    let last = simulation::series(&nights);
    let last = precision_gate::history::trend::trends(&last);
    let tail = last.iter().find(|trend| trend.rule == "tail_signed_rel").expect("the same rule");
    let crossing = tail.drift.as_ref().and_then(|drift| drift.crosses.as_ref()).expect("it crosses");
    let on: Date = crossing.on.as_str().parse().expect("a date");
    let off = on.since("2026-11-07".parse::<Date>().expect("a date")).expect("close").get_days();
    assert_eq!((crossing.limit, off.abs() <= 3), (Limit::Warn, true), "{}", crossing.on);
}

#[test]
fn a_step_is_told_at_its_night_with_its_range() {
    let (nights, told) = suite(Suite::Step);
    for told in &told {
        let change = told.trend.change.as_ref().expect("a step, and no drift");
        assert_eq!(told.finding.code, "history-step", "{}", told.finding.place);
        assert_eq!(change.last_before.commit, simulation::commit(STEP - 1), "{}", told.finding.place);
        assert_eq!(change.first_after.commit, simulation::commit(STEP), "{}", told.finding.place);
    }
    for rule in ["error_of_limit", "mean_rel", "tail_signed_rel"] {
        let told = told.iter().find(|told| told.trend.rule == rule).expect(rule);
        assert_eq!(told.night, STEP + 3, "{rule} is told as soon as four nights show it");
    }
    let (red, alerts) = (simulation::red(&nights), simulation::alerts(&nights));
    assert_eq!((red, alerts), ((STEP..=NIGHTS).collect(), (STEP + 1..=NIGHTS).collect()));
    assert_eq!(simulation::bisect(&nights), Some((simulation::commit(STEP - 1), simulation::commit(STEP))));
    let culprit = nights.last().and_then(|night| night.result.culprit.as_ref()).expect("a culprit");
    assert_eq!(culprit.op, CULPRIT);
}

#[test]
fn a_single_bad_night_raises_no_alert() {
    let (nights, told) = suite(Suite::Flaky);
    assert_eq!(simulation::red(&nights), [FLAKY]);
    assert_eq!((simulation::alerts(&nights), simulation::bisect(&nights)), (vec![], None));
    let places: Vec<&str> = told.iter().map(|told| told.finding.place.as_str()).collect();
    assert_eq!(places, Vec::<&str>::new());
}

#[test]
fn the_picture_is_the_same_every_time() {
    let (nights, _) = suite(Suite::Step);
    let trends = precision_gate::history::trend::trends(&simulation::series(&nights));
    for language in Language::ALL {
        let picture = || trend_png(&trends, language).expect("drawn").expect("there are values");
        assert!(picture() == picture());
    }
    assert!(trend_png(&[], Language::En).expect("nothing").is_none());
}
