//! Sums that describe the shape of the differences: shifted, scaled, curved or truncated.

/// Sums of powers of a and b over tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    count: f64,
    a: f64,
    aa: f64,
    ab: f64,
    /// Sum of |a|.
    abs_a: f64,
    /// Sums of the powers of b, the first to the fourth.
    b: [f64; 4],
    /// Sums of (a - b), (a - b) b, (a - b) b^2 and (a - b)^2.
    apart: [f64; 4],
    /// Number of tokens with a - b below minus half the noise.
    below: f64,
    /// Of neighbours: their number, the sums of |a(t) - b(t+1)| and of |a(t+1) - b(t)|.
    neighbours: [f64; 3],
}

/// A factor between a and b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleFit {
    /// Factor by which b is multiplied to give a.
    pub factor: f64,
    /// Root mean square of the residual after the factor.
    pub residual: f64,
    /// Mean |a|.
    pub mean_abs_a: f64,
}

impl Moments {
    /// Adds a token.
    pub fn add(&mut self, a: f64, b: f64, noise: f64) {
        let difference = a - b;
        let square = b * b;
        self.count += 1.0;
        self.a += a;
        self.aa += a * a;
        self.ab += a * b;
        self.abs_a += a.abs();
        join(&mut self.b, &[b, square, square * b, square * square]);
        join(&mut self.apart, &[difference, difference * b, difference * square, difference * difference]);
        self.below += f64::from(u8::from(difference < -noise / 2.0));
    }

    /// Adds two neighbouring tokens, each as (a, b).
    pub(crate) fn add_neighbours(&mut self, (first_a, first_b): (f64, f64), (second_a, second_b): (f64, f64)) {
        join(&mut self.neighbours, &[1.0, (first_a - second_b).abs(), (second_a - first_b).abs()]);
    }

    /// Adds the sums of other tokens.
    pub fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.a += other.a;
        self.aa += other.aa;
        self.ab += other.ab;
        self.abs_a += other.abs_a;
        join(&mut self.b, &other.b);
        join(&mut self.apart, &other.apart);
        self.below += other.below;
        join(&mut self.neighbours, &other.neighbours);
    }

    /// Mean |a - b| where a is compared with the next token's b, and with the previous token's b; `None` without
    /// neighbours.
    pub fn shifted(&self) -> Option<[f64; 2]> {
        let [count, next, before] = self.neighbours;
        (count > 0.0).then(|| [next / count, before / count])
    }

    /// The factor between a and b by least squares; `None` where b is zero.
    pub fn scale(&self) -> Option<ScaleFit> {
        let [_, bb, ..] = self.b;
        let factor = self.ab / bb;
        let left = self.aa - 2.0 * factor * self.ab + factor * factor * bb;
        let residual = (left.max(0.0) / self.count).sqrt();
        factor.is_finite().then_some(ScaleFit { factor, residual, mean_abs_a: self.abs_a / self.count })
    }

    /// Slope of the line of a over b; `None` where b does not vary.
    pub fn slope(&self) -> Option<f64> {
        let [b, bb, ..] = self.b;
        let slope = (self.ab - self.a * b / self.count) / (bb - b * b / self.count);
        slope.is_finite().then_some(slope)
    }

    /// Share of the variance of a - b that a parabola in b explains; `None` where that cannot be told.
    pub(crate) fn parabola(&self) -> Option<f64> {
        let n = self.count;
        let [b1, b2, b3, b4] = self.b;
        let [d, db, dbb, dd] = self.apart;
        let coefficients = solve([[n, b1, b2, d], [b1, b2, b3, db], [b2, b3, b4, dbb]])?;
        let explained: f64 = coefficients.iter().zip([d, db, dbb]).map(|(c, sum)| c * sum).sum();
        let total = dd - d * d / n;
        let share = 1.0 - (dd - explained) / total;
        (total > 0.0 && share.is_finite()).then_some(share)
    }

    /// Share of tokens with a - b below minus half the noise.
    pub(crate) fn share_below(&self) -> f64 {
        self.below / self.count
    }
}

