//! Merging of the rows of ranks into one row of the whole model.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dtype::Dtype;
use crate::kind::{MonitorKind, Statistic};
use crate::layout::placement::{CutAxis, ModuleKind, Placement, ValueRole};
use crate::layout::{Coordinates, Layout};
use crate::read::monitor::row::{MonitorRow, MonitorStatistics};

/// Relative difference up to which copies of a parameter count as equal. The check `replicas` of a single run uses the same limit.
const COPIES: f64 = 1e-6;
/// Relative difference up to which copies of values with an unknown element type count as equal.
const UNKNOWN_TYPE: f64 = 1e-3;
/// Names of modules that contain other modules and whose values are whole on each rank.
const BLOCKS: [&str; 9] = [
    "mlp",
    "self_attention",
    "self_attn",
    "attention",
    "cross_attention",
    "embedding",
    "decoder",
    "encoder",
    "transformer",
];

/// Reason why rows cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmerged {
    /// The statistics do not determine those of the whole, for example those of the summands of a sum.
    ByNature,
    /// Ranks lack the row, or hold parts that do not fit together.
    Unfit,
}

/// The row of one rank.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) place: Coordinates,
    pub(super) rank: u64,
    /// Chunk of the model that it is a part of.
    pub(super) chunk: u32,
    /// Micro step that it was recorded in.
    pub(super) micro_step: u64,
    pub(super) row: MonitorRow,
}

/// Properties of a row to merge, and of the layout of its pieces.
pub(super) struct MergeContext<'a> {
    pub(super) kind: MonitorKind,
    /// Path of its module in the whole model.
    pub(super) module: &'a str,
    pub(super) role: ValueRole<'a>,
    pub(super) layout: &'a Layout,
    /// Value of one unit in the last printed decimal; 0 if numbers are not rounded.
    pub(super) unit: f64,
    /// Largest magnitude of each statistic over all rows of the kind.
    pub(super) largest: MonitorStatistics,
}

/// A row of the whole model.
pub(super) struct Merged {
    pub(super) statistics: MonitorStatistics,
    pub(super) nans: Option<f64>,
    pub(super) shape: Option<Arc<str>>,
    pub(super) dtype: Option<Arc<str>>,
    /// Largest relative difference between copies that are not equal.
    pub(super) differing: Option<f64>,
}

/// Numbers of a part of a merged row.
#[derive(Clone, Debug)]
struct Part {
    statistics: MonitorStatistics,
    nans: Option<f64>,
    shape: Option<Vec<u64>>,
    /// Number of elements, as the weight of its mean; 1 if unknown, because the parts of one value are equally large.
    elements: f64,
}

impl Part {
    #[allow(clippy::cast_precision_loss, reason = "a count of elements weighs a mean")]
    fn of(row: &MonitorRow) -> Self {
        let shape = row.sizes();
        let elements = shape.as_ref().map_or(1, |shape| shape.iter().fold(1_u64, |all, len| all.saturating_mul(*len)));
        Self { statistics: row.statistics, nans: row.nans, elements: elements as f64, shape }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.shape == other.shape && self.statistics.is_same(&other.statistics)
    }

    /// Whether it is unknown if the part is a single number.
    fn is_untold(&self) -> bool {
        let ends = [Statistic::Min, Statistic::Max, Statistic::Mean];
        self.shape.is_none() && ends.into_iter().any(|statistic| self.statistics.get(statistic).is_none())
    }

    /// Whether the part is a single number, by its shape or else by statistics that are all the same.
    fn is_scalar(&self) -> bool {
        let of = |statistic| self.statistics.get(statistic);
        match (&self.shape, of(Statistic::Min), of(Statistic::Max), of(Statistic::Mean)) {
            (Some(shape), ..) => shape.iter().all(|len| *len == 1),
            (None, Some(min), Some(max), Some(mean)) => {
                let norm = of(Statistic::Norm).unwrap_or(mean.abs());
                min.to_bits() == max.to_bits()
                    && mean.to_bits() == max.to_bits()
                    && (norm - max.abs()).abs() <= 1e-6 * norm
            }
            _ => false,
        }
    }
}

