//! Steps by their spans of time, for kernels whose files name none.

/// Spans of steps in order of their start.
#[derive(Debug, Default)]
pub(super) struct Spans(Vec<(i64, i64, u64)>);

impl Spans {
    /// Spans of start, end and number of a step.
    pub(super) fn new(mut spans: Vec<(i64, i64, u64)>) -> Self {
        spans.sort_unstable();
        Self(spans)
    }

    /// The last step that had begun at a time; `None` before the first.
    pub(super) fn begun(&self, time: i64) -> Option<u64> {
        self.last(time).map(|(_, _, number)| number)
    }

    /// The step that holds a time; `None` outside all of them.
    pub(super) fn holding(&self, time: i64) -> Option<u64> {
        self.last(time).filter(|(_, end, _)| time <= *end).map(|(_, _, number)| number)
    }

    fn last(&self, time: i64) -> Option<(i64, i64, u64)> {
        let behind = self.0.partition_point(|(start, _, _)| *start <= time);
        behind.checked_sub(1).and_then(|place| self.0.get(place)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Spans;

    #[test]
    fn a_time_between_two_steps_belongs_to_the_one_before_or_to_none() {
        let spans = Spans::new(vec![(20, 28, 2), (10, 18, 1)]);
        for (time, begun, holding) in
            [(9, None, None), (10, Some(1), Some(1)), (19, Some(1), None), (28, Some(2), Some(2)), (40, Some(2), None)]
        {
            assert_eq!((spans.begun(time), spans.holding(time)), (begun, holding), "{time}");
        }
    }
}
