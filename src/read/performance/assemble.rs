//! Assembly of profiles from their files, and the damage of these files.

use std::collections::{BTreeMap, BTreeSet};

use super::communication::read_communication;
use super::database::{read_analysis, read_database};
use super::gpu_trace;
use super::kernels::Kernels;
use super::npu_trace;
use super::operator_times::read_details;
use super::place::{ProfileFile, ProfileFileKind};
use super::profile::{Profile, ProfileDamage, ProfileDevice};
use super::settings::read_settings;
use super::tables;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Files, Source};
use crate::read::sqlite;

/// Advice for a damaged file of the profiler.
const ANEW: &str = "copy the file again once the profiler has ended, or write it anew from the raw data: \
                    `torch_npu.profiler.profiler.analyse(FOLDER)`";
/// Advice for a damaged trace.
const ANEW_TRACE: &str = "copy the trace again once the profiler has ended";

/// The files of one profile.
#[derive(Clone, Debug)]
pub struct ProfileFiles {
    /// Folder of the profile, or path of the trace.
    pub profile: String,
    /// Files of the profile, in the order of their paths.
    pub files: Vec<ProfileFile>,
}

impl ProfileFiles {
    /// Groups files into profiles, by folder.
    pub(crate) fn from_files(files: &[ProfileFile]) -> Vec<Self> {
        let mut profiles: BTreeMap<&str, Vec<ProfileFile>> = BTreeMap::new();
        for file in files.iter().filter(|file| file.kind != ProfileFileKind::Other) {
            profiles.entry(&file.profile).or_default().push(file.clone());
        }
        // A profile may consist of settings only, if its results are elsewhere or were never written.
        let of = |(profile, files): (&str, Vec<ProfileFile>)| Self { profile: profile.to_owned(), files };
        profiles.into_iter().map(of).collect()
    }

    fn file_of_kind(&self, kind: ProfileFileKind) -> Option<&ProfileFile> {
        self.files.iter().find(|file| file.kind == kind)
    }

    /// Rank; `None` if a single process was recorded.
    fn rank(&self) -> Option<u64> {
        let of = |kind| self.files.iter().filter(|file| file.kind == kind).find_map(ProfileFile::rank);
        of(ProfileFileKind::Settings).or_else(|| {
            of(ProfileFileKind::Database).filter(|_| self.file_of_kind(ProfileFileKind::Settings).is_none())
        })
    }
}

/// Reads a profile. If one file is damaged, the others are still read.
pub fn read_profile(files: &dyn Files, profile: &ProfileFiles) -> Profile {
    let reading = Reading { files, damage: Vec::new() };
    match profile.file_of_kind(ProfileFileKind::GpuTrace) {
        Some(file) => reading.trace(profile, file),
        None => reading.folder(profile),
    }
}

struct Reading<'a> {
    files: &'a dyn Files,
    damage: Vec<ProfileDamage>,
}

