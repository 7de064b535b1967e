//! Causes of a mismatch of log-probabilities. They are tried in order, and the first that fits is reported. Here a is the engine's
//! log-probability of a token, and b the trainer's.

use std::collections::BTreeMap;

use super::groups::{Loudness, RankClass, median};
use super::noise::ExcessLevel;
use crate::compare::tokens::{FEWEST_TOKENS, Meter, Sums};
use crate::read::tokens::TokensStep;

/// Factor over the noise above which a step or position is loud.
const LOUD: f64 = 2.5;
/// Largest remaining difference of a correctly shifted array, relative to the unshifted one.
const SHIFTED: f64 = 0.2;
/// Least distance of a factor from 1 that counts.
const OFF: f64 = 0.05;
/// Largest residual after a common factor, relative to the mean |a|.
const LEFT: f64 = 0.02;
/// Least share of the variance that a parabola explains where temperatures differ.
const EXPLAINED: f64 = 0.6;
/// Largest share of tokens below the bound where sampling was truncated.
const BELOW: f64 = 0.02;
/// Factor over the loudest earlier step that all steps with old weights exceed.
const STALE: f64 = 3.0;
/// Least level that is assumed for the earlier steps, relative to the noise.
const LEAST_BEFORE: f64 = 0.2;
/// Fewest steps with old weights.
const FEWEST_STALE: usize = 2;
/// Least ratio of the last such step to the first where the engine never updates its weights.
const GROWS: f64 = 1.5;
/// Fewest positions behind the first loud one.
const FEWEST_BEHIND: usize = 3;

/// The cause of a mismatch.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenCause {
    /// The trainer's prompt differs from the engine's.
    Prompt,
    /// NaN or infinity.
    Overflow,
    /// An array is shifted: the engine's values belong to the token that many places on.
    Shifted {
        /// Number of positions.
        shift: i64,
    },
    /// The sides use logarithms to different bases.
    LogBase {
        /// The engine's are this many times the trainer's.
        factor: f64,
    },
    /// Only one side applies a temperature.
    Temperature,
    /// The engine's log-probabilities are those after top-k or top-p.
    TruncatedSampling,
    /// The engine has the weights of an earlier step.
    StaleWeights {
        /// The first step with them.
        first_step: TokensStep,
        /// Whether the difference grows, as it does if the engine never updates its weights.
        grows: bool,
    },
    /// Positions or the mask of padded prompts are wrong.
    Padding,
    /// One rank has other weights.
    RankWeights {
        /// The rank.
        class: RankClass,
    },
    /// The row of one token in an embedding or output matrix is wrong.
    TokenRow {
        /// The token.
        token: i64,
    },
    /// Answers to prompts from a cache differ.
    PrefixCache,
    /// Some answers differ, for no known reason.
    Sequences,
    /// Answers differ from a position on.
    Position {
        /// The position, from 0.
        first_position: u64,
    },
    /// Other weights: an adapter, a matrix or a scale.
    OtherWeights,
}

impl TokenCause {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Overflow => "overflow",
            Self::Shifted { .. } => "shifted",
            Self::LogBase { .. } => "log-base",
            Self::Temperature => "temperature",
            Self::TruncatedSampling => "truncated-sampling",
            Self::StaleWeights { .. } => "stale-weights",
            Self::Padding => "padding",
            Self::RankWeights { .. } => "rank-weights",
            Self::TokenRow { .. } => "token-row",
            Self::PrefixCache => "prefix-cache",
            Self::Sequences => "sequences",
            Self::Position { .. } => "position",
            Self::OtherWeights => "other-weights",
        }
    }
}

/// The cause of a mismatch, with the noise in nats; `level` is that of the worst step.
pub(crate) fn token_cause(
    meter: &Meter,
    loudness: &Loudness<'_>,
    noise: f64,
    level: ExcessLevel,
) -> Option<TokenCause> {
    let loudest = meter.steps.values().filter(|sums| sums.measures().mean_abs > LOUD * noise);
    let loudest = loudest.max_by(|x, y| x.measures().mean_abs.total_cmp(&y.measures().mean_abs));
    loudest
        .and_then(|sums| of_shape(sums, noise))
        .or_else(|| stale(&meter.steps, noise))
        .or_else(|| loudness.loud_are_padded().then_some(TokenCause::Padding))
        .or_else(|| loudness.loud_rank().map(|class| TokenCause::RankWeights { class }))
        .or_else(|| loudness.loud_token().map(|token| TokenCause::TokenRow { token }))
        .or_else(|| loudness.loud_are_cached().then_some(TokenCause::PrefixCache))
        .or_else(|| (loudness.count() >= 2 && loudness.stands_out()).then_some(TokenCause::Sequences))
        .or_else(|| position(&meter.positions, noise))
        .or_else(|| (level == ExcessLevel::Fail).then_some(TokenCause::OtherWeights))
}

/// Causes that show in the relation of a and b within the loudest step.
fn of_shape(sums: &Sums, noise: f64) -> Option<TokenCause> {
    let (measures, moments) = (sums.measures(), &sums.moments);
    if let Some([next, before]) = moments.shifted() {
        let is_shifted = |mean: f64| mean < LOUD * noise && mean < SHIFTED * measures.mean_abs;
        if is_shifted(next) || is_shifted(before) {
            return Some(TokenCause::Shifted { shift: if next <= before { 1 } else { -1 } });
        }
    }
    if let Some(scale) = moments.scale() {
        let is_left = scale.residual < (noise / 2.0).max(LEFT * scale.mean_abs_a);
        if (scale.factor - 1.0).abs() > OFF && is_left {
            return Some(TokenCause::LogBase { factor: scale.factor });
        }
    }
    let is_bent = moments.parabola().is_some_and(|share| share > EXPLAINED);
    if is_bent && moments.slope().is_some_and(|slope| (slope - 1.0).abs() > OFF) {
        return Some(TokenCause::Temperature);
    }
    (moments.share_below() <= BELOW && measures.bias > LOUD * noise).then_some(TokenCause::TruncatedSampling)
}