fn join(sums: &mut [f64], others: &[f64]) {
    sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
}

/// Solves three linear equations by elimination with column pivots; `None` where they are dependent.
fn solve(rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    let mut left = rows.to_vec();
    let mut done: Vec<[f64; 4]> = Vec::new();
    for column in 0..3 {
        let size = |row: &[f64; 4]| row.get(column).copied().map_or(0.0, f64::abs);
        let largest = (0..left.len()).max_by(|x, y| {
            let of = |at: &usize| left.get(*at).map_or(0.0, size);
            of(x).total_cmp(&of(y))
        })?;
        let pivot = left.swap_remove(largest);
        let head = *pivot.get(column)?;
        if head.abs() < 1e-9 {
            return None;
        }
        let pivot = pivot.map(|value| value / head);
        let without = |row: &[f64; 4]| {
            let times = row.get(column).copied().unwrap_or(0.0);
            let mut row = *row;
            row.iter_mut().zip(pivot).for_each(|(value, of_pivot)| *value -= times * of_pivot);
            row
        };
        left = left.iter().map(without).collect();
        done = done.iter().map(without).collect();
        done.push(pivot);
    }
    let [[.., x], [.., y], [.., z]] = *done.as_slice() else { return None };
    Some([x, y, z])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Moments {
        let mut moments = Moments::default();
        pairs.iter().for_each(|(a, b)| moments.add(*a, *b, 0.02));
        pairs.windows(2).for_each(|two| moments.add_neighbours(two[0], two[1]));
        moments
    }

    #[test]
    fn three_equations_are_solved_and_dependent_ones_are_not() {
        let solved = solve([[0.0, 2.0, 1.0, 7.0], [1.0, 1.0, 1.0, 6.0], [2.0, 1.0, 1.0, 7.0]]).expect("independent");
        for (found, wanted) in solved.into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-12, "{solved:?}");
        }
        assert_eq!(solve([[1.0, 2.0, 3.0, 1.0], [2.0, 4.0, 6.0, 2.0], [1.0, 1.0, 1.0, 1.0]]), None);
    }

    #[test]
    fn another_base_of_the_logarithm_is_a_factor() {
        let pairs: Vec<(f64, f64)> =
            (1..40).map(|nth| -0.17 * f64::from(nth)).map(|b| (b * std::f64::consts::LOG10_E, b)).collect();
        let scale = of(&pairs).scale().expect("b is not zero");
        assert!((scale.factor - std::f64::consts::LOG10_E).abs() < 1e-9 && scale.residual < 1e-6, "{scale:?}");
    }

    #[test]
    fn a_parabola_is_told_from_noise() {
        let b = |nth: u32| -0.2 * f64::from(nth % 31);
        let bent: Vec<(f64, f64)> = (0..93).map(b).map(|b| (b + 0.1 * b * b - 0.3 * b, b)).collect();
        assert!(of(&bent).parabola().is_some_and(|share| share > 0.999));
        let noise: Vec<(f64, f64)> =
            (0..93).map(|nth| (b(nth) + if (nth * 7919) % 13 < 6 { 0.1 } else { -0.1 }, b(nth))).collect();
        assert!(of(&noise).parabola().is_some_and(|share| share < 0.2));
        assert_eq!(of(&[(-1.0, -1.0)]).parabola(), None);
    }

    #[test]
    fn a_shift_is_seen_in_neighbours() {
        let b: Vec<f64> = (0..50).map(|nth| -f64::from((nth * 37) % 11) / 3.0).collect();
        let pairs: Vec<(f64, f64)> = b.windows(2).map(|two| (two[1], two[0])).collect();
        let [next, before] = of(&pairs).shifted().expect("neighbours");
        assert!(next < 1e-12 && before > 0.5, "{next} {before}");
        assert_eq!(Moments::default().shifted(), None);
    }
}
