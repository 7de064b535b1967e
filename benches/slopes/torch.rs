//! Files of torch: state dicts, and the chunks of distributed checkpoints.

use std::fs::{self, File};
use std::io::{Cursor, Seek, Write};
use std::path::Path;

use super::{STORED, create, value, write};

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("short").to_le_bytes();
    [b"X".as_slice(), &length, text.as_bytes()].concat()
}

fn number(number: usize) -> Vec<u8> {
    [b"\x8a\x08".as_slice(), &(number as u64).to_le_bytes()].concat()
}

/// A tensor of one element, whose storage has a number.
fn tensor(index: usize) -> Vec<u8> {
    let parts: [&[u8]; 6] = [
        b"ctorch._utils\n_rebuild_tensor_v2\n((",
        &text("storage"),
        b"ctorch\nFloatStorage\n",
        &text(&index.to_string()),
        &text("cpu"),
        b"K\x01tQK\x00K\x01\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR",
    ];
    parts.concat()
}

/// An archive with a pickle and the elements of its storages.
fn archive<W: Write + Seek>(out: W, pickle: &[u8], elements: impl Iterator<Item = f64>) -> W {
    let mut archive = zip::ZipWriter::new(out);
    archive.start_file("archive/data.pkl", STORED).expect("a member");
    archive.write_all(pickle).expect("written");
    archive.start_file("archive/byteorder", STORED).expect("a member");
    archive.write_all(b"little").expect("written");
    for (index, element) in elements.enumerate() {
        #[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
        let element = element as f32;
        archive.start_file(format!("archive/data/{index}"), STORED).expect("a member");
        archive.write_all(&element.to_le_bytes()).expect("written");
    }
    archive.start_file("archive/version", STORED).expect("a member");
    archive.write_all(b"3\n").expect("written");
    archive.finish().expect("an archive")
}

/// A state dict of tensors of one element, as `torch.save` writes it.
pub(super) fn state_dict(path: &Path, n: usize, name: &dyn Fn(usize) -> String, element: &dyn Fn(usize) -> f64) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut pickle = b"\x80\x02}(".to_vec();
    for index in 0..n {
        pickle.extend(text(&name(index)));
        pickle.extend(tensor(index));
    }
    pickle.extend(b"u.");
    drop(archive(File::create(path).expect("a file"), &pickle, (0..n).map(element)));
}

pub(super) fn torch_tensors(folder: &Path, n: usize, drift: bool) {
    let name = |index: usize| format!("layers.{index}.weight");
    state_dict(&folder.join("model.pt"), n, &name, &|index| value(index, drift));
}

/// An object of a class with fields, each a name and a value.
fn object(module: &str, class: &str, fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut pickle = format!("c{module}\n{class}\n)").into_bytes();
    pickle.extend(b"\x81}(");
    for (name, value) in fields {
        pickle.extend(text(name));
        pickle.extend(*value);
    }
    pickle.extend(b"ub");
    pickle
}

const METADATA: &str = "torch.distributed.checkpoint.metadata";
const STORAGE: &str = "torch.distributed.checkpoint.filesystem";

/// A distributed checkpoint of parameters of one element, each with a chunk in the file of one rank.
pub(super) fn distributed_chunks(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("__0_0.distcp"));
    let size = |number: u8| [b"ctorch\nSize\n((K".as_slice(), &[number], b"ttR"].concat();
    let chunk = object(METADATA, "ChunkStorageMetadata", &[("offsets", &size(0)), ("sizes", &size(1))]);
    let chunks = [b"](".as_slice(), &chunk, b"e"].concat();
    let described = object(METADATA, "TensorStorageMetadata", &[("size", &size(1)), ("chunks", &chunks)]);
    let (mut parameters, mut storage, mut offset) = (b"}(".to_vec(), b"}(".to_vec(), 0);
    let pickle = [b"\x80\x02".as_slice(), &tensor(0), b"."].concat();
    for index in 0..n {
        let name = text(&format!("layers.{index}.weight"));
        let bytes = archive(Cursor::new(Vec::new()), &pickle, std::iter::once(value(index, drift))).into_inner();
        out.write_all(&bytes).expect("written");
        parameters.extend(name.iter().chain(&described));
        storage.extend(object(METADATA, "MetadataIndex", &[("fqn", &name), ("offset", &size(0)), ("index", b"K\x00")]));
        let place: [(&str, &[u8]); 3] =
            [("relative_path", &text("__0_0.distcp")), ("offset", &number(offset)), ("length", &number(bytes.len()))];
        storage.extend(object(STORAGE, "_StorageInfo", &place));
        offset += bytes.len();
    }
    parameters.push(b'u');
    storage.push(b'u');
    let fields: [(&str, &[u8]); 2] = [("state_dict_metadata", &parameters), ("storage_data", &storage)];
    let metadata = [b"\x80\x02".as_slice(), &object(METADATA, "Metadata", &fields), b"."].concat();
    write(&folder.join(".metadata"), metadata);
}
