//! Text of a line, in the form that `wire` reads.
//!
//! A run has millions of lines, so that keys are written as they stand, without a look at their characters. All of it is inlined into
//! the crate that writes lines, since this one is optimised for a short build.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{OperationLine, Recorded, are_differences};

impl OperationLine<'_> {
    /// Adds the line as one JSON object, without a line break.
    ///
    /// # Errors
    /// Those of `serde_json`; there is none that a line can cause.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        member("{\"step\":", &self.step, out)?;
        member(",\"rank\":", &self.rank, out)?;
        member(",\"order\":", &self.order, out)?;
        member(",\"op\":", &self.op, out)?;
        if !self.module.is_empty() {
            member(",\"module\":", &self.module, out)?;
        }
        let rest = self.tensor.strip_prefix(&*self.op).filter(|rest| rest.starts_with('.'));
        member(",\"tensor\":", rest.unwrap_or(&self.tensor), out)?;
        if rest.is_none() && self.tensor.starts_with('.') {
            member(",\"whole\":", &true, out)?;
        }
        member(",\"kind\":", &self.kind, out)?;
        member(",\"state\":", &self.state, out)?;
        if !self.reason.is_empty() {
            member(",\"reason\":", &self.reason, out)?;
        }
        self.write_numbers(out)?;
        self.write_sides(out)?;
        out.push(b'}');
        Ok(())
    }

    #[inline]
    fn write_numbers(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        if let Some(error) = &self.error {
            member(",\"error\":", error, out)?;
        }
        if let Some(limit) = &self.limit {
            member(",\"limit\":", limit, out)?;
        }
        if let Some(reference) = &self.reference {
            member(",\"reference\":", reference, out)?;
        }
        if are_differences(&self.metrics) {
            for (place, (_, number)) in self.metrics.iter().enumerate() {
                member(if place == 0 { ",\"differences\":[" } else { "," }, number, out)?;
            }
            out.push(b']');
        } else if !self.metrics.is_empty() {
            let metrics: BTreeMap<&str, _> = self.metrics.iter().map(|(name, number)| (&**name, number)).collect();
            member(",\"metrics\":", &metrics, out)?;
        }
        Ok(())
    }

    #[inline]
    fn write_sides(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let mut sides = [&self.baseline, &self.candidate].into_iter().flatten();
        let is_alike =
            |one: &Recorded<'_>, other: &Recorded<'_>| (&one.dtype, &one.shape) == (&other.dtype, &other.shape);
        let shared = sides.next().filter(|first| sides.all(|other| is_alike(first, other)));
        if let Some(both) = shared {
            member(",\"dtype\":", &both.dtype, out)?;
            write_shape(&both.shape, out)?;
        }
        for (key, side) in [(",\"baseline\":", &self.baseline), (",\"candidate\":", &self.candidate)] {
            match side {
                None => member(key, &(), out)?,
                Some(Recorded { tensor: None, values, .. }) if shared.is_some() => member(key, values, out)?,
                Some(side) => write_whole(key, side, out)?,
            }
        }
        Ok(())
    }
}

/// Adds a side that says everything itself.
#[inline]
fn write_whole(key: &str, side: &Recorded<'_>, out: &mut Vec<u8>) -> serde_json::Result<()> {
    out.extend_from_slice(key.as_bytes());
    match &side.tensor {
        Some(tensor) => {
            member("{\"tensor\":", tensor, out)?;
            member(",\"dtype\":", &side.dtype, out)?;
        }
        None => member("{\"dtype\":", &side.dtype, out)?,
    }
    write_shape(&side.shape, out)?;
    if !side.values.is_empty() {
        member(",\"values\":", &side.values, out)?;
    }
    out.push(b'}');
    Ok(())
}

#[inline]
fn write_shape(shape: &[u64], out: &mut Vec<u8>) -> serde_json::Result<()> {
    if shape.is_empty() { Ok(()) } else { member(",\"shape\":", shape, out) }
}

/// Adds a key, with what stands before and after it, and its value.
fn member<T: Serialize + ?Sized>(key: &str, value: &T, out: &mut Vec<u8>) -> serde_json::Result<()> {
    out.extend_from_slice(key.as_bytes());
    serde_json::to_writer(out, value)
}

#[cfg(test)]
mod tests {
    use super::super::{DIFFERENCES, RecordedValue, State};
    use super::*;
    use crate::kind::TensorKind;
    use crate::number::Number;

    #[test]
    fn what_is_equal_stands_once() {
        let side = |value| Recorded {
            tensor: None,
            dtype: "float32".into(),
            shape: vec![2].into(),
            values: vec![RecordedValue::Number(Number(value)); 4],
        };
        let line = OperationLine {
            step: 0,
            rank: Some(1),
            order: 2,
            op: "a.0.forward".into(),
            module: "".into(),
            tensor: "a.0.forward.output.0".into(),
            kind: TensorKind::Output,
            state: State::Agrees,
            reason: "".into(),
            error: Some(Number(0.5)),
            limit: Some(Number(1.0)),
            reference: None,
            metrics: DIFFERENCES.map(|name| (name.into(), Number(0.5))).to_vec(),
            baseline: Some(side(1.0)),
            candidate: Some(side(1.5)),
        };
        let written = r#"{"step":0,"rank":1,"order":2,"op":"a.0.forward","tensor":".output.0","kind":"output","state":"agrees","error":0.5,"limit":1.0,"differences":[0.5,0.5,0.5,0.5],"dtype":"float32","shape":[2],"baseline":[1.0,1.0,1.0,1.0],"candidate":[1.5,1.5,1.5,1.5]}"#;
        let mut text = Vec::new();
        line.write(&mut text).expect("written");
        assert_eq!(String::from_utf8_lossy(&text), written);
    }
}
