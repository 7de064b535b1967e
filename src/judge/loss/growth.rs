//! Gradient norms that grow over the layers of one run, and differences of two runs that grow over the layers.

use crate::compare::run::growth::{ByLayer, difference_growth, run_growth};
use crate::judge::loss::code;
use crate::read::curve::{CurveFile, LayerNorms};
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::run::{Growth, GrowthShape, Invariant, Looked};
use crate::verdict::Severity;

/// Place of the findings.
const PLACE: &str = "norms-by-layer";
/// Least number of layers for a line through them.
const LEAST_LAYERS: usize = 6;
/// Least share of the variance that a straight line must explain: of norms, and of differences.
const STRAIGHT: f64 = 0.8;
const STRAIGHT_APART: f64 = 0.7;
/// Growth factor of norms from one layer to the next, and over all layers, that no trained model exceeds.
const PER_LAYER: f64 = 1.2;
const IN_ALL: f64 = 100.0;
/// Relative difference of norms up to which rounding explains it.
const AGREE: f64 = 0.01;
/// Relative difference of norms from which on it fails.
const FAILS: f64 = 0.1;
/// Factor between the differences of two neighbouring layers from which on it is a jump.
const JUMP: f64 = 5.0;

/// Norms by parameter of all files of a run.
fn norms(files: &[CurveFile]) -> Option<LayerNorms> {
    let mut all = files.iter().filter_map(|file| file.told.norms.as_ref());
    let mut first = all.next()?.clone();
    for norms in all {
        first.non_finite += norms.non_finite;
        for (name, parameter) in &norms.parameters {
            first.parameters.entry(name.clone()).or_insert_with(|| parameter.clone());
        }
    }
    Some(first)
}

/// Norms over the layers of one run, with the finding about their growth; `None` without norms by layer.
pub(crate) fn growth_of_run(files: &[CurveFile]) -> Option<(Growth, Option<Finding>)> {
    let found = run_growth(&norms(files)?)?;
    let per_layer = found.line.slope.abs().exp();
    let grows = found.layers.len() >= LEAST_LAYERS
        && found.line.fit > STRAIGHT
        && per_layer > PER_LAYER
        && found.range >= IN_ALL;
    let shape = if grows { GrowthShape::Amplification } else { GrowthShape::Flat };
    let growth = growth(&found, shape, found.range);
    let finding = grows.then(|| growth_finding(&growth, Severity::Warn));
    Some((growth, finding))
}

/// Differences of both runs over the layers, with the finding about them; `None` without norms by layer on both sides.
pub(crate) fn growth_of_pair(baseline: &[CurveFile], candidate: &[CurveFile]) -> Option<(Growth, Option<Finding>)> {
    let found = difference_growth(&norms(baseline)?, &norms(candidate)?)?;
    let is_long = found.layers.len() >= LEAST_LAYERS;
    let is_jump = |(layer, factor): (u64, f64)| {
        factor >= JUMP && found.layers.iter().any(|(other, apart)| *other == layer && *apart > AGREE)
    };
    let shape = if found.worst <= AGREE {
        GrowthShape::Flat
    } else if found.jump.is_some_and(is_jump) {
        GrowthShape::Jump
    } else if is_long && found.line.slope < 0.0 && found.line.fit > STRAIGHT_APART {
        GrowthShape::Amplification
    } else {
        GrowthShape::Mixed
    };
    let growth = growth(&found, shape, found.worst);
    let severity = match shape {
        GrowthShape::Flat => None,
        GrowthShape::Mixed => Some(Severity::Info),
        _ if found.worst >= FAILS => Some(Severity::Fail),
        _ => Some(Severity::Warn),
    };
    let finding = severity.map(|severity| growth_finding(&growth, severity));
    Some((growth, finding))
}

