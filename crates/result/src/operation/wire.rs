//! A line as it is read, and as its schema describes it: names once, and type and shape of both sides once where they are equal.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

use super::{DIFFERENCES, FromReference, OperationLine, Recorded, RecordedValue, State};
use crate::kind::TensorKind;
use crate::number::Number;

/// One line.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "OperationLine")]
pub(super) struct Line<'a> {
    /// The step.
    step: u64,
    /// The rank; null where there is only one process.
    rank: Option<u64>,
    /// Position of the operation in execution order, from 0.
    order: u64,
    /// The operation, as dumped on the candidate side (the baseline's where only it has the operation).
    op: Cow<'a, str>,
    /// The module it ran in; absent where that was not recorded.
    #[serde(default)]
    module: Cow<'a, str>,
    /// The row name, as dumped on the candidate side (the baseline's where only it has the row). One that begins with a dot
    /// follows the operation's name.
    tensor: Cow<'a, str>,
    /// Whether the row name is a whole one, although it begins with a dot.
    #[serde(default)]
    whole: bool,
    /// Role in the operation.
    kind: TensorKind,
    /// Result of the comparison.
    state: State,
    /// Reason where it was not compared or differs in an exact property; absent elsewhere.
    #[serde(default)]
    reason: Cow<'a, str>,
    /// Error relative to scale.
    #[serde(default)]
    error: Option<Number>,
    /// The noise limit.
    #[serde(default)]
    limit: Option<Number>,
    /// Errors of both sides against the reference run, where there is one.
    #[serde(default)]
    reference: Option<FromReference>,
    /// Relative differences of largest, smallest and mean value and 2-norm, where all four were recorded.
    #[serde(default)]
    differences: Option<[Number; 4]>,
    /// Further numbers by name.
    #[serde(default)]
    metrics: BTreeMap<Cow<'a, str>, Number>,
    /// Element type of both sides, or the type of a plain value; absent where the sides say it themselves.
    #[serde(default)]
    dtype: Option<Cow<'a, str>>,
    /// Shape of both sides; absent where it is empty, or where the sides say it themselves.
    #[serde(default)]
    shape: Cow<'a, [u64]>,
    /// The baseline's value; null where it has none.
    baseline: Option<Side<'a>>,
    /// The candidate's.
    candidate: Option<Side<'a>>,
}

/// Recorded numbers or texts.
type Values<'a> = Cow<'a, [RecordedValue<'a>]>;

/// The value of one side.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Side<'a> {
    /// Largest, smallest and mean value and 2-norm, and a checksum where there is one; or the plain value alone. Type and shape
    /// are the line's.
    Values(Values<'a>),
    /// A value with properties of its own.
    Whole {
        /// Row name on this side; absent where it is the line's.
        #[serde(default)]
        tensor: Option<Cow<'a, str>>,
        /// Element type, or the type of a plain value.
        dtype: Cow<'a, str>,
        /// Shape.
        #[serde(default)]
        shape: Cow<'a, [u64]>,
        /// As where the line says the rest.
        #[serde(default)]
        values: Values<'a>,
    },
}

impl JsonSchema for OperationLine<'_> {
    fn schema_name() -> Cow<'static, str> {
        Line::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Line::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for OperationLine<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Line::deserialize(deserializer).map(Self::from)
    }
}

impl<'a> From<Line<'a>> for OperationLine<'a> {
    fn from(line: Line<'a>) -> Self {
        let tensor = match line.tensor.starts_with('.') && !line.whole {
            true => Cow::Owned(format!("{}{}", line.op, line.tensor)),
            false => line.tensor,
        };
        let metrics = match line.differences {
            Some(differences) => DIFFERENCES.map(Cow::Borrowed).into_iter().zip(differences).collect(),
            None => line.metrics.into_iter().collect(),
        };
        let (dtype, shape) = (line.dtype.unwrap_or_default(), line.shape);
        let recorded = |side: Side<'a>| match side {
            Side::Values(values) => {
                Recorded { tensor: None, dtype: dtype.clone(), shape: shape.clone(), values: values.into_owned() }
            }
            Side::Whole { tensor: own, dtype, shape, values } => {
                let tensor = own.filter(|own| *own != tensor);
                Recorded { tensor, dtype, shape, values: values.into_owned() }
            }
        };
        let (baseline, candidate) = (line.baseline.map(recorded), line.candidate.map(recorded));
        Self {
            step: line.step,
            rank: line.rank,
            order: line.order,
            op: line.op,
            module: line.module,
            kind: line.kind,
            state: line.state,
            reason: line.reason,
            error: line.error,
            limit: line.limit,
            reference: line.reference,
            metrics,
            baseline,
            candidate,
            tensor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_version_before_are_read() {
        let text = r#"{"step":0,"rank":0,"order":3,"op":"a.0.forward","tensor":"a.0.forward.input.0","kind":"input",
            "state":"differs","metrics":{"max_difference":1.5},"baseline":{"tensor":"b.0.forward.input.0","dtype":"float32",
            "shape":[2],"values":["1.5","-inf","null","7"]},"candidate":null}"#;
        let line: OperationLine<'_> = serde_json::from_str(text).expect("read");
        assert_eq!(line.tensor, "a.0.forward.input.0");
        let baseline = line.baseline.expect("there");
        assert_eq!(baseline.tensor.as_deref(), Some("b.0.forward.input.0"));
        assert_eq!(baseline.values.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1.5", "-inf", "null", "7"]);
    }
}
