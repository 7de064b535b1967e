//! `device-rng`: numbers drawn on the accelerator, whose generators differ between devices.

use super::file::File;
use super::guard::is_tested;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::tree::Argument;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("device-rng", Severity::Warn, Family::Comparability);

const DRAWS: &[&str] = &["torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.normal"];
const LIKE: &[&str] = &["torch.rand_like", "torch.randn_like", "torch.randint_like"];
/// Functions of a training step.
const STEPS: &[&str] = &["forward", "training_step", "train_step", "compute_loss", "loss", "step"];
/// Words of functions whose numbers are not trained on.
const INFERENCE: &[&str] =
    &["inference", "infer", "eval", "evaluate", "evaluation", "validate", "validation", "predict", "test"];
/// Tests that know of the difference.
const KNOWN: &[&str] = &["npu", "ascend", "deterministic", "align"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let trains = file.trains();
    for (id, function, arguments) in file.calls() {
        let device = file.keyword(arguments, "device");
        let is_drawn = if file.is_any(function, DRAWS) {
            device.is_some_and(|device| !is_host(file, device))
        } else if file.is_any(function, LIKE) {
            let like = file.argument(arguments, "input", 0);
            let moved = like.is_some_and(|like| file.method(like).is_some_and(|(_, name, _)| name == "cpu"));
            !moved && device.is_none_or(|device| !is_host(file, device))
        } else {
            false
        };
        if is_drawn
            && !is_of_host_generator(file, arguments)
            && is_trained_on(file, id, trains)
            && !is_tested(file, id, KNOWN)
        {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

/// Whether a device is the host, or none at all.
fn is_host(file: &File<'_>, device: NodeId) -> bool {
    file.is_device(device, "cpu")
        || file.is_device(device, "meta")
        || matches!(file.tree.kind(device), Kind::None)
        || file.tree.last_name(device).is_some_and(|name| has_word(name, &["cpu"]))
        || file
            .only_value(device)
            .is_some_and(|value| value != device && (file.is_device(value, "cpu") || file.is_device(value, "meta")))
}

/// Whether a generator is given that is not known to be the accelerator's.
fn is_of_host_generator(file: &File<'_>, arguments: &[Argument]) -> bool {
    let Some(generator) = file.keyword(arguments, "generator") else { return false };
    if matches!(file.tree.kind(generator), Kind::None) {
        return false;
    }
    let made = file.only_value(generator).unwrap_or(generator);
    let on_device = file.tree.within(made).any(|id| {
        file.call(id).is_some_and(|(function, arguments)| {
            file.is_named(function, "torch.Generator")
                && file.argument(arguments, "device", 0).is_some_and(|device| !is_host(file, device))
        })
    });
    !on_device
}

/// Whether a place is part of training: in a step, or anywhere in a file that trains but in its inference.
fn is_trained_on(file: &File<'_>, id: NodeId, trains: bool) -> bool {
    let mut names = file.enclosing_names(id);
    // A dataset draws for its samples, on the host.
    if file.class(id).is_some_and(|class| file.is_dataset(class)) {
        return false;
    }
    if file.enclosing_names(id).any(|name| STEPS.contains(&name)) {
        return true;
    }
    let is_inference = names.any(|name| has_word(name, INFERENCE) || matches!(name, "sample" | "generate"));
    trains && !is_inference && !is_without_gradient(file, id)
}

/// Whether a function around a place is decorated to run without gradients, as sampling is.
fn is_without_gradient(file: &File<'_>, id: NodeId) -> bool {
    let is_off = |decorator: &NodeId| {
        let Kind::Decorator(expression) = file.tree.kind(*decorator) else { return false };
        let function = file.call(*expression).map_or(*expression, |(function, _)| function);
        file.is_any(function, &["torch.no_grad", "torch.inference_mode"])
    };
    file.tree.enclosing(id).any(|(outer, _)| match file.tree.kind(outer) {
        Kind::Function { decorators, .. } => decorators.iter().any(is_off),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    const TRAINS: &str = "import torch\nloss.backward()\noptimizer.step()\n";

    #[test]
    fn draws_on_the_device_are_found() {
        let code = "\
a = torch.rand(3, device=x.device)
b = torch.randn_like(x)
c = torch.randint(0, 9, (3,), device='cuda')
g = torch.Generator(device=x.device)
d = torch.randperm(4, device=x.device, generator=g)
";
        assert_eq!(lines("device-rng", &format!("{TRAINS}{code}")), [4, 5, 6, 8]);
        let step = "import torch\ndef training_step(self, x):\n    return torch.randn_like(x)\n";
        assert_eq!(lines("device-rng", step), [3]);
    }

    #[test]
    fn draws_on_the_host_and_inference_are_silent() {
        let code = "\
a = torch.rand(3).to(x.device)
b = torch.randn(3, device='cpu')
c = torch.randn(3, device=torch.device('meta'))
g = torch.Generator('cpu').manual_seed(1)
d = torch.randn(3, generator=g).to(x.device)
e = torch.randn_like(x.cpu())
if args.deterministic:
    f = torch.rand(3, device=x.device)
def evaluate(x):
    return torch.randn_like(x)
@torch.inference_mode()
def p_sample(x):
    return torch.randn_like(x)
class Noisy(Dataset):
    def __getitem__(self, i):
        return self.x[i] + torch.randn_like(self.x[i])
";
        assert!(lines("device-rng", &format!("{TRAINS}{code}")).is_empty());
        assert!(lines("device-rng", "import torch\ndef sample(x):\n    return torch.randn_like(x)\n").is_empty());
    }
}
