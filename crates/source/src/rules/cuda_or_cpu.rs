//! `cuda-or-cpu`: without CUDA the CPU is chosen, silently, on a machine with an NPU.

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("cuda-or-cpu", Severity::Warn, Family::Portability).per_file();

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    if file.is_of_npu() {
        return;
    }
    for id in file.tree.ids() {
        let place = match file.tree.kind(id) {
            Kind::Conditional { test, body, otherwise } if asks_for_cuda(file, *test) => {
                (chooses(file, *body, *otherwise) || chooses_backend(file, *body, *otherwise) || moves(file, *body))
                    .then_some(id)
            }
            Kind::If(branches) => match branches.as_slice() {
                [first, .., last]
                    if last.test.is_none() && first.test.is_some_and(|test| asks_for_cuda(file, test)) =>
                {
                    chosen_by_statement(file, &first.body, &last.body)
                        .or_else(|| goes_on_without(file, id, first.test, &first.body))
                }
                [first, ..] if first.test.is_some_and(|test| asks_for_cuda(file, test)) => {
                    goes_on_without(file, id, first.test, &first.body)
                }
                _ => None,
            },
            _ => None,
        };
        if let Some(place) = place.filter(|place| !file.is_vendor_place(*place)) {
            hits.push(Hit::new(&RULE, place).unless(Flags::TRANSFER));
        }
    }
}

/// Whether a test is `torch.cuda.is_available()`, also through a name.
fn asks_for_cuda(file: &File<'_>, test: NodeId) -> bool {
    let is_call =
        |id: NodeId| file.call(id).is_some_and(|(function, _)| file.is_named(function, "torch.cuda.is_available"));
    file.tree.within(test).any(|id| {
        let by_name = || {
            matches!(file.tree.kind(id), Kind::Name(_))
                && file.only_value(id).is_some_and(|value| file.tree.within(value).any(is_call))
        };
        is_call(id) || by_name()
    })
}

/// Calls that set a run up, without which it goes on as another one.
const SETS_UP: &[&str] = &[
    "torch.distributed.init_process_group",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
    "torch.nn.DataParallel",
    "torch.manual_seed",
    "torch.random.manual_seed",
    "numpy.random.seed",
    "random.seed",
    "torch.use_deterministic_algorithms",
    "transformers.set_seed",
    "accelerate.utils.set_seed",
];

/// The `if` whose branch for CUDA moves the model, joins the other processes or seeds, while its other side goes on without; or
/// whose branch without CUDA takes the CPU.
fn goes_on_without(file: &File<'_>, id: NodeId, test: Option<NodeId>, body: &[NodeId]) -> Option<NodeId> {
    let is_negated = matches!(file.tree.kind(test?), Kind::Unary(_));
    let is_part = |part: NodeId| {
        if is_negated {
            return file
                .assignments_of(part)
                .iter()
                .any(|(_, _, value)| file.is_device(*value, "cpu") || matches!(file.text_of(*value), Some("gloo")));
        }
        moves(file, part) || file.call(part).is_some_and(|(function, _)| file.is_any(function, SETS_UP))
    };
    // Blocks inside of the branch have their own tests.
    let is_found = body.iter().any(|statement| file.tree.within(*statement).take(MOST_OF_BRANCH).any(is_part));
    is_found.then_some(id)
}

/// Nodes of a branch that are looked at.
const MOST_OF_BRANCH: usize = 2_000;

/// Whether a node moves something to CUDA.
fn moves(file: &File<'_>, id: NodeId) -> bool {
    match file.method(id) {
        Some((_, "cuda", _)) => true,
        Some((_, "to", arguments)) => arguments.iter().any(|argument| file.is_device(argument.value, "cuda")),
        _ => false,
    }
}

/// Whether one of two values is NCCL and the other Gloo.
fn chooses_backend(file: &File<'_>, first: NodeId, second: NodeId) -> bool {
    matches!((file.text_of(first), file.text_of(second)), (Some("nccl"), Some("gloo")) | (Some("gloo"), Some("nccl")))
}

/// Whether one of two values is a CUDA device and the other the CPU.
fn chooses(file: &File<'_>, first: NodeId, second: NodeId) -> bool {
    let is = |id: NodeId, device: &str| ends_in(file, id, device);
    is(first, "cuda") && is(second, "cpu") || is(first, "cpu") && is(second, "cuda")
}

/// Whether a value is a device, through further conditions.
fn ends_in(file: &File<'_>, id: NodeId, device: &str) -> bool {
    match file.tree.kind(id) {
        Kind::Conditional { otherwise, .. } => ends_in(file, *otherwise, device),
        _ => file.is_device(id, device),
    }
}

/// The value that the first branch gives a name which the last branch gives the other device.
fn chosen_by_statement(file: &File<'_>, first: &[NodeId], last: &[NodeId]) -> Option<NodeId> {
    let given = |body: &[NodeId]| {
        let pairs = body.iter().filter_map(|id| match file.tree.kind(*id) {
            Kind::Assign { targets, value } => Some((file.source(*targets.first()?).to_owned(), *value)),
            Kind::Return(value) => Some((String::new(), (*value)?)),
            _ => None,
        });
        pairs.collect::<Vec<_>>()
    };
    let others = given(last);
    let is_other = |(name, value): &(String, NodeId)| {
        others.iter().any(|(other, second)| {
            name == other && (chooses(file, *value, *second) || chooses_backend(file, *value, *second))
        })
    };
    given(first).into_iter().find(is_other).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_choice_is_found_by_every_spelling() {
        let code = "\
import torch
a = 'cuda' if torch.cuda.is_available() else 'cpu'
b = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
c = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')
d = 'cpu' if not torch.cuda.is_available() else f'cuda:{rank}'
if torch.cuda.is_available():
    e = 'cuda'
else:
    e = 'cpu'
use_cuda = flag and torch.cuda.is_available()
f = 'cuda' if use_cuda else 'cpu'
";
        assert_eq!(lines("cuda-or-cpu", code), [2, 3, 4, 5, 7, 11]);
    }

    #[test]
    fn branches_that_go_on_without_the_device_are_found() {
        let code = "\
import torch
import torch.distributed as dist
if torch.cuda.is_available():
    model = model.cuda()
backend = 'nccl' if torch.cuda.is_available() else 'gloo'
if torch.cuda.is_available():
    dist.init_process_group('nccl')
x = x.cuda() if torch.cuda.is_available() else x
if not torch.cuda.is_available():
    device = 'cpu'
def seed():
    if torch.cuda.is_available():
        torch.manual_seed(1)
";
        assert_eq!(lines("cuda-or-cpu", code), [3, 5, 6, 8, 9, 12]);
    }

    #[test]
    fn other_choices_are_silent() {
        let code = "\
import torch
a = 'cuda' if torch.cuda.is_available() else 'mps'
b = 1 if torch.cuda.is_available() else 0
c = 'cuda' if flag else 'cpu'
if torch.cuda.is_available():
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
loader = Loader(pin_memory=torch.cuda.is_available())
";
        assert!(lines("cuda-or-cpu", code).is_empty());
        let with_npu = "import torch\na = 'npu' if npu else 'cuda' if torch.cuda.is_available() else 'cpu'\n";
        assert!(lines("cuda-or-cpu", with_npu).is_empty());
    }
}