/// Merges the pieces of a row: first within each tensor-parallel group, then over groups with other samples, then over stages.
pub(super) fn merge(of: &MergeContext<'_>, pieces: &[Piece]) -> Result<Merged, Unmerged> {
    let first = pieces.first().ok_or(Unmerged::Unfit)?;
    if of.kind == MonitorKind::Comm {
        return Err(Unmerged::ByNature);
    }
    let dtype = pieces.iter().find(|piece| piece.row.dtype != first.row.dtype).unwrap_or(first).row.dtype.clone();
    let mut merging = Merging { of, element: dtype.as_deref().and_then(Dtype::parse), differing: None };
    let mut groups: BTreeMap<Group, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        groups.entry(Group::of(piece)).or_default().push(piece);
    }
    let mut chunks: BTreeMap<u32, Vec<(Group, Part)>> = BTreeMap::new();
    for (group, mut pieces) in groups {
        pieces.sort_by_key(|piece| piece.place.tp);
        let part = merging.tensor_parallel(pieces.into_iter().map(|piece| Part::of(&piece.row)).collect())?;
        chunks.entry(group.chunk).or_default().push((group, part));
    }
    let mut whole = Vec::new();
    for (_, parts) in chunks {
        whole.push(merging.samples(parts)?);
    }
    let whole = merging.stages(whole)?;
    let differing = merging.differing;
    Ok(Merged { statistics: whole.statistics, nans: whole.nans, shape: whole.shape.map(shown), dtype, differing })
}

/// Tensor-parallel group that recorded a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    chunk: u32,
    micro_step: u64,
    dp: u32,
    cp: u32,
}

impl Group {
    fn of(piece: &Piece) -> Self {
        Self { chunk: piece.chunk, micro_step: piece.micro_step, dp: piece.place.dp, cp: piece.place.cp }
    }
}

/// State of merging one row.
struct Merging<'a> {
    of: &'a MergeContext<'a>,
    element: Option<Dtype>,
    differing: Option<f64>,
}

