//! `jit-script`: scripted functions run as one on the GPU and in parts on the NPU, so their operations do not pair.

use super::file::File;
use super::guard::is_guarded;
use super::hit::Hit;
use super::order::uses;
use super::rule::{Family, SourceRule};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("jit-script", Severity::Warn, Family::Comparability).per_file();

/// Tests that choose between a scripted function and another.
const KNOWN: &[&str] = &["npu", "jit", "script", "compile"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let is_script = |function: NodeId| file.is_any(function, &["torch.jit.script", "torch.jit._script.script"]);
    for id in file.tree.ids() {
        let is_scripted = match file.tree.kind(id) {
            Kind::Decorator(expression) => is_script(*expression),
            Kind::Call { function, .. } => {
                is_script(*function)
                    && !matches!(file.tree.kind(file.tree.node(id).parent), Kind::Decorator(_))
                    && !is_only_saved(file, id)
            }
            _ => false,
        };
        if is_scripted && !is_guarded(file, id, KNOWN) {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

/// Whether a scripted module goes to a file and nowhere else.
fn is_only_saved(file: &File<'_>, id: NodeId) -> bool {
    if is_saved(file, id) {
        return true;
    }
    let assigned = file.assignments_of(file.tree.node(id).parent);
    let Some((_, target, _)) = assigned.into_iter().find(|(_, _, value)| *value == id) else { return false };
    let uses = uses(file, target);
    !uses.is_empty() && uses.into_iter().all(|used| is_saved(file, used))
}

/// Whether a value is saved where it stands: `x.save(…)`, `torch.jit.save(x, …)`.
fn is_saved(file: &File<'_>, id: NodeId) -> bool {
    let parent = file.tree.node(id).parent;
    match file.tree.kind(parent) {
        Kind::Attribute { name, .. } => &**name == "save",
        Kind::Call { function, .. } => *function != id && file.is_any(*function, &["torch.jit.save", "torch.save"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn decorators_and_calls_are_found() {
        let code = "\
import torch
from torch.jit import script as s
@torch.jit.script
def a(x): pass
b = s(f)
c = torch.jit.script(m)
c(x)
";
        assert_eq!(lines("jit-script", code), [3, 5, 6]);
    }

    #[test]
    fn exports_and_guards_are_silent() {
        let code = "\
import torch
m = torch.jit.script(model)
m.save('a.pt')
torch.jit.save(torch.jit.script(model), 'b.pt')
torch.jit.script(model).save('c.pt')
if args.use_jit:
    f = torch.jit.script(f)
g = f if npu else torch.jit.script(f)
@torch.jit.ignore
def h(): pass
";
        assert!(lines("jit-script", code).is_empty());
    }
}
