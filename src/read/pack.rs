//! msprobe config packs: zip archives of a run's configuration, or folders that they were unpacked into.
//!
//! Six kinds of member are known, plus the digests of our own collector. Nothing in a pack names the program that
//! wrote it, so only the names of its members decide. A member that cannot be read is an error in its own place;
//! the others are read as usual.

mod content;
mod folder;
mod member;
mod parse;

pub use content::{Pack, PerStep};
pub use folder::{UnpackedMember, packs_of_folders, read_unpacked};
pub(crate) use member::DIGESTS;
pub use member::MemberPlace;
pub use parse::{
    ForwardInput, Malformed, PackParameter, PackSettings, PackStatistics, RandomCall, RandomCalls, STATISTICS,
};

pub use crate::verdict::Checker;

use rayon::prelude::*;

use crate::error::Result;
use crate::fetch::Source;
use crate::read::archive::{self, Archive, ArchiveLimits, ArchiveMember};
use content::{Content, parse_member};

/// Limits of a pack: 1000 steps of 64 ranks have 128 000 members.
const LIMITS: ArchiveLimits = ArchiveLimits { members: 500_000, total_bytes: 4 << 30 };

/// Whether a zip archive is a config pack, by the names of its members; where its directory is lost, by the first member.
pub fn recognise(source: &Source) -> bool {
    let known = |name: &str| !matches!(MemberPlace::from_name(name), MemberPlace::Unknown | MemberPlace::Misplaced(_));
    match Archive::open(source.clone(), LIMITS) {
        Ok(archive) => archive.members().iter().any(|member| known(member.name())),
        Err(_) => archive::first_member_name(source.as_ref()).is_some_and(|name| known(&name)),
    }
}

/// Reads a pack. An error means that the archive itself cannot be read.
pub fn read(source: Source) -> Result<Pack> {
    let archive = Archive::open(source.clone(), LIMITS)?;
    let contents: Vec<Content> =
        archive.members().par_iter().map(|member| read_member(&archive, member, source.memory_limit())).collect();
    let mut pack = Pack {
        path: source.name().to_owned(),
        refused: archive.refused().to_vec(),
        repeated: archive.repeated().clone(),
        ..Pack::default()
    };
    for (member, content) in archive.members().iter().zip(contents) {
        pack.take(member.name().to_owned(), content);
    }
    Ok(pack)
}

/// Reads a member, which may take up to `memory` bytes of memory.
fn read_member(archive: &Archive, member: &ArchiveMember, memory: u64) -> Content {
    let name = archive.full_name(member);
    parse_member(member.name(), &name, memory, |limit| archive.read(member, limit))
}

#[cfg(test)]
mod tests;
