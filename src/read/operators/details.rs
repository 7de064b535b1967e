//! Rows of `accuracy_checking_details`: one output of an operator, a device against a CPU.

use super::rows::Row;
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

/// Reads a row; `None` if it cannot be read.
pub(super) fn output_row(row: &Row<'_>) -> Option<OperatorOutput> {
    let name = row.name()?;
    let (api_len, direction, output) = name_parts(name)?;
    let dtype = row.cell("DEVICE Dtype")?.trim();
    Some(OperatorOutput {
        name: name.to_owned(),
        api_len,
        direction,
        output,
        dtype: dtype.strip_prefix("torch.").unwrap_or(dtype).to_owned(),
        shape: row.cell("Shape")?.trim().to_owned(),
        cosine: row.number("余弦相似度")?,
        max_abs: row.number("最大绝对误差")?,
        within: row.number("双千指标")?,
        binary: row.number("二进制一致错误率")?,
        rmse: row.number("均方根误差")?,
        small: row.number("小值域错误占比")?,
        max_rel: row.number("相对误差最大值")?,
        mean_rel: row.number("相对误差平均值")?,
        status: OperatorStatus::parse(row.cell("Status")?)?,
    })
}

/// Parts of a row's name: the length of the operator's name, the direction, and the number of the output.
pub(super) fn name_parts(name: &str) -> Option<(usize, Direction, Option<u64>)> {
    let of = |direction: Direction| Some((name.rfind(&format!(".{direction}"))?, direction));
    let (api_len, direction) = of(Direction::Forward).max(of(Direction::Backward))?;
    let rest = name.get(api_len + 1 + direction.as_str().len()..)?;
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
