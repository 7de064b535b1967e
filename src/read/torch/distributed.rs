//! Tensors of which each rank holds a part, in the pickled form of `torch.distributed.tensor.DTensor`.
//!
//! The pickle has the size of the whole tensor, the part of this rank, the shape of the mesh of devices with this rank's position
//! in it, and for each axis of the mesh the way it cuts the tensor: `Shard(axis)`, `Replicate()`, `Partial()`.

use super::storage::unsigned;
use crate::read::pickle::{Graph, PickleNode, PickleValue};
use crate::read::tensor::{MeshCut, TensorData, TensorPart};

/// Names of classes of `torch.distributed` in such a pickle. Versions of torch keep them in different modules.
const CLASSES: [&str; 9] = [
    "DTensorSpec",
    "TensorMeta",
    "DeviceMesh",
    "Shard",
    "_StridedShard",
    "Replicate",
    "Partial",
    "_Partial",
    "ShardOrderEntry",
];

/// Whether `callable` is one of these classes.
pub(super) fn is_class(callable: &str) -> bool {
    callable.split_once(' ').is_some_and(|(module, name)| {
        (module.starts_with("torch.distributed.tensor")
            || module.starts_with("torch.distributed._tensor")
            || module == "torch.distributed.device_mesh")
            && CLASSES.contains(&name)
    })
}

/// Value under a text key of a dictionary, or of the state of an object.
fn field<'a>(graph: &'a Graph, value: &'a PickleValue, name: &str) -> Option<&'a PickleValue> {
    // The state may be a pair of a dictionary and attributes in slots.
    if let Some(PickleNode::Tuple(parts)) = graph.node(value) {
        return parts.iter().find_map(|part| match graph.node(part) {
            Some(PickleNode::Dict(_)) => field(graph, part, name),
            _ => None,
        });
    }
    let items = match graph.node(value)? {
        PickleNode::Dict(items) => items,
        PickleNode::Call { state: Some(state), .. } => match graph.node(state)? {
            PickleNode::Dict(items) => items,
            // Do not follow an object whose state is an object, because this might never end.
            _ => return None,
        },
        _ => return None,
    };
    items.iter().find(|(key, _)| matches!(key, PickleValue::Text(key) if key.as_ref() == name)).map(|(_, value)| value)
}

/// Pickled part of this rank in `state`, which is a tensor of its own.
pub(super) fn local_part<'a>(graph: &'a Graph, state: &'a PickleValue) -> Option<&'a PickleValue> {
    field(graph, state, "_spec").and_then(|_| field(graph, state, "_local_tensor"))
}

/// Part of this rank with its place in the whole tensor of `shape`; `None` if the pickle does not give the place.
pub(super) fn rank_part(graph: &Graph, state: &PickleValue, shape: Vec<u64>, tensor: TensorData) -> Option<TensorPart> {
    let spec = field(graph, state, "_spec")?;
    let mesh = field(graph, spec, "mesh")?;
    let sizes = mesh_shape(graph, mesh)?;
    let coordinate = field(graph, mesh, "_coordinate_on_dim").and_then(|value| graph.sequence(value));
    let coordinate = coordinate.and_then(|list| list.iter().map(unsigned).collect::<Option<Vec<u64>>>());
    let placements = graph.sequence(field(graph, spec, "placements")?)?;
    let mut cuts = Vec::with_capacity(placements.len());
    for (placement, of) in placements.iter().zip(&sizes) {
        cuts.push(match graph.node(placement)? {
            PickleNode::Call { callable, arguments, .. } => {
                let axis = || {
                    let axis = field(graph, placement, "dim").or_else(|| arguments.first()).and_then(unsigned);
                    axis.and_then(|axis| usize::try_from(axis).ok())
                };
                match callable.rsplit(' ').next().unwrap_or_default() {
                    "Shard" => MeshCut::Axis { axis: axis()?, of: *of, is_inner: false },
                    "_StridedShard" => MeshCut::Axis { axis: axis()?, of: *of, is_inner: true },
                    "Replicate" => MeshCut::Copy,
                    _ => return None,
                }
            }
            _ => return None,
        });
    }
    (cuts.len() == sizes.len()).then_some(TensorPart { tensor, shape, cuts, sizes, coordinate })
}

/// Shape of the mesh, which is the shape of its tensor of ranks.
fn mesh_shape(graph: &Graph, mesh: &PickleValue) -> Option<Vec<u64>> {
    let PickleNode::Call { arguments, .. } = graph.node(field(graph, mesh, "mesh")?)? else { return None };
    graph.sequence(arguments.get(2)?)?.iter().map(unsigned).collect()
}