impl Merging<'_> {
    /// Merges the parts of one tensor-parallel group.
    fn tensor_parallel(&mut self, parts: Vec<Part>) -> Result<Part, Unmerged> {
        let count = parts.len() as u64;
        if self.of.layout.tp == 1 && count == 1 {
            return parts.into_iter().next().ok_or(Unmerged::Unfit);
        }
        if count > u64::from(self.of.layout.tp) {
            return Err(Unmerged::Unfit);
        }
        let is_scalar = parts.iter().all(Part::is_scalar);
        match self.placement(is_scalar) {
            Placement::Partial => Err(Unmerged::ByNature),
            // Equal values on all ranks count as copies if the kind of the module is unknown, or if the value may not be cut along a sequence.
            placement if self.may_be_copies(placement) && all_same(&parts) => {
                parts.into_iter().next().ok_or(Unmerged::Unfit)
            }
            Placement::Whole if !self.is_placed() => Err(Unmerged::ByNature),
            Placement::Whole => self.copies(parts),
            Placement::Sharded(_) if count < u64::from(self.of.layout.tp) => Err(Unmerged::Unfit),
            Placement::Sharded(cut) => concatenated(parts, Some(cut)),
        }
    }

    /// Placement of a row over a tensor-parallel group.
    fn placement(&self, is_scalar: bool) -> Placement {
        let is_integer = self.element.is_some_and(|element| !element.is_float());
        if is_integer || is_scalar && self.of.kind.is_activation() {
            return Placement::Whole;
        }
        // Sequence parallelism only affects activations and gradients before their reduction.
        let sees_part = self.of.kind == MonitorKind::GradUnreduced || self.of.kind.is_activation();
        ModuleKind::from_path(self.of.module, "").place(self.of.role, self.of.layout.sp && sees_part)
    }

    fn may_be_copies(&self, placement: Placement) -> bool {
        !self.is_placed() || placement == Placement::Sharded(CutAxis::Sequence)
    }

    /// Whether the kind of the module determines the placement of its values.
    fn is_placed(&self) -> bool {
        let name = self.of.module.rsplit('.').next().unwrap_or_default();
        let is_layer = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        match ModuleKind::from_path(self.of.module, "") {
            // An input of attention may also be a mask, which has another placement.
            ModuleKind::Attention => !matches!(self.of.role, ValueRole::Input),
            ModuleKind::Container => !self.of.kind.is_activation() || is_layer || BLOCKS.contains(&name),
            _ => true,
        }
    }

    /// Merges the parts of groups with other parts of the sequence or other samples, for one chunk of the model.
    fn samples(&mut self, groups: Vec<(Group, Part)>) -> Result<Part, Unmerged> {
        let is_expert = self.of.module.contains("expert");
        let data =
            groups.iter().map(|(group, _)| (group.dp, group.cp)).collect::<std::collections::BTreeSet<_>>().len();
        let expected = u64::from(self.of.layout.dp) * u64::from(self.of.layout.cp);
        let mut parts: Vec<Part> = groups.into_iter().map(|(_, part)| part).collect();
        if self.of.kind.is_activation() {
            if !is_expert && (data as u64) < expected {
                return Err(Unmerged::Unfit);
            }
            return self.activations(parts);
        }
        match (self.of.kind, parts.len()) {
            (MonitorKind::GradUnreduced, _) if expected > 1 => Err(Unmerged::ByNature),
            (_, 1) => parts.pop().ok_or(Unmerged::Unfit),
            (MonitorKind::GradUnreduced, _) => Err(Unmerged::ByNature),
            _ if self.of.layout.fsdp => concatenated(parts, Some(CutAxis::First)),
            _ => self.copies(parts),
        }
    }

    /// Merges activations over all samples. A gradient is scaled, because each rank's loss is a mean over its own samples only.
    fn activations(&mut self, mut parts: Vec<Part>) -> Result<Part, Unmerged> {
        let scale = f64::from(self.of.layout.dp) * f64::from(self.of.layout.cp);
        // The output of the whole model may be the loss.
        let may_be_loss = self.of.module.is_empty() && self.of.role == ValueRole::Output;
        if parts.len() > 1 && may_be_loss && parts.iter().any(Part::is_untold) {
            return Err(Unmerged::ByNature);
        }
        if parts.len() > 1 && parts.iter().all(Part::is_scalar) {
            return mean(&parts).ok_or(Unmerged::Unfit);
        }
        let is_scalar = parts.iter().all(Part::is_scalar);
        let mut part = match parts.len() {
            1 => parts.pop().ok_or(Unmerged::Unfit)?,
            // The value does not depend on the samples.
            _ if all_same(&parts) => parts.pop().ok_or(Unmerged::Unfit)?,
            _ => concatenated(parts, None)?,
        };
        if self.of.kind == MonitorKind::ActvGrad && !is_scalar {
            part.statistics = mapped(&part.statistics, |value| value / scale);
        }
        Ok(part)
    }

    /// Merges a tensor that several stages hold. Parameters are copies, but the gradient on each stage may be only a part.
    fn stages(&mut self, mut parts: Vec<Part>) -> Result<Part, Unmerged> {
        match (parts.len(), self.of.kind) {
            (1, _) => parts.pop().ok_or(Unmerged::Unfit),
            (_, kind) if kind.is_parameter() => self.copies(parts),
            _ if all_same(&parts) => parts.pop().ok_or(Unmerged::Unfit),
            _ => Err(Unmerged::ByNature),
        }
    }

    /// Picks one of several copies. If they differ, it is the one farthest from the first, so that the comparison with the other side
    /// shows the difference too.
    fn copies(&mut self, parts: Vec<Part>) -> Result<Part, Unmerged> {
        let first = parts.first().cloned().ok_or(Unmerged::Unfit)?;
        let is_sharded = self.of.kind.is_moment() && !parts.iter().all(|part| part.shape == first.shape);
        // An optimizer may distribute its moments over data-parallel ranks.
        if is_sharded {
            return Err(Unmerged::ByNature);
        }
        let error = |part: &Part| self.difference(&first.statistics, &part.statistics);
        let far = parts.iter().map(|part| (error(part), part)).max_by(|(one, _), (other, _)| one.total_cmp(other));
        let (error, far) = far.ok_or(Unmerged::Unfit)?;
        if error <= self.tolerance() {
            return Ok(first);
        }
        let far = far.clone();
        self.differing = Some(self.differing.map_or(error, |known| known.max(error)));
        Ok(far)
    }

    fn tolerance(&self) -> f64 {
        match self.of.kind {
            kind if kind.is_parameter() || kind.is_moment() => COPIES,
            _ => self.element.map_or(UNKNOWN_TYPE, |element| (64.0 * element.unit_roundoff()).clamp(1e-5, 0.1)),
        }
    }

    /// Largest difference of a statistic, after subtracting the part that rounding explains, relative to the largest magnitude; for
    /// norms relative to the norm.
    fn difference(&self, one: &MonitorStatistics, other: &MonitorStatistics) -> f64 {
        let noise = if self.of.kind.is_gradient() { self.tolerance() / 8.0 } else { 0.0 };
        let mut largest = 0.0_f64;
        for statistic in Statistic::ALL {
            let apart = match (one.get(statistic), other.get(statistic)) {
                (Some(a), Some(b)) if a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() => 0.0,
                (Some(a), Some(b)) => {
                    let most = self.of.largest.get(statistic).unwrap_or(0.0);
                    let left = (a - b).abs() - self.of.unit * 1.000_001 - noise * most;
                    over(left, scale_of(one, statistic))
                }
                (None, None) => 0.0,
                _ => f64::INFINITY,
            };
            largest = largest.max(apart);
        }
        largest
    }
}

