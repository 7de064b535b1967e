//! Rows of two whole models whose sizes depend on the layout: copies of keys and values, and padded vocabularies.

use super::monitor::{MonitorRowPair, PairedMonitorRows};
use crate::kind::MonitorKind;
use crate::layout::placement::ModuleKind;
use crate::read::monitor::{MonitorKey, MonitorTables};

/// Projections that make keys and values, alone or beside the queries.
const KEYS_AND_VALUES: [&str; 7] =
    ["linear_qkv", "query_key_value", "qkv_proj", "linear_kv", "linear_k", "k_proj", "v_proj"];
/// Layers whose outputs are the vocabulary.
const LOGITS: [&str; 2] = ["output_layer", "lm_head"];
/// Steps that are looked through for shapes.
const FIRST_STEPS: usize = 2;

/// Facts about the sizes of both sides that need both of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Widths {
    /// Whether one side's ranks hold copies of keys and values, so that only their largest and smallest values compare.
    has_key_copies: bool,
    /// Whether the vocabularies are padded to different sizes, so that values over it do not compare.
    is_padded: bool,
}

/// Part of a row of both sides that compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compares {
    Wholly,
    /// Its largest and smallest values alone.
    AtItsEnds,
    Not,
}

impl Widths {
    /// Finds the widths from the shapes of parameters. Where no shape is recorded, `is_cut_otherwise` says whether projections
    /// are split differently, so that there may be copies.
    pub(crate) fn from_tables((baseline, candidate): (&MonitorTables, &MonitorTables), is_cut_otherwise: bool) -> Self {
        let widths = |tables: &MonitorTables| {
            let steps: Vec<i64> = tables.steps().into_keys().take(FIRST_STEPS).collect();
            let rows =
                steps.into_iter().filter_map(|step| tables.read_step(step, None).ok()).flat_map(|step| step.rows);
            let (mut keys, mut words) = (None, None);
            for row in rows.filter(|row| is_of_parameter(row.key.kind)) {
                let shape = row.row.sizes().and_then(|sizes| sizes.first().copied());
                if makes_keys(&row.key) {
                    keys = keys.or(shape);
                } else if is_over_words(&row.key) {
                    words = words.or(shape);
                }
            }
            [keys, words]
        };
        let ([our_keys, our_words], [their_keys, their_words]) = (widths(baseline), widths(candidate));
        let differ = |left: Option<u64>, right: Option<u64>| Some(left? != right?);
        Self {
            has_key_copies: differ(our_keys, their_keys).unwrap_or(is_cut_otherwise),
            is_padded: differ(our_words, their_words).unwrap_or(false),
        }
    }

    /// Removes pairs that cannot be compared, and notes them among the rows that cannot be merged.
    pub(crate) fn leave_out_incomparable(self, paired: &mut PairedMonitorRows) {
        let mut kept = Vec::with_capacity(paired.matched.len());
        for mut pair in std::mem::take(&mut paired.matched) {
            match self.compares(&pair.key) {
                Compares::Wholly => kept.push(pair),
                Compares::Not => paired.unmerged.push(pair.key),
                Compares::AtItsEnds => {
                    keep_ends(&mut pair);
                    let is_recorded = pair.baseline.statistics.written().next().is_some();
                    if is_recorded { kept.push(pair) } else { paired.unmerged.push(pair.key) }
                }
            }
        }
        paired.matched = kept;
    }

    fn compares(self, key: &MonitorKey) -> Compares {
        // Until it is reduced, the gradient of a copy is only a part of the whole gradient.
        let is_part = matches!(key.kind, MonitorKind::ActvGrad | MonitorKind::GradUnreduced);
        let is_copied = self.has_key_copies && makes_keys(key);
        if self.is_padded && is_over_words(key) || is_copied && is_part {
            Compares::Not
        } else if is_copied {
            Compares::AtItsEnds
        } else {
            Compares::Wholly
        }
    }
}

fn keep_ends(pair: &mut MonitorRowPair) {
    for row in [&mut pair.baseline, &mut pair.candidate] {
        row.statistics = row.statistics.ends();
        row.shape = None;
    }
}

fn is_of_parameter(kind: MonitorKind) -> bool {
    kind.is_parameter() || kind == MonitorKind::GradReduced
}

/// Whether a row holds keys and values.
fn makes_keys(key: &MonitorKey) -> bool {
    let (module, rest) = key.split_module();
    let name = module.rsplit('.').next().unwrap_or(module);
    let is_projection = KEYS_AND_VALUES.contains(&name);
    match ModuleKind::from_path(module, "") {
        ModuleKind::Attention => matches!(rest, ".input.1" | ".input.2"),
        _ if key.kind.is_activation() => is_projection && rest.starts_with(".output"),
        _ => is_projection && !rest.contains("norm"),
    }
}

/// Whether a row is as wide as the vocabulary.
fn is_over_words(key: &MonitorKey) -> bool {
    let (module, rest) = key.split_module();
    let name = module.rsplit('.').next().unwrap_or(module);
    match ModuleKind::from_path(module, "") {
        ModuleKind::Embedding => !key.kind.is_activation(),
        _ if LOGITS.contains(&name) => !key.kind.is_activation() || rest.starts_with(".output"),
        _ => false,
    }
}