/// Stale weights: the first step from which on all steps are far louder than all before.
fn stale(steps: &BTreeMap<TokensStep, Sums>, noise: f64) -> Option<TokenCause> {
    let known = steps.iter().map(|(step, sums)| (step, sums.measures().mean_abs)).filter(|(_, mean)| !mean.is_nan());
    let levels: Vec<(&TokensStep, f64)> = known.collect();
    let mut loudest = 0.0_f64;
    for (place, (step, mean)) in levels.iter().enumerate() {
        let after = levels.get(place..).unwrap_or_default();
        let limit = STALE * loudest.max(LEAST_BEFORE * noise);
        let is_first = place > 0 && loudest <= LOUD * noise && after.len() >= FEWEST_STALE;
        if is_first && after.iter().all(|(_, mean)| *mean > limit) && after.iter().any(|(_, mean)| *mean > noise) {
            let last = after.last().map_or(0.0, |(_, mean)| *mean);
            return Some(TokenCause::StaleWeights { first_step: (*step).clone(), grows: last >= GROWS * mean });
        }
        loudest = loudest.max(*mean);
    }
    None
}

/// The first position from which on answers are loud.
fn position(positions: &[(u64, f64)], noise: f64) -> Option<TokenCause> {
    #[allow(clippy::cast_precision_loss, reason = "no run has 2^53 answers")]
    let mean = |(count, sum): &(u64, f64)| (*count >= FEWEST_TOKENS).then(|| sum / *count as f64);
    let means: Vec<(usize, f64)> =
        positions.iter().enumerate().filter_map(|(place, one)| Some((place, mean(one)?))).collect();
    let values: Vec<f64> = means.iter().map(|(_, mean)| *mean).collect();
    for (at, (place, _)) in means.iter().enumerate().filter(|(_, (_, mean))| *mean > LOUD * noise) {
        let (before, behind) = (values.get(..at)?, values.get(at + 1..)?);
        let typical = median(behind);
        if behind.len() < FEWEST_BEHIND || typical <= LOUD * noise {
            continue;
        }
        #[allow(clippy::cast_precision_loss, reason = "no answer has 2^53 tokens")]
        let level = before.iter().sum::<f64>() / before.len() as f64;
        // Without an earlier position the level is NaN, and the comparison is false: answers are loud from their beginning.
        return (level < SHIFTED * typical).then_some(TokenCause::Position { first_position: *place as u64 });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: f64 = 0.012;

    fn steps(levels: &[f64]) -> BTreeMap<TokensStep, Sums> {
        let of = |mean: &f64| {
            let mut sums = Sums::default();
            (0..16).for_each(|nth| sums.add(-2.0 - mean - f64::from(nth) * 0.1, -2.0 - f64::from(nth) * 0.1, NOISE));
            sums
        };
        (0..).map(TokensStep::Number).zip(levels.iter().map(of)).collect()
    }

    fn stale_of(levels: &[f64]) -> Option<(u64, bool)> {
        match stale(&steps(levels), NOISE)? {
            TokenCause::StaleWeights { first_step: TokensStep::Number(step), grows } => Some((step, grows)),
            _ => None,
        }
    }

    #[test]
    fn old_weights_show_as_a_step_up_that_stays() {
        assert_eq!(stale_of(&[4e-7, 0.03, 0.05, 0.08]), Some((1, true)));
        assert_eq!(stale_of(&[0.008, 0.009, 0.04, 0.041, 0.039]), Some((2, false)));
        assert_eq!(stale_of(&[0.008, 0.009, 0.04]), None, "one step is no trend");
        assert_eq!(stale_of(&[0.008, 0.04, 0.009, 0.04]), None, "it came back");
        assert_eq!(stale_of(&[0.2, 0.9, 0.9]), None, "loud before");
        assert_eq!(stale_of(&[4e-7, 0.0001, 0.0001]), None, "far below noise");
    }

    fn position_of(means: &[f64]) -> Option<u64> {
        let positions: Vec<(u64, f64)> = means.iter().map(|mean| (8, 8.0 * mean)).collect();
        match position(&positions, NOISE)? {
            TokenCause::Position { first_position } => Some(first_position),
            _ => None,
        }
    }

    #[test]
    fn the_first_position_that_is_off_has_quiet_ones_before_and_loud_ones_behind() {
        assert_eq!(position_of(&[4e-7, 0.2, 0.1, 0.3, 0.2]), Some(1));
        assert_eq!(position_of(&[0.008, 0.05, 0.008, 0.009, 0.008, 0.009, 0.008, 0.2, 0.2, 0.3, 0.2]), Some(7));
        assert_eq!(position_of(&[0.2, 0.2, 0.1, 0.3, 0.2]), None);
        assert_eq!(position_of(&[0.01, 0.01, 0.01, 0.2]), None);
        assert_eq!(position_of(&[0.025, 0.025, 0.1, 0.1, 0.1, 0.1]), None, "noisy from the beginning");
    }
}