impl Reading<'_> {
    fn trace(mut self, profile: &ProfileFiles, file: &ProfileFile) -> Profile {
        let read = self.read(Some(file), ANEW_TRACE, |source| gpu_trace::read_trace(source));
        let mut read = read.unwrap_or_else(|| Profile::new(String::new(), ProfileDevice::Gpu));
        read.place.clone_from(&profile.profile);
        read.damage = self.damage;
        read
    }

    fn folder(mut self, profile: &ProfileFiles) -> Profile {
        let mut read = Profile::new(profile.profile.clone(), ProfileDevice::Npu);
        read.rank = profile.rank();
        let of = |kind| profile.file_of_kind(kind);
        read.settings = self.read(of(ProfileFileKind::Settings), ANEW, |source| read_settings(source));
        read.kernels = self.read(of(ProfileFileKind::Kernels), ANEW, |source| tables::kernels(source));
        read.steps = self.read(of(ProfileFileKind::Steps), ANEW, |source| tables::steps(source)).unwrap_or_default();
        read.totals = self.read(of(ProfileFileKind::Totals), ANEW, |source| tables::totals(source)).unwrap_or_default();
        if let Some(times) = self.read(of(ProfileFileKind::Operators), ANEW, |source| read_details(source)) {
            (read.operators, read.loading) = (times.operators(), times.loading());
        }
        let memory = self.read(of(ProfileFileKind::Memory), ANEW, |source| tables::memory_range(source)).flatten();
        (read.memory_least, read.memory_peak) = memory.map(|[least, most]| (least, most)).unzip();
        let communication = self.read(of(ProfileFileKind::Communication), ANEW, |source| read_communication(source));
        read.communication = communication.unwrap_or_default();
        if let Some(trace) = self.read(of(ProfileFileKind::Trace), ANEW, |source| npu_trace::read_trace(source)) {
            read.frequency = trace.frequency;
            read.loading = read.loading.or(trace.loading);
        }
        self.databases(profile, &mut read);
        self.damage.extend(cut_at_a_step(&read, of(ProfileFileKind::Kernels)));
        read.damage = self.damage;
        read
    }

    /// Adds facts from the databases that the text files do not give.
    fn databases(&mut self, profile: &ProfileFiles, read: &mut Profile) {
        let has_kernels = profile.file_of_kind(ProfileFileKind::Kernels).is_some();
        if let Some(recorded) =
            self.read(profile.file_of_kind(ProfileFileKind::Database), ANEW, |source| read_database(source))
        {
            read.kernels = if has_kernels { read.kernels.take() } else { recorded.kernels };
            if read.operators.is_empty() {
                read.operators = recorded.operators;
            }
            read.loading = read.loading.or(recorded.loading);
            read.memory_peak = read.memory_peak.or(recorded.memory_peak);
            read.frequency = read.frequency.or(recorded.frequency);
            read.device_name = recorded.device_name;
        }
        if let Some(analysis) =
            self.read(profile.file_of_kind(ProfileFileKind::Analysis), ANEW, |source| read_analysis(source))
        {
            if read.steps.is_empty() {
                (read.steps, read.counts_pauses) = (analysis.steps, false);
            }
            if read.communication.is_empty() {
                read.communication = analysis.communication;
            }
        }
    }

    /// Reads a file if it exists, and records its damage.
    fn read<T>(
        &mut self,
        file: Option<&ProfileFile>,
        help: &str,
        read: impl Fn(&dyn ByteSource) -> Result<T>,
    ) -> Option<T> {
        let file = file?;
        match self.open(file).and_then(|source| read(source.as_ref())) {
            Ok(value) => Some(value),
            Err(error) => {
                self.damage.push(damage(file, &error, help));
                None
            }
        }
    }

    /// Opens a file. A database is opened together with its write-ahead log.
    fn open(&self, file: &ProfileFile) -> Result<Source> {
        let source = self.files.open(&file.path)?;
        if !matches!(file.kind, ProfileFileKind::Database | ProfileFileKind::Analysis) {
            return Ok(source);
        }
        let log = format!("{}-wal", file.path);
        if self.files.list().binary_search_by(|entry| entry.path.as_str().cmp(&log)).is_err() {
            return Ok(source);
        }
        sqlite::with_log(&source, &self.files.open(&log)?)
    }
}

fn damage(file: &ProfileFile, error: &Error, help: &str) -> ProfileDamage {
    ProfileDamage {
        path: file.path.clone(),
        reason: error.message().to_owned(),
        help: error.help().unwrap_or(help).to_owned(),
    }
}

/// Damage of a table of kernels that was cut between two lines, which shows because it lacks steps of the table of steps.
fn cut_at_a_step(read: &Profile, file: Option<&ProfileFile>) -> Option<ProfileDamage> {
    let (kernels, file): (&Kernels, _) = (read.kernels.as_ref()?, file?);
    let there: BTreeSet<u64> = kernels.steps().iter().copied().collect();
    let missing: Vec<u64> = read.steps.iter().filter_map(|row| row.step).filter(|step| !there.contains(step)).collect();
    let first = missing.first().filter(|_| !there.is_empty())?;
    let reason = format!(
        "lacks {} of the {} steps that the table of steps has, from step {first} on",
        missing.len(),
        read.steps.len()
    );
    Some(ProfileDamage { path: file.path.clone(), reason, help: ANEW.to_owned() })
}