/// Difference divided by its scale; infinite if it is not finite or the scale is 0.
fn over(difference: f64, scale: f64) -> f64 {
    if difference <= 0.0 {
        0.0
    } else if scale > 0.0 && difference.is_finite() {
        difference / scale
    } else {
        f64::INFINITY
    }
}

fn scale_of(statistics: &MonitorStatistics, statistic: Statistic) -> f64 {
    let norm = statistics.get(Statistic::Norm).map_or(0.0, f64::abs);
    if statistic == Statistic::Norm { norm } else { statistics.largest().unwrap_or(norm) }
}

fn all_same(parts: &[Part]) -> bool {
    parts.windows(2).all(|pair| matches!(pair, [one, other] if one.is_same(other)))
}

/// Statistics with a function applied to each number.
fn mapped(statistics: &MonitorStatistics, of: impl Fn(f64) -> f64) -> MonitorStatistics {
    let mut changed = MonitorStatistics::default();
    statistics.written().for_each(|(statistic, value)| changed.set(statistic, of(value)));
    changed
}

/// Mean of parts that are single numbers.
#[allow(clippy::cast_precision_loss, reason = "a count of ranks")]
fn mean(parts: &[Part]) -> Option<Part> {
    let mut whole = parts.first()?.clone();
    for statistic in Statistic::ALL {
        let values = parts.iter().map(|part| part.statistics.get(statistic)).collect::<Option<Vec<f64>>>();
        if let Some(values) = values {
            whole.statistics.set(statistic, values.iter().sum::<f64>() / values.len().max(1) as f64);
        }
    }
    Some(whole)
}

