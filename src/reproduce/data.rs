//! Tensors of a call: their digests, and copies beside the script.
//!
//! A copy holds the elements alone, in row-major order and little-endian, so that torch reads it without any other library.
//! Its name is made here: nothing that a dump names becomes a path.

use std::collections::BTreeMap;
use std::io::Write;

use sha2::{Digest as _, Sha256};

use super::call::{StoredElements, Tensor};
use super::case::RecordedCall;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::read::dump::DumpFolder;
use crate::read::tensor::TensorData;

/// Bytes of a tensor that are in memory at a time.
const BLOCK: usize = 1 << 20;
/// Start of the name of every copy.
const START: &str = "tensor-";
/// End of the name of every copy.
const ENDING: &str = ".bin";

/// Copies of tensors in the making.
pub(crate) struct TensorCopies<'a> {
    output: Option<&'a Output>,
    /// File by digest and element type: equal tensors of both runs are kept once.
    names: BTreeMap<String, String>,
    unread: Vec<String>,
}

impl<'a> TensorCopies<'a> {
    /// Starts without copies. They go to `output`; without one, only digests are computed.
    pub(crate) fn new(output: Option<&'a Output>) -> Self {
        Self { output, names: BTreeMap::new(), unread: Vec::new() }
    }

    /// Computes the digest of every saved tensor of a call, and copies it if there is an output.
    ///
    /// # Errors
    /// Where a tensor that is to be copied cannot be read, or its copy not written.
    pub(crate) fn store(&mut self, recorded: &mut RecordedCall<'_>) -> Result<()> {
        let folder = recorded.folder;
        recorded.call.each_tensor(|tensor| self.tensor(tensor, folder))
    }

    fn tensor(&mut self, tensor: &mut Tensor, folder: &DumpFolder) -> Result<()> {
        if tensor.data_name.is_empty() {
            return Ok(());
        }
        match self.read(tensor, folder) {
            Ok(stored) => tensor.stored = Some(stored),
            Err(error) if self.output.is_some() => {
                return Err(error.with_help("without --with-data the script makes inputs from the recorded statistics"));
            }
            Err(error) => self.unread.push(error.to_string()),
        }
        Ok(())
    }

    fn read(&mut self, tensor: &Tensor, folder: &DumpFolder) -> Result<StoredElements> {
        let data = folder.tensor_in_file(&tensor.data_name, folder.open_tensor(&tensor.data_name)?)?;
        if (data.dtype, &data.shape) != (tensor.dtype, &tensor.shape) {
            let found =
                format!("holds {} {:?}, recorded was {} {:?}", data.dtype, data.shape, tensor.dtype, tensor.shape);
            return Err(Error::corrupt(data.name(), found));
        }
        let sha256 = copy(&data, &mut std::io::sink())?;
        let Some(output) = self.output else { return Ok(StoredElements { sha256, file: String::new() }) };
        if let Some(file) = self.names.get(&sha256) {
            return Ok(StoredElements { sha256, file: file.clone() });
        }
        let file = format!("{START}{}{ENDING}", self.names.len());
        let mut draft = output.draft(&file)?;
        copy(&data, &mut draft)?;
        output.keep(draft);
        self.names.insert(sha256.clone(), file.clone());
        Ok(StoredElements { sha256, file })
    }

    /// Reasons why tensors could not be read.
    pub(crate) fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Names of the copies, in order.
    pub(crate) fn into_names(self) -> Vec<String> {
        let mut names: Vec<String> = self.names.into_values().collect();
        names.sort();
        names
    }
}

/// Writes the elements of a tensor, and returns their SHA-256.
fn copy(data: &TensorData, to: &mut dyn Write) -> Result<String> {
    let size = data.dtype.size();
    let per_block = (BLOCK / size) as u64;
    let mut digest = Sha256::new();
    let mut block = Vec::new();
    let mut start = 0;
    while start < data.elements() {
        let count = per_block.min(data.elements() - start);
        block.resize(usize::try_from(count).unwrap_or(0) * size, 0);
        data.read_block(start, &mut block)?;
        digest.update(&block);
        to.write_all(&block).map_err(|error| Error::io(data.name(), &error))?;
        start += count;
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
