//! Peak signal-to-noise ratio of two pictures, and the channel order that explains a low one.

use crate::read::picture::{CHANNELS, DecodedPicture};

/// The largest value of a channel.
const PEAK: f64 = 255.0;

/// Order in which the candidate holds the baseline's channels.
pub type ChannelOrder = [usize; CHANNELS];

/// Orders of three channels other than the identity.
const ORDERS: [ChannelOrder; 5] = [[2, 1, 0], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1]];

/// Measures of two pictures of the same size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureMeasure {
    /// Peak signal-to-noise ratio in dB; infinite for equal pictures.
    pub psnr: f64,
    /// Channel order of the candidate under which the pictures are closest, with its ratio; `None` where that is the
    /// order they have.
    pub order: Option<(ChannelOrder, f64)>,
    /// Whether both pictures are filled with the same single colour.
    pub is_trivial: bool,
}

/// Compares two pictures of the same size.
pub(crate) fn compare_pictures(baseline: &DecodedPicture, candidate: &DecodedPicture) -> PictureMeasure {
    // Sum of squared differences for every pair of a baseline channel and a candidate channel.
    let mut squares = [[0_u64; CHANNELS]; CHANNELS];
    let pixels = baseline.pixels.chunks_exact(CHANNELS).zip(candidate.pixels.chunks_exact(CHANNELS));
    for (baseline_pixel, candidate_pixel) in pixels {
        for (row, b) in squares.iter_mut().zip(baseline_pixel) {
            for (sum, c) in row.iter_mut().zip(candidate_pixel) {
                let difference = u64::from(b.abs_diff(*c));
                *sum += difference * difference;
            }
        }
    }
    let of = |order: ChannelOrder| -> f64 {
        let sum = order.iter().zip(&squares).filter_map(|(channel, row)| row.get(*channel)).sum::<u64>();
        ratio(sum, baseline.pixels.len())
    };
    let psnr = of([0, 1, 2]);
    let best = ORDERS.into_iter().map(|order| (order, of(order))).max_by(|a, b| a.1.total_cmp(&b.1));
    PictureMeasure {
        psnr,
        order: best.filter(|(_, other)| *other > psnr),
        is_trivial: psnr.is_infinite() && is_one_colour(baseline),
    }
}

#[allow(clippy::cast_precision_loss, reason = "sums of bytes are far below 2^53")]
fn ratio(squares: u64, samples: usize) -> f64 {
    if squares == 0 { f64::INFINITY } else { 10.0 * (PEAK * PEAK * samples as f64 / squares as f64).log10() }
}

fn is_one_colour(picture: &DecodedPicture) -> bool {
    let first = picture.pixels.get(..CHANNELS);
    picture.pixels.chunks_exact(CHANNELS).all(|pixel| Some(pixel) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(of: impl Fn(u8) -> [u8; 3]) -> DecodedPicture {
        DecodedPicture { width: 8, height: 8, pixels: (0..64_u8).flat_map(of).collect() }
    }

    #[test]
    fn one_grey_level_is_48_decibels() {
        let baseline = picture(|place| [place, 2 * place, 7]);
        let candidate = picture(|place| [place + 1, 2 * place + 1, 8]);
        let measure = compare_pictures(&baseline, &candidate);
        assert!((measure.psnr - 48.13).abs() < 0.01 && !measure.is_trivial, "{measure:?}");
        assert!(compare_pictures(&baseline, &baseline).psnr.is_infinite());
    }

    #[test]
    fn swapped_channels_are_named() {
        let baseline = picture(|place| [place, 200, 3 * place]);
        let candidate = picture(|place| [3 * place, 200, place]);
        let measure = compare_pictures(&baseline, &candidate);
        assert_eq!(measure.order.map(|(order, _)| order), Some([2, 1, 0]));
        assert!(measure.order.is_some_and(|(_, psnr)| psnr.is_infinite()));
    }

    #[test]
    fn one_colour_on_both_sides_says_nothing() {
        let black = picture(|_| [0; 3]);
        assert!(compare_pictures(&black, &black).is_trivial);
        assert!(!compare_pictures(&black, &picture(|_| [1; 3])).is_trivial);
    }
}
