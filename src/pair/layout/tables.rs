//! Signs of a layout in the tables of a training monitor.

use std::collections::BTreeSet;

use super::LayoutSigns;
use crate::kind::MonitorKind;
use crate::layout::placement::ModuleKind;
use crate::read::monitor::{KeyedRow, RankTables};

/// Steps whose rows are read: moments are recorded one step before everything else.
const FIRST_STEPS: usize = 2;

impl LayoutSigns {
    /// Collects the signs of the first rows of each rank's tables.
    pub(crate) fn of_tables(ranks: &[RankTables]) -> Self {
        let mut signs = Self { world: ranks.len() as u64, ..Self::new() };
        let mut has_ends = false;
        for tables in ranks {
            let steps: Vec<i64> = tables.steps().into_keys().take(FIRST_STEPS).collect();
            let rows =
                steps.into_iter().filter_map(|step| tables.read_step(step, None).ok()).flat_map(|step| step.rows);
            let mut of_rank = OfRank::default();
            rows.for_each(|row| of_rank.row(&row, &mut signs));
            has_ends |= of_rank.has_end;
            signs.add_modules(&of_rank.modules);
        }
        // Stages can be counted only where the first or last layer of the model is recorded.
        if !has_ends {
            signs.modules.clear();
        }
        signs
    }
}

/// Modules of one rank, and the last norm that was seen.
#[derive(Default)]
struct OfRank {
    modules: BTreeSet<String>,
    has_end: bool,
    norm: Option<u64>,
}

impl OfRank {
    fn row(&mut self, row: &KeyedRow, signs: &mut LayoutSigns) {
        let (module, rest) = row.key.split_module();
        let name = module.rsplit('.').next().unwrap_or(module);
        let kind = ModuleKind::from_path(module, "");
        signs.chunks = signs.chunks.max(u32::try_from(row.key.stage).unwrap_or_default().saturating_add(1));
        if row.key.kind == MonitorKind::Comm {
            return;
        }
        if !module.contains("expert") {
            self.modules.insert(format!("{}.{module}", row.key.stage));
        }
        self.has_end |= kind == ModuleKind::Embedding || matches!(name, "output_layer" | "lm_head");
        let Some(shape) = row.row.sizes() else { return };
        match (row.key.kind, shape.as_slice()) {
            (MonitorKind::Actv, shape) => self.activation(kind, rest, shape, signs),
            (MonitorKind::ParamOrigin | MonitorKind::ParamUpdated | MonitorKind::GradReduced, [rows, columns])
                if rest == ".weight" =>
            {
                match name {
                    "linear_proj" | "o_proj" => signs.proj = signs.proj.or(Some([*rows, *columns])),
                    "linear_qkv" | "query_key_value" | "qkv_proj" => signs.qkv = signs.qkv.or(Some(*rows)),
                    _ if kind == ModuleKind::Embedding => signs.vocabulary = signs.vocabulary.or(Some(*rows)),
                    _ => {}
                }
            }
            _ => {}
        }
        if row.key.kind == MonitorKind::Actv {
            let micro_step = u32::try_from(row.key.micro_step).unwrap_or_default();
            signs.calls = signs.calls.max(micro_step.saturating_add(1));
        }
    }

    fn activation(&mut self, kind: ModuleKind, rest: &str, shape: &[u64], signs: &mut LayoutSigns) {
        let is_output = rest.starts_with(".output");
        match (kind, shape) {
            (ModuleKind::Embedding, [samples, tokens]) if !is_output => {
                signs.tokens = signs.tokens.or(Some([*samples, *tokens]));
            }
            (ModuleKind::Norm, [sequence, ..]) if is_output => self.norm = Some(*sequence),
            (ModuleKind::Column, [sequence, ..]) if is_output => {
                signs.is_sequence_parallel |= self.norm.is_some_and(|norm| norm < *sequence);
            }
            _ => {}
        }
    }
}
