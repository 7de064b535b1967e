//! Packs that were unpacked into a folder: the same members, as files.

use std::collections::BTreeMap;

use super::content::{Content, Pack, parse_member};
use super::member::MemberPlace;
use crate::fetch::{self, Files, Source};

/// Folders of members whose names no other tool writes.
const OWN_FOLDERS: [&str; 3] = ["dataset/", "hyperparameters/", "weights/"];

/// One member of an unpacked pack.
#[derive(Clone, Debug)]
pub struct UnpackedMember {
    /// The pack's folder, below the side's root; empty for the root itself.
    folder: String,
    /// The member's name in its pack.
    name: String,
    content: Content,
}

/// Reads a file as a member of an unpacked pack; `None` for a file that is none, or that cannot be read as one. Names that
/// others use too (`env`, `pip`) count beside members with names of their own.
pub fn read_unpacked(files: &dyn Files, path: &str, source: &Source) -> Option<UnpackedMember> {
    let (folder, name) = folder_and_name(path)?;
    if !has_own_name(name) && !OWN_FOLDERS.iter().any(|own| holds_member(files, folder, own)) {
        return None;
    }
    let content = parse_member(name, path, source.memory_limit(), |limit| fetch::read_all(source.as_ref(), limit));
    let member = UnpackedMember { folder: folder.to_owned(), name: name.to_owned(), content };
    member.content.is_read().then_some(member)
}

/// Packs from the members of unpacked ones, in the order of their folders.
pub fn packs_of_folders(members: &[UnpackedMember]) -> Vec<Pack> {
    let mut packs: BTreeMap<&str, Pack> = BTreeMap::new();
    for member in members {
        let pack = packs.entry(&member.folder).or_default();
        member.folder.clone_into(&mut pack.path);
        pack.take(member.name.clone(), member.content.clone());
    }
    packs.into_values().collect()
}

/// A path as the folder of a pack and the name of a member.
fn folder_and_name(path: &str) -> Option<(&str, &str)> {
    let is_member =
        |name: &str| !matches!(MemberPlace::from_name(name), MemberPlace::Unknown | MemberPlace::Misplaced(_));
    let starts = path.match_indices('/').map(|(at, _)| at + 1).chain([0]);
    let mut split = starts.filter_map(|at| Some((path.get(..at)?.trim_end_matches('/'), path.get(at..)?)));
    split.find(|(_, name)| is_member(name))
}

fn has_own_name(name: &str) -> bool {
    OWN_FOLDERS.iter().any(|own| name.starts_with(own))
}

/// Whether a member of the folder `own` is listed below `folder`.
fn holds_member(files: &dyn Files, folder: &str, own: &str) -> bool {
    let start = if folder.is_empty() { own.to_owned() } else { format!("{folder}/{own}") };
    let list = files.list();
    let first = list.partition_point(|entry| entry.path.as_str() < start.as_str());
    let below = list.get(first..).unwrap_or_default().iter().take_while(|entry| entry.path.starts_with(&start));
    below.map(|entry| &entry.path).any(|path| folder_and_name(path).is_some_and(|(of, _)| of == folder))
}
