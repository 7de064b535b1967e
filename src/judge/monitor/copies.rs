//! Copies of a row that ranks of the whole model hold, and that have to be equal.

use crate::judge::rule::Rule;
use crate::judge::run::rules::REPLICAS_DIFFER;
use crate::kind::MonitorKind;
use crate::layout::placement::ModuleKind;
use crate::read::monitor::{DifferingRow, MonitorKey};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::unit::{Culprit, CulpritKind, MonitorCause, MonitorCulprit};
use crate::verdict::{CheckId, Side};

/// Name of the fact that marks a finding about copies of a sum over ranks.
const BEHIND_SUM: &str = "behind_sum";

/// The finding of the first row whose copies differ.
pub fn finding(differing: &DifferingRow, side: Side) -> Finding {
    let ranks: Vec<String> = differing.ranks.iter().map(u64::to_string).collect();
    let finding = Finding::new(&REPLICAS_DIFFER, &*differing.name).of_check(CheckId::Monitor);
    let finding = finding.with("side", side.as_str()).with("step", differing.step).with("ranks", ranks);
    let finding = finding.with("error", differing.error).with("of_layout", 1_u64);
    if is_summed(&differing.key) { finding.with(BEHIND_SUM, 1_u64) } else { finding }
}

/// Whether a finding is about copies of a sum over ranks.
pub(crate) fn is_behind_sum(finding: &Finding) -> bool {
    finding.facts.contains_key(BEHIND_SUM)
}

/// Whether a row is the result of a sum over the ranks of one tensor-parallel group.
fn is_summed(key: &MonitorKey) -> bool {
    let (module, rest) = key.split_module();
    let is_output = rest.starts_with(".output");
    match ModuleKind::from_path(module, "") {
        ModuleKind::Row | ModuleKind::Embedding => key.kind == MonitorKind::Actv && is_output,
        ModuleKind::Column => key.kind == MonitorKind::ActvGrad && !is_output,
        _ => false,
    }
}

/// The culprit of a candidate whose rows agree with the baseline's, and whose copies differ from `update` on.
pub fn culprit(differing: &DifferingRow, update: i64) -> Culprit {
    row_culprit(differing, update, &REPLICAS_DIFFER, cause(differing.key.kind))
}

/// The culprit for one row, under `rule` and with `cause`.
pub(crate) fn row_culprit(differing: &DifferingRow, update: i64, rule: &Rule, cause: MonitorCause) -> Culprit {
    let name = differing.name.to_string();
    let mut culprit = Culprit {
        order: differing.order,
        step: differing.step,
        op: name.clone(),
        tensor: name.clone(),
        code: rule.code.to_owned(),
        metrics: std::iter::once(("error".to_owned(), Number(differing.error))).collect(),
        monitor: Some(MonitorCulprit {
            name,
            stage: differing.key.stage,
            micro_step: differing.key.micro_step,
            update,
            statistic: String::new(),
            cause,
            factor: None,
        }),
        ..Culprit::new(CheckId::Monitor, CulpritKind::Monitor(differing.key.kind))
    };
    culprit.finding = own_finding(&culprit);
    culprit
}

/// The cause of differing copies, by the kind of the first differing row.
fn cause(kind: MonitorKind) -> MonitorCause {
    match kind {
        MonitorKind::Actv => MonitorCause::Forward,
        MonitorKind::ActvGrad | MonitorKind::GradUnreduced => MonitorCause::Backward,
        MonitorKind::GradReduced | MonitorKind::Comm => MonitorCause::Communication,
        MonitorKind::ParamOrigin => MonitorCause::State,
        MonitorKind::ExpAvg | MonitorKind::ExpAvgSq | MonitorKind::ParamUpdated => MonitorCause::Optimizer,
    }
}
