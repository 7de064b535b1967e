//! A pickled value as a tree of tensors, numbers and containers.

use crate::read::tensor::TensorData;

/// One value of a torch file.
pub(crate) enum Tree {
    /// A tensor.
    Tensor(TensorData),
    /// A tensor of a kind that is not read.
    Unread,
    /// A list of plain numbers. Python's `None` becomes NaN.
    Numbers(Vec<f64>),
    /// A number.
    Number(f64),
    /// A text, shortened.
    Text(String),
    /// A list of other values.
    List(Vec<Tree>),
    /// A dictionary, in its order.
    Map(Vec<(String, Tree)>),
    /// Anything else.
    Other,
}
