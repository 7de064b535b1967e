//! Rows of `accuracy_checking_details`: one output of an operator, a device against a CPU.

use super::rows::Cell;
use super::status::OperatorStatus;
use crate::kind::Direction;

/// One output of an operator.
///
/// A number is `None` if the tool did not compute it; NaN and infinities are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorOutput {
    /// The row's name: `Functional.linear.0.forward.output.0`.
    pub name: String,
    /// Length of the operator's part of the name (`Functional.linear.0`), in bytes.
    api_len: usize,
    /// Direction of the call.
    pub direction: Direction,
    /// Number of the output; `None` if the name has none.
    pub output: Option<u64>,
    /// Element type on the device, without `torch.`; empty if nothing was computed.
    pub dtype: String,
    /// Shape as written: `(2, 9, 16)`.
    pub shape: String,
    /// Cosine similarity to the CPU's result.
    pub cosine: Option<f64>,
    /// Largest absolute error.
    pub max_abs: Option<f64>,
    /// Share of elements that are off by less than two thousandths.
    pub within: Option<f64>,
    /// Share of unequal elements, for results that are not floating-point numbers.
    pub binary: Option<f64>,
    /// Root of the mean square error, over finite elements.
    pub rmse: Option<f64>,
    /// Share of wrong elements among those near zero.
    pub small: Option<f64>,
    /// Largest relative error, over finite elements.
    pub max_rel: Option<f64>,
    /// Mean relative error, over finite elements.
    pub mean_rel: Option<f64>,
    /// Status that the tool gave the output.
    pub status: OperatorStatus,
}

impl OperatorOutput {
    /// Name of the operator: `Functional.linear.0`.
    pub fn api(&self) -> &str {
        self.name.get(..self.api_len).unwrap_or(&self.name)
    }

    /// Whether both rows have the same bits in all numbers, and the same type, shape and status.
    pub(crate) fn has_same_numbers(&self, other: &Self) -> bool {
        let numbers = |row: &Self| {
            let all = [row.cosine, row.max_abs, row.binary, row.rmse, row.small, row.max_rel, row.mean_rel];
            all.map(|number| number.map(f64::to_bits))
        };
        (&self.dtype, &self.shape, self.status) == (&other.dtype, &other.shape, other.status)
            && numbers(self) == numbers(other)
    }
}

/// Titles of the columns that are read.
pub(super) const TITLES: [&str; 11] = [
    "DEVICE Dtype",
    "Shape",
    "余弦相似度",
    "最大绝对误差",
    "双千指标",
    "二进制一致错误率",
    "均方根误差",
    "小值域错误占比",
    "相对误差最大值",
    "相对误差平均值",
    "Status",
];

/// Reads a row from the cells below [`TITLES`]; `None` if it cannot be read.
pub(super) fn output_row(name: &str, cells: [Cell<'_>; TITLES.len()]) -> Option<OperatorOutput> {
    let [dtype, shape, cosine, max_abs, within, binary, rmse, small, max_rel, mean_rel, status] = cells;
    let (api_len, direction, output) = name_parts(name)?;
    let dtype = dtype.text()?;
    Some(OperatorOutput {
        name: name.to_owned(),
        api_len,
        direction,
        output,
        dtype: dtype.strip_prefix("torch.").unwrap_or(dtype).to_owned(),
        shape: shape.text()?.to_owned(),
        cosine: cosine.number()?,
        max_abs: max_abs.number()?,
        within: within.number()?,
        binary: binary.number()?,
        rmse: rmse.number()?,
        small: small.number()?,
        max_rel: max_rel.number()?,
        mean_rel: mean_rel.number()?,
        status: OperatorStatus::parse(status.text()?)?,
    })
}

/// Parts of a row's name: the length of the operator's name, the direction, and the number of the output.
pub(super) fn name_parts(name: &str) -> Option<(usize, Direction, Option<u64>)> {
    let of = |(dot, _): (usize, &str)| {
        let word = name.get(dot + 1..)?;
        let of = |direction: Direction| Some((dot, direction, word.strip_prefix(direction.as_str())?));
        of(Direction::Forward).or_else(|| of(Direction::Backward))
    };
    let (api_len, direction, rest) = name.rmatch_indices('.').find_map(of)?;
    let output = rest.strip_prefix(".output.").and_then(|rest| rest.split('.').next());
    let is_row = rest.is_empty() || output.is_some();
    (is_row && api_len > 0).then_some((api_len, direction, output.and_then(|output| output.parse().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_operator_direction_and_output() {
        let cases = [
            ("Functional.linear.0.forward.output.0", Some((19, Direction::Forward, Some(0)))),
            ("Tensor.__getitem__.12.backward.output.3", Some((21, Direction::Backward, Some(3)))),
            ("Torch.x.0.forward.output.1.2", Some((9, Direction::Forward, Some(1)))),
            ("Module.forward_net.0.backward", Some((20, Direction::Backward, None))),
            ("Functional.linear.0", None),
            (".forward.output.0", None),
            ("Functional.linear.0.forwarded", None),
        ];
        for (name, expected) in cases {
            assert_eq!(name_parts(name), expected, "{name}");
        }
    }
}