/// Concatenates parts along the axis of `cut`. The shape of the result is unknown if the axis is.
fn concatenated(parts: Vec<Part>, cut: Option<CutAxis>) -> Result<Part, Unmerged> {
    let shape = joined(&parts, cut)?;
    let mut statistics = MonitorStatistics::default();
    for statistic in Statistic::ALL {
        let values = parts.iter().map(|part| part.statistics.get(statistic)).collect::<Option<Vec<f64>>>();
        let Some(values) = values else { continue };
        let value = match statistic {
            _ if values.iter().any(|value| value.is_nan()) => f64::NAN,
            Statistic::Norm => values.iter().map(|norm| norm * norm).sum::<f64>().sqrt(),
            Statistic::Min => values.into_iter().fold(f64::INFINITY, f64::min),
            Statistic::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
            Statistic::Mean => {
                let sum: f64 = values.iter().zip(&parts).map(|(mean, part)| mean * part.elements).sum();
                sum / parts.iter().map(|part| part.elements).sum::<f64>().max(1.0)
            }
        };
        statistics.set(statistic, value);
    }
    let nans = parts.iter().map(|part| part.nans).sum();
    let elements = parts.iter().map(|part| part.elements).sum();
    Ok(Part { statistics, nans, shape, elements })
}

/// Shape of concatenated parts; `None` if shapes are not recorded, or the axis is not known.
fn joined(parts: &[Part], cut: Option<CutAxis>) -> Result<Option<Vec<u64>>, Unmerged> {
    let Some(mut shape) = parts.first().and_then(|part| part.shape.clone()) else { return Ok(None) };
    let axis = match cut {
        Some(CutAxis::First) => Some(0),
        Some(CutAxis::Heads) if shape.len() == 4 => Some(2),
        Some(CutAxis::Second) => Some(1),
        Some(CutAxis::Last | CutAxis::Heads) => shape.len().checked_sub(1),
        Some(CutAxis::Sequence) | None => None,
    };
    // Without a known axis the shape of the whole stays unknown.
    let Some(axis) = axis else { return Ok(None) };
    let own = |part: &Part| part.shape.as_ref().and_then(|shape| shape.get(axis).copied());
    let len = parts.iter().map(own).try_fold(0_u64, |sum, len| sum.checked_add(len?)).ok_or(Unmerged::Unfit)?;
    let is_alike = |part: &Part| {
        let other = part.shape.as_ref().map_or(&[][..], Vec::as_slice);
        other.len() == shape.len()
            && other.iter().zip(&shape).enumerate().all(|(at, (own, all))| at == axis || own == all)
    };
    if !parts.iter().all(is_alike) {
        return Err(Unmerged::Unfit);
    }
    *shape.get_mut(axis).ok_or(Unmerged::Unfit)? = len;
    Ok(Some(shape))
}

