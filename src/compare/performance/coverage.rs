//! Overlapping spans of time: joins them and measures the part of a window that they cover.

/// Spans without overlap, in order.
#[derive(Debug, Default)]
pub(super) struct CoveredTime(Vec<(i64, i64)>);

impl CoveredTime {
    /// Joins spans of start and end.
    pub(super) fn new(mut spans: Vec<(i64, i64)>) -> Self {
        if !spans.is_sorted() {
            spans.sort_unstable();
        }
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (start, end) in spans {
            match joined.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => joined.push((start, end)),
            }
        }
        Self(joined)
    }

    /// The union of both.
    pub(super) fn with(&self, other: &Self) -> Self {
        Self::new([self.0.as_slice(), other.0.as_slice()].concat())
    }

    /// Time within a window that is covered.
    pub(super) fn within(&self, start: i64, end: i64) -> i64 {
        let first = self.0.partition_point(|(_, span_end)| *span_end <= start);
        let spans = self.0.get(first..).unwrap_or_default().iter().take_while(|(span_start, _)| *span_start < end);
        spans.fold(0, |sum, (from, to)| sum.saturating_add((*to).min(end).saturating_sub((*from).max(start))))
    }
}

#[cfg(test)]
mod tests {
    use super::CoveredTime;

    #[test]
    fn overlapping_spans_count_once() {
        let coverage = CoveredTime::new(vec![(5, 10), (0, 2), (8, 12), (12, 13), (20, 21)]);
        assert_eq!(coverage.0, [(0, 2), (5, 13), (20, 21)]);
        assert_eq!(coverage.within(1, 9), 5);
        assert_eq!((coverage.within(2, 5), coverage.within(0, 100), coverage.within(30, 40)), (0, 11, 0));
        assert_eq!(coverage.with(&CoveredTime::new(vec![(2, 5)])).0, [(0, 13), (20, 21)]);
    }
}
