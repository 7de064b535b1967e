//! Archives: read as the folder they hold, and refused where they attack.

use std::io::{Read, Write};
use std::path::Path;

use precision_gate::error::ErrorKind;
use precision_gate::fetch::{Disk, Fetcher, Files, MemorySource, read_all};
use precision_gate::read::archive::folder;
use precision_gate::verdict::Verdict;
use tempfile::TempDir;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::data::fixture;
use super::objects::{judge, location, sides};
use super::server::{Server, fetcher};

/// More than an archive may expand to whatever its size.
const ZEROS: u64 = 300 << 20;

fn tar_of(folder: &Path) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all(".", folder).expect("packed");
    builder.into_inner().expect("packed")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed).expect("packed");
    packed
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("settings");
    writer.write_all(bytes).expect("packed");
    writer.finish().expect("packed")
}

fn zip_of(folder: &Path, method: CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    add(&mut writer, folder, "", method);
    writer.finish().expect("packed").into_inner()
}

fn add(writer: &mut zip::ZipWriter<std::io::Cursor<Vec<u8>>>, folder: &Path, prefix: &str, method: CompressionMethod) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_str().expect("UTF-8"));
        if entry.path().is_dir() {
            add(writer, &entry.path(), &format!("{name}/"), method);
        } else {
            writer.start_file(&name, SimpleFileOptions::default().compression_method(method)).expect("begun");
            writer.write_all(&std::fs::read(entry.path()).expect("readable")).expect("packed");
        }
    }
}

fn open(place: &TempDir, bytes: Vec<u8>, disk: u64) -> precision_gate::error::Result<folder::Folder> {
    folder::open(std::sync::Arc::new(MemorySource::new("x", bytes)), "x", &Disk::new(place.path().to_owned(), disk))
}

#[test]
fn every_kind_of_archive_is_judged_as_its_folder() {
    let place = tempfile::tempdir().expect("folder");
    let [gpu, npu] = sides(&fixture("dumps/gpt_bf16_tensor_layernorm_eps"));
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let plain = judge(&text(&gpu), &text(&npu), &Fetcher::default());
    let tar = tar_of(&npu);
    let half = tar.len() / 2;
    for (name, bytes) in [
        ("a.tar", tar.clone()),
        ("a.tar.gz", gzip(&tar)),
        ("a.tar.zst", zstd(&tar)),
        ("a.tar.xz", xz(&tar)),
        ("frames.tar.zst", [zstd(&tar[..half]), zstd(&tar[half..])].concat()),
        ("stored.zip", zip_of(&npu, CompressionMethod::Stored)),
        ("deflated.zip", zip_of(&npu, CompressionMethod::Deflated)),
    ] {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        let mut packed = judge(&text(&gpu), &text(&path), &fetcher(place.path(), &[]));
        packed.candidate.location.clone_from(&plain.candidate.location);
        // A run is named after the device that its location is called after.
        packed.candidate.label.clone_from(&plain.candidate.label);
        assert_eq!(packed, plain, "{name}");
    }
}

#[test]
fn an_archive_in_a_bucket_is_read_in_place() {
    let place = tempfile::tempdir().expect("folder");
    let server = Server::start();
    let [gpu, npu] = sides(&fixture("dumps/zoo_tensor_identical"));
    server.put("/bucket/gpu.tar", &tar_of(&gpu));
    server.put("/bucket/npu.zip", &zip_of(&npu, CompressionMethod::Stored));
    let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
    let result = judge(&location(&server, "gpu.tar"), &location(&server, "npu.zip"), &fetcher(place.path(), &keys));
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.findings);
    assert_eq!(std::fs::read_dir(place.path()).expect("folder").count(), 0, "nothing was stored");
}

