//! Tensor files of real producers, and the same files damaged; see `tests/fixtures/torch/make.py`.

use std::path::PathBuf;
use std::sync::Arc;

use precision_gate::error::{ErrorKind, Result};
use precision_gate::fetch::{MemorySource, Source};
use precision_gate::read::tensor::{StoredValue, TensorData};
use precision_gate::read::tensor_file::{open, open_all};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/torch")
}

fn expected() -> Vec<(String, Value)> {
    let text = std::fs::read(folder().join("expected.json")).expect("expected.json");
    let all: serde_json::Map<String, Value> = serde_json::from_slice(&text).expect("JSON");
    all.into_iter().collect()
}

fn source(file: &str) -> Source {
    Arc::new(MemorySource::new(file, std::fs::read(folder().join(file)).expect("fixture")))
}

/// Values of a file, whichever of the two ways it is opened.
fn read(file: &str) -> Result<Vec<(String, StoredValue)>> {
    if file.ends_with(".npy") {
        open(source(file)).map(|tensor| vec![(String::new(), StoredValue::Tensor(tensor))])
    } else {
        open_all(source(file))
    }
}

#[test]
fn every_file_holds_what_its_producer_wrote() {
    let mut read_files = 0;
    for (file, expected) in expected() {
        let Some(values) = expected.as_array() else { continue };
        let mut found = read(&file).unwrap_or_else(|error| panic!("{error}"));
        if file.ends_with(".safetensors") {
            // That format has an order of its own.
            let order: Vec<&str> = values.iter().filter_map(|value| value["name"].as_str()).collect();
            found.sort_by_key(|(name, _)| order.iter().position(|known| known == name));
        }
        assert_eq!(found.len(), values.len(), "{file}: {found:?}");
        for (value, (name, stored)) in values.iter().zip(&found) {
            assert_eq!(value["name"].as_str(), Some(name.as_str()), "{file}");
            check(&format!("{file} {name}"), value, stored);
        }
        read_files += 1;
    }
    assert!(read_files > 25, "only {read_files} files");
}

fn check(place: &str, expected: &Value, stored: &StoredValue) {
    match stored {
        StoredValue::Tensor(tensor) => {
            assert_eq!(expected["dtype"].as_str(), Some(tensor.dtype.to_string().as_str()), "{place}");
            let shape: Vec<u64> = serde_json::from_value(expected["shape"].clone()).expect("shape");
            assert_eq!(tensor.shape, shape, "{place}");
            assert_eq!(expected["hex"].as_str(), Some(hex(&whole(tensor)).as_str()), "{place}");
            check_pieces(place, tensor);
        }
        StoredValue::Unsupported(reason) => {
            let word = expected["unsupported"].as_str().unwrap_or_else(|| panic!("{place}: {reason}"));
            assert!(reason.contains(word), "{place}: {reason}");
        }
        StoredValue::Plain(value) => assert_eq!(expected["plain"].as_str(), Some(value.as_str()), "{place}"),
        StoredValue::Part(part) => panic!("{place}: a part {part:?}"),
        StoredValue::Shape(shape) => panic!("{place}: a shape {shape:?}"),
    }
}

fn whole(tensor: &TensorData) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(tensor.elements()).expect("small") * tensor.dtype.size()];
    tensor.read_block(0, &mut bytes).expect("readable");
    bytes
}

/// Any block is the same piece of the whole.
fn check_pieces(place: &str, tensor: &TensorData) {
    let (size, all) = (tensor.dtype.size(), whole(tensor));
    for start in 0..tensor.elements() {
        let from = usize::try_from(start).expect("small") * size;
        for len in (0..=all.len() - from).step_by(size) {
            let mut piece = vec![0; len];
            tensor.read_block(start, &mut piece).expect("readable");
            assert_eq!(piece, all[from..from + len], "{place} from {start}");
        }
    }
    let mut beyond = vec![0; all.len() + size];
    assert!(tensor.read_block(0, &mut beyond).is_err(), "{place}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_holds_no_plain_tensors_is_refused_by_name() {
    for (file, expected) in expected() {
        let Some(word) = expected["refused"].as_str() else { continue };
        let error = read(&file).expect_err(&file);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(error.subject(), file);
        assert!(error.message().contains(word) && error.help().is_some(), "{error}");
    }
}

#[test]
fn damage_is_one_error_that_names_the_file() {
    for (file, expected) in expected() {
        if expected["damaged"].as_bool() == Some(true) {
            let error = read(&file).expect_err(&file);
            assert_eq!((error.kind(), error.subject()), (ErrorKind::Corrupt, file.as_str()), "{error}");
        }
    }
}

#[test]
fn any_cut_and_any_changed_byte_is_an_answer() {
    for (file, _) in expected() {
        let bytes = std::fs::read(folder().join(&file)).expect("fixture");
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            for damaged in [bytes[..at].to_vec(), changed] {
                let source: Source = Arc::new(MemorySource::new(file.as_str(), damaged));
                for (_, stored) in open_all(source.clone()).into_iter().flatten() {
                    let StoredValue::Tensor(tensor) = stored else { continue };
                    let mut first = vec![0; tensor.dtype.size()];
                    drop(tensor.read_block(0, &mut first));
                }
                drop(open(source));
            }
        }
    }
}

/// A torch file of one `float32` tensor of `len` elements that are all the first of a storage of 16.
fn expanded(len: u64) -> Source {
    use std::io::Write as _;
    let number = |number: u64| [&[0x8a, 8][..], &number.to_le_bytes()].concat();
    let tuple = |one: u64| [&b"("[..], &number(one), b"t"].concat();
    let pickle = [
        &b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"[..],
        b"X\x03\x00\x00\x00cpu",
        &number(16),
        b"tQ",
        &number(0),
        &tuple(len),
        &tuple(0),
        b"\x89ccollections\nOrderedDict\n)RtR.",
    ]
    .concat();
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [("x/data.pkl", &pickle[..]), ("x/byteorder", b"little"), ("x/data/0", &[0; 64])] {
        writer.start_file(name, options).expect("started");
        writer.write_all(bytes).expect("written");
    }
    Arc::new(MemorySource::new("expanded.pt", writer.finish().expect("finished").into_inner()))
}

#[test]
fn an_expanded_tensor_is_read_unless_it_claims_more_elements_than_can_be_walked() {
    let tensor = open(expanded(100_000)).expect("small enough");
    let mut bytes = vec![1; 4000];
    tensor.read_block(99_000, &mut bytes).expect("there");
    assert!(bytes.iter().all(|byte| *byte == 0));
    let error = open(expanded(1 << 36)).expect_err("too many");
    assert!(error.to_string().contains("repeats stored elements up to 68719476736"), "{error}");
    assert!(matches!(&open_all(expanded(1 << 36)).expect("the file is sound")[..], [(_, StoredValue::Unsupported(_))]));
}