fn growth(found: &ByLayer, shape: GrowthShape, worst: f64) -> Growth {
    let at = found.jump.map(|(layer, _)| layer).filter(|_| shape == GrowthShape::Jump);
    let per_layer = (shape == GrowthShape::Amplification).then(|| Number(found.line.slope.abs().exp()));
    let by_layer = found.layers.iter().map(|(layer, value)| (*layer, Number(*value))).collect();
    Growth { shape, layers: found.layers.len() as u64, per_layer, at, worst: Number(worst), by_layer }
}

fn growth_finding(growth: &Growth, severity: Severity) -> Finding {
    let ends = growth.by_layer.first().zip(growth.by_layer.last());
    let (small, large) =
        ends.map_or((0, 0), |((first, a), (last, b))| if a.0 > b.0 { (*last, *first) } else { (*first, *last) });
    let shape = match growth.shape {
        GrowthShape::Amplification => "amplification",
        GrowthShape::Jump => "jump",
        GrowthShape::Mixed => "mixed",
        GrowthShape::Flat => "flat",
    };
    let finding = Finding::new(&code::GROWTH_BY_LAYER, PLACE)
        .with_severity(severity)
        .with("shape", shape)
        .with("layers", growth.layers)
        .with("from", small)
        .with("to", large)
        .with("worst", growth.worst.0);
    let finding = finding.with("per_layer", growth.per_layer.map_or(0.0, |factor| factor.0 - 1.0));
    match growth.at {
        Some(at) => finding.with("at", at),
        None => finding,
    }
}

/// State of the invariant that norms do not grow from layer to layer.
pub(crate) fn growth_invariant(found: Option<&(Growth, Option<Finding>)>) -> Looked {
    match found {
        None => Looked::not(Invariant::NormsByLayer, "no-norms-by-layer"),
        Some((growth, _)) if growth.by_layer.len() < LEAST_LAYERS => Looked::not(Invariant::NormsByLayer, "few-layers"),
        Some((growth, finding)) => {
            Looked::over(Invariant::NormsByLayer, finding.is_none(), [("layers", growth.by_layer.len())])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::loss::files::log;

    fn norms_of(norm: impl Fn(i32) -> f64) -> Vec<CurveFile> {
        let lines: String = (0..24).map(|layer| format!("layers.{layer}.mlp.weight norm={}\n", norm(layer))).collect();
        vec![log(&format!("step=1 loss=2.5 lr=0.1\nstep=2 loss=2.25 lr=0.1\n{lines}"))]
    }

    fn shape(found: Option<(Growth, Option<Finding>)>) -> Option<(GrowthShape, Option<Severity>)> {
        found.map(|(growth, finding)| (growth.shape, finding.map(|finding| finding.severity)))
    }

    #[test]
    fn norms_that_grow_by_the_layer_warn_alone() {
        use GrowthShape::{Amplification, Flat};
        assert_eq!(
            shape(growth_of_run(&norms_of(|layer| 1.5_f64.powi(24 - layer)))),
            Some((Amplification, Some(Severity::Warn)))
        );
        assert_eq!(shape(growth_of_run(&norms_of(|layer| 1.05_f64.powi(24 - layer)))), Some((Flat, None)));
        assert_eq!(shape(growth_of_run(&[log("step=1 loss=2.5\nstep=2 loss=2.25\n")])), None);
    }

    #[test]
    fn differences_of_a_pair_have_a_shape() {
        use GrowthShape::{Amplification, Flat, Jump, Mixed};
        let baseline = norms_of(|_| 2.0);
        let of = |norm: fn(i32) -> f64| shape(growth_of_pair(&baseline, &norms_of(norm)));
        assert_eq!(of(|_| 2.001), Some((Flat, None)));
        assert_eq!(of(|layer| 2.0 + 0.02 * 1.15_f64.powi(24 - layer)), Some((Amplification, Some(Severity::Fail))));
        assert_eq!(of(|layer| if layer <= 9 { 2.5 } else { 2.0002 }), Some((Jump, Some(Severity::Fail))));
        assert_eq!(of(|layer| if layer % 2 == 0 { 2.05 } else { 2.03 }), Some((Mixed, Some(Severity::Info))));
    }
}