#[test]
fn what_leads_out_of_an_archive_is_left_out() {
    let place = tempfile::tempdir().expect("a folder");
    let mut builder = tar::Builder::new(Vec::new());
    let mut entry = |name: &[u8], kind: tar::EntryType, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        if kind == tar::EntryType::Symlink || kind == tar::EntryType::Link {
            header.set_link_name("/etc/passwd").expect("a link");
        }
        header.set_cksum();
        builder.append(&header, bytes).expect("packed");
    };
    entry(b"good/file", tar::EntryType::Regular, b"bytes");
    entry(b"../evil", tar::EntryType::Regular, b"evil");
    entry(b"/etc/evil", tar::EntryType::Regular, b"evil");
    entry(b"good/../../evil", tar::EntryType::Regular, b"evil");
    entry(b"link", tar::EntryType::Symlink, b"");
    entry(b"hard", tar::EntryType::Link, b"");
    entry(b"device", tar::EntryType::Char, b"");
    entry(b"disk", tar::EntryType::Block, b"");
    entry(b"pipe", tar::EntryType::Fifo, b"");
    let files = open(&place, builder.into_inner().expect("packed"), 1 << 20).expect("sound");
    assert_eq!(files.list().len(), 1);
    assert_eq!(read_all(files.open("good/file").expect("listed").as_ref(), 9).expect("readable"), b"bytes");
    let reasons: Vec<&str> = files.skipped().iter().map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(reasons.len(), 8, "{:?}", files.skipped());
    assert!(reasons.contains(&"a device") && reasons.contains(&"a link") && reasons.contains(&"a pipe"));
}

#[test]
fn bombs_are_refused_before_they_fill_anything() {
    let place = tempfile::tempdir().expect("a folder");
    // A tar archive of zeros, deflated a thousandfold.
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").expect("a name");
    header.set_size(ZEROS);
    header.set_cksum();
    let zeros = std::io::repeat(0).take(ZEROS + 1024);
    let mut bomb = Vec::new();
    let whole = header.as_bytes().chain(zeros);
    flate2::read::GzEncoder::new(whole, flate2::Compression::best()).read_to_end(&mut bomb).expect("packed");
    let error = open(&place, bomb.clone(), u64::MAX).err().expect("a bomb");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let error = open(&place, bomb, 20 << 20).err().expect("more than the disk");
    assert!(error.message().contains("of disk"), "{error}");

    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).compression_level(Some(9));
    writer.start_file("zeros", options).expect("begun");
    std::io::copy(&mut std::io::repeat(0).take(ZEROS), &mut writer).expect("packed");
    let files = open(&place, writer.finish().expect("packed").into_inner(), u64::MAX).expect("a sound directory");
    let source = files.open("zeros").expect("listed");
    source.read_at(0, &mut [0; 100]).expect("the head is had without the rest");
    let error = source.read_at(1 << 20, &mut [0; 100]).expect_err("a bomb");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

#[test]
fn damage_is_told_and_never_panics() {
    let place = tempfile::tempdir().expect("a folder");
    let [gpu, _] = sides(&fixture("dumps/zoo_tensor_identical"));
    let tar = tar_of(&gpu);
    for (name, bytes) in [
        ("cut tar", tar[..tar.len() / 2 + 100].to_vec()),
        ("cut gzip", gzip(&tar)[..300].to_vec()),
        ("cut zstd", zstd(&tar)[..300].to_vec()),
        ("no tar inside", gzip(b"just text")),
        ("empty gzip", vec![0x1f, 0x8b]),
        ("empty zip", b"PK\x05\x06".to_vec()),
    ] {
        let outcome = open(&place, bytes, 1 << 30);
        assert!(outcome.is_err(), "{name}");
    }
    let whole = zip_of(&gpu, CompressionMethod::Deflated);
    for flipped in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[flipped] ^= 0xff;
        let Ok(files) = open(&place, bytes, 1 << 30) else { continue };
        for entry in files.list() {
            let _any = files.open(&entry.path).and_then(|source| read_all(source.as_ref(), 1 << 20));
        }
    }
}