/// Text of a shape in the tool's form.
fn shown(shape: Vec<u64>) -> Arc<str> {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(", ")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutSource;
    use crate::read::monitor::{MonitorHeader, MonitorPlace};

    /// A row with norm, min, max and mean, and a shape.
    fn row(kind: &str, values: [f64; 4], shape: &str) -> MonitorRow {
        let header = MonitorHeader::parse(b"vpp_stage,name,step,norm,min,max,mean,shape,dtype").expect("a header");
        let [norm, min, max, mean] = values;
        let line = format!("0,fc.weight,0,{norm},{min},{max},{mean},\"{shape}\",torch.float32");
        header.read(line.as_bytes(), &MonitorPlace::from_path(&format!("rank_0/{kind}_0-4.csv"))).expect("a row")
    }

    fn layout(tp: u32, dp: u32) -> Layout {
        Layout { tp, dp, ..Layout::single(LayoutSource::Declared) }
    }

    /// Merges rows of consecutive ranks.
    fn merged(module: &str, role: ValueRole<'_>, layout: &Layout, rows: Vec<MonitorRow>) -> Result<Merged, Unmerged> {
        let kind = rows.first().expect("a row").kind;
        let pieces: Vec<Piece> = (0..)
            .zip(rows)
            .map(|(rank, row)| Piece { place: layout.place(rank), rank, chunk: 0, micro_step: 0, row })
            .collect();
        merge(&MergeContext { kind, module, role, layout, unit: 0.0, largest: MonitorStatistics::default() }, &pieces)
    }

    fn numbers(merged: &Merged) -> [f64; 4] {
        Statistic::ALL.map(|statistic| merged.statistics.get(statistic).expect("a number"))
    }

    fn is_near(found: [f64; 4], wanted: [f64; 4]) -> bool {
        found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12)
    }

    #[test]
    fn shards_join_and_their_means_are_weighed() {
        let rows = || {
            vec![
                row("param_origin", [3.0, -1.0, 2.0, 0.5], "[2, 4]"),
                row("param_origin", [4.0, -3.0, 1.0, 0.2], "[1, 4]"),
            ]
        };
        let whole = merged("mlp.linear_fc1", ValueRole::Parameter("weight"), &layout(2, 1), rows()).expect("merges");
        assert!(is_near(numbers(&whole), [5.0, -3.0, 2.0, 0.4]));
        assert_eq!(whole.shape.as_deref(), Some("[3, 4]"));
        // One rank's part is not the whole.
        let one = rows().into_iter().take(1).collect();
        let lacking = merged("mlp.linear_fc1", ValueRole::Parameter("weight"), &layout(2, 1), one);
        assert_eq!(lacking.err(), Some(Unmerged::Unfit));
        // Along an axis that they are not cut along they do not fit.
        assert!(merged("mlp.linear_fc2", ValueRole::Parameter("weight"), &layout(2, 1), rows()).is_err());
    }

    #[test]
    fn copies_that_differ_are_told_and_the_farthest_is_shown() {
        let of = |last: f64| {
            let rows = vec![
                row("param_origin", [2.0, -1.0, 1.0, 0.0], "[4]"),
                row("param_origin", [2.0, -1.0, last, 0.0], "[4]"),
            ];
            merged("input_layernorm", ValueRole::Parameter("weight"), &layout(2, 1), rows).expect("merges")
        };
        assert_eq!(of(1.0 + 1e-7).differing, None);
        let parted = of(1.5);
        assert!(parted.differing.is_some_and(|error| (error - 0.5).abs() < 1e-9));
        assert!((numbers(&parted)[2] - 1.5).abs() < 1e-12);
    }

    #[test]
    fn gradients_of_samples_are_those_of_one_mean_and_a_loss_is_a_mean() {
        let rows =
            vec![row("actv_grad", [6.0, -2.0, 4.0, 0.2], "[8, 2]"), row("actv_grad", [8.0, -4.0, 2.0, 0.4], "[8, 2]")];
        let whole = merged("mlp", ValueRole::Input, &layout(1, 2), rows).expect("merges");
        assert!(is_near(numbers(&whole), [5.0, -2.0, 2.0, 0.15]));
        assert_eq!(whole.shape, None);
        let loss = |value: f64| row("actv", [value; 4], "[]");
        let whole = merged("", ValueRole::Output, &layout(1, 2), vec![loss(4.0), loss(5.0)]).expect("merges");
        assert!(is_near(numbers(&whole), [4.5; 4]));
    }

    #[test]
    fn gradients_before_their_reduction_do_not_merge_over_samples() {
        let rows = vec![row("grad_unreduced", [1.0, -1.0, 1.0, 0.0], "[4]"); 2];
        assert!(merged("input_layernorm", ValueRole::Gradient("weight"), &layout(1, 2), rows.clone()).is_err());
        assert!(merged("input_layernorm", ValueRole::Gradient("weight"), &layout(2, 1), rows.clone()).is_ok());
        let sequence = Layout { sp: true, ..layout(2, 1) };
        assert!(merged("input_layernorm", ValueRole::Gradient("weight"), &sequence, rows).is_err());
    }
}
