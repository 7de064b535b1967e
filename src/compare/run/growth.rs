//! Gradient norms over the layers of a model: their growth in one run, or the growth of the difference of two.

use std::collections::BTreeMap;

use crate::median::upper_median;
use crate::read::curve::LayerNorms;

/// Norms of one run, or differences of two, by layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByLayer {
    /// Each layer with its median, rising by layer.
    pub layers: Vec<(u64, f64)>,
    /// The straight line through their logarithms.
    pub line: LogarithmLine,
    /// The largest median.
    pub worst: f64,
    /// Ratio of the largest median to the smallest.
    pub range: f64,
    /// The largest factor between a layer and the next one, with the number of the first of the two.
    pub jump: Option<(u64, f64)>,
}

/// A straight line through the logarithms of values over their layers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LogarithmLine {
    /// Change of the logarithm from one layer to the next.
    pub slope: f64,
    /// Share of the variance that it explains.
    pub fit: f64,
}

/// Norms of one run; `None` where it has none.
pub(crate) fn run_growth(norms: &LayerNorms) -> Option<ByLayer> {
    let mut by_layer: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for parameter in norms.parameters.values() {
        by_layer.entry(parameter.layer).or_default().extend(parameter.values.values().map(|value| value.abs()));
    }
    measured(by_layer)
}

/// Relative differences of the norms that both runs have at the same step and rank; `None` where there are none.
pub(crate) fn difference_growth(baseline: &LayerNorms, candidate: &LayerNorms) -> Option<ByLayer> {
    let mut by_layer: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (name, own) in &baseline.parameters {
        let Some(other) = candidate.parameters.get(name) else { continue };
        let both = own.values.iter().filter_map(|(place, value)| Some((*value, *other.values.get(place)?)));
        let apart = both
            .filter(|(baseline, _)| *baseline != 0.0)
            .map(|(baseline, candidate)| (candidate / baseline - 1.0).abs());
        by_layer.entry(own.layer).or_default().extend(apart);
    }
    measured(by_layer)
}

fn measured(by_layer: BTreeMap<u64, Vec<f64>>) -> Option<ByLayer> {
    let layers: Vec<(u64, f64)> =
        by_layer.into_iter().filter_map(|(layer, values)| Some((layer, upper_median(values)?))).collect();
    let values = || layers.iter().map(|(_, value)| *value);
    let (worst, least) = (values().fold(0.0, f64::max), values().fold(f64::INFINITY, f64::min));
    let factor = |pair: &[(u64, f64)]| match pair {
        [(layer, front), (_, behind)] => Some((*layer, front / behind.max(f64::MIN_POSITIVE))),
        _ => None,
    };
    let jump = layers.windows(2).filter_map(factor).max_by(|a, b| a.1.total_cmp(&b.1));
    (!layers.is_empty()).then(|| ByLayer {
        line: line(&layers),
        worst,
        range: if least > 0.0 { worst / least } else { f64::INFINITY },
        jump,
        layers,
    })
}

/// The least-squares line through the logarithms of positive values.
#[allow(clippy::cast_precision_loss, reason = "numbers of layers")]
fn line(layers: &[(u64, f64)]) -> LogarithmLine {
    let points: Vec<(f64, f64)> =
        layers.iter().filter(|(_, value)| *value > 0.0).map(|(layer, value)| (*layer as f64, value.ln())).collect();
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(a, b)| of(a - x, b - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
    if xx > 0.0 && yy > 0.0 {
        LogarithmLine { slope: xy / xx, fit: xy * xy / (xx * yy) }
    } else {
        LogarithmLine::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::curve::ParameterNorms;

    fn norms(of: impl Fn(i32) -> f64) -> LayerNorms {
        let mut norms = LayerNorms::default();
        for layer in 0..36 {
            let values = BTreeMap::from([((0, 0), of(layer))]);
            let layer = u64::try_from(layer).unwrap_or_default();
            let mut parameter = ParameterNorms::default();
            (parameter.layer, parameter.values) = (layer, values);
            norms.parameters.insert(format!("layers.{layer}.w"), parameter);
        }
        norms
    }

    #[test]
    fn growth_by_a_factor_is_a_straight_line() {
        let found = run_growth(&norms(|layer| 1.5_f64.powi(36 - layer))).expect("norms");
        assert!(found.line.fit > 0.999 && (found.line.slope + 1.5_f64.ln()).abs() < 1e-9 && found.range > 1e6);
    }

    #[test]
    fn a_difference_is_measured_by_layer_with_its_jump() {
        let baseline = norms(|_| 2.0);
        let found =
            difference_growth(&baseline, &norms(|layer| if layer <= 18 { 2.4 } else { 2.0004 })).expect("norms");
        assert_eq!(found.jump.map(|(layer, _)| layer), Some(18));
        assert!((found.worst - 0.2).abs() < 1e-9 && found.jump.is_some_and(|(_, factor)| factor > 500.0));
        let grown =
            difference_growth(&baseline, &norms(|layer| 2.0 + 1.12_f64.powi(36 - layer) * 0.02)).expect("norms");
        assert!(
            (grown.line.slope.exp() * 1.12 - 1.0).abs() < 1e-6 && grown.jump.is_some_and(|(_, factor)| factor < 1.2)
        );
        assert_eq!(difference_growth(&baseline, &LayerNorms::default()), None);
    }
}
