//! Records of files that hold tensors: element types, shapes, and the place of each tensor.

use std::borrow::Cow;
use std::collections::HashMap;

use super::part::ToolFile;
use super::table::DistinctNames;
use crate::error::Result;
use crate::fetch::Files;
use crate::kind::TensorKind;
use crate::read::dump::builder::{Builder, NewTensor};
use crate::read::dump::content::{DamageKind, Dump};
use crate::read::json::Json;
use crate::read::tensor::{StoredValue, TensorData};
use crate::read::tensor_file;

pub(super) enum TensorPlace {
    /// In a file of its own, under the name `member`.
    File { path: String, member: String },
    /// In a file with other tensors, which is already open.
    Member { path: String, tensor: TensorData },
}

impl TensorPlace {
    /// The file.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::File { path, .. } | Self::Member { path, .. } => path,
        }
    }
}

/// Adds the records of the given files to a dump, and returns the places of the tensors by row name. A file that cannot be opened
/// becomes a damaged record.
pub(super) fn read(
    files: &dyn Files,
    of: &[ToolFile],
    kind: TensorKind,
    builder: &mut Builder,
    dump: &mut Dump,
) -> HashMap<String, TensorPlace> {
    let mut reader = Reader { kind, builder, places: HashMap::new(), distinct: DistinctNames::default() };
    for file in of {
        let opened = files.open(&file.path).and_then(tensor_file::open_members);
        match (opened, &file.name) {
            (Ok(stored), Some(name)) => reader.record(file, name, stored),
            (Ok(stored), None) => stored.into_iter().for_each(|(name, stored)| reader.member(file, &name, stored)),
            (Err(error), name) => {
                let name = reader.distinct.name(name.as_deref().unwrap_or(&file.path));
                reader.builder.begin(&name);
                reader.builder.add_damaged(&name, kind);
                dump.note_damage(DamageKind::Record, &file.path, error.message());
            }
        }
    }
    reader.places
}

struct Reader<'a> {
    kind: TensorKind,
    builder: &'a mut Builder,
    places: HashMap<String, TensorPlace>,
    distinct: DistinctNames,
}

impl Reader<'_> {
    /// Adds a file that holds one record: a tensor, or one or several under `value` next to `meta`.
    fn record(&mut self, file: &ToolFile, name: &str, stored: Vec<(String, StoredValue)>) {
        let name = self.distinct.name(name);
        self.builder.begin(&name);
        let is_aside = |member: &str| member == "meta" || member.starts_with("meta.");
        let mut is_empty = true;
        for (member, stored) in stored.into_iter().filter(|(member, _)| !is_aside(member)) {
            is_empty = false;
            let below = match member.strip_prefix("value") {
                Some(rest) if rest.is_empty() || rest.starts_with('.') => rest.to_owned(),
                _ if member.is_empty() => String::new(),
                _ => format!(".{member}"),
            };
            let row = format!("{name}{below}");
            let place = |_: TensorData| TensorPlace::File { path: file.path.clone(), member };
            self.value(row, stored, place);
        }
        if is_empty {
            self.builder.add_null(&name, self.kind);
        }
    }

    /// Adds one of several records of a file.
    fn member(&mut self, file: &ToolFile, name: &str, stored: StoredValue) {
        let name = self.distinct.name(if name.is_empty() { "value" } else { name });
        self.builder.begin(&name);
        self.value(name, stored, |tensor| TensorPlace::Member { path: file.path.clone(), tensor });
    }

    fn value(&mut self, row: String, stored: StoredValue, place: impl FnOnce(TensorData) -> TensorPlace) {
        match stored {
            StoredValue::Tensor(tensor) => {
                let dtype = format!("torch.{}", tensor.dtype);
                let record = NewTensor {
                    dtype: &dtype,
                    shape: &tensor.shape,
                    statistics: std::array::from_fn(|_| Cow::Owned(Json::Null)),
                    requires_grad: None,
                    checksum: None,
                    extension: Some(""),
                };
                self.builder.add_tensor(&row, self.kind, &record);
                self.places.insert(row, place(tensor));
            }
            // A part on one rank is not a value of the whole model.
            StoredValue::Unsupported(_) | StoredValue::Part(_) => self.builder.add_damaged(&row, self.kind),
            StoredValue::Plain(text) => self.builder.add_plain(&row, self.kind, "value", Json::Text(text)),
            StoredValue::Shape(shape) => {
                self.builder.add_plain(&row, self.kind, "shape", Json::Text(format!("{shape:?}")))
            }
        }
    }
}

/// Reads the tensor at a place from the file `source`.
pub(super) fn tensor(place: &TensorPlace, source: crate::fetch::Source) -> Result<TensorData> {
    let (path, member) = match place {
        TensorPlace::Member { tensor, .. } => return Ok(tensor.new_handle()),
        TensorPlace::File { path, member } => (path, member),
    };
    let stored = tensor_file::open_members(source)?;
    let found = stored.into_iter().find(|(name, _)| name == member);
    match found {
        Some((_, StoredValue::Tensor(tensor))) => Ok(tensor),
        _ => Err(crate::error::Error::corrupt(path, format!("no tensor under `{member}`"))),
    }
}
