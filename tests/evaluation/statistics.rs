//! Tests of evaluations against what scipy answers.

use precision_gate::compare::evaluation::{binomial, normal, permutation};
use serde_json::Value;

/// Draws of the permutation test here: enough to tell its error from chance.
const DRAWS: u64 = 100_000;
/// Draws of scipy where it does not try all signs.
const SCIPY_DRAWS: f64 = 9999.0;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../fixtures/evaluation-statistics/scipy.json")).expect("recorded answers")
}

fn rows(name: &str) -> Vec<Value> {
    recorded()[name].as_array().expect("a list").clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected
}

#[test]
fn changed_answers_have_the_probabilities_of_scipy() {
    let tables = rows("mcnemar");
    assert_eq!(tables.len(), 200);
    for table in tables {
        let found = binomial::mcnemar(count(&table[0]), count(&table[1]));
        assert!(is_close(found, number(&table[2])), "{table}: {found}");
    }
    for row in rows("changed") {
        let found = binomial::upper_tail(count(&row[0]), count(&row[1]), 0.05);
        assert!(is_close(found, number(&row[2])), "{row}: {found}");
    }
}

#[test]
fn scores_have_the_probabilities_of_scipy() {
    for row in rows("normal") {
        let found = normal::upper_tail(number(&row[0]));
        assert!(is_close(found, number(&row[1])), "{row}: {found}");
    }
}

#[test]
fn losses_have_the_probabilities_of_scipy_within_the_error_of_their_draws() {
    let rows = rows("permutation");
    assert_eq!(rows.len(), 200);
    for row in rows {
        let losses: Vec<f64> = row["losses"].as_array().expect("losses").iter().map(number).collect();
        let (found, expected) = (permutation::sign_flip_test(&losses, DRAWS).worse, number(&row["p"]));
        let variance = expected * (1.0 - expected);
        let of_scipy = if row["exact"] == true { 0.0 } else { variance / SCIPY_DRAWS };
        // Four standard errors and a half: one false alarm in some hundred thousand comparisons.
        let most = 4.5 * (variance / DRAWS as f64 + of_scipy).sqrt() + 2.0 / SCIPY_DRAWS;
        assert!((found - expected).abs() <= most, "{row}: {found}");
    }
}
