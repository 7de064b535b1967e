//! Assignment of kernels to steps by time, for files that do not record the step of a kernel.

/// Time spans of steps, sorted by their start: start, end and number of each step.
#[derive(Debug, Default)]
pub(super) struct Spans(Vec<(i64, i64, u64)>);

impl Spans {
    /// Creates the list from the start, end and number of each step.
    pub(super) fn new(mut spans: Vec<(i64, i64, u64)>) -> Self {
        spans.sort_unstable();
        Self(spans)
    }

    /// Last step that started at or before a time; `None` before the first step.
    pub(super) fn begun(&self, time: i64) -> Option<u64> {
        self.last(time).map(|(_, _, number)| number)
    }

    /// Step whose span contains a time; `None` outside of all steps.
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
