//! Arrays that belong to no other check: NumPy files and archives, tensor files without parameters, and pictures.

use super::dump::{Activations, activations};
use super::picture::{self, DecodedPicture, PictureFormat};
use super::tensor::{StoredValue, TensorData};
use super::tensor_file;
use crate::error::Result;
use crate::fetch::{Files, Source};

/// A file of arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayFile {
    /// Its path below the side's root.
    pub path: String,
    /// The picture that it is; `None` for arrays of numbers.
    pub picture: Option<PictureFormat>,
}

/// One array of a file.
pub struct NamedArray {
    /// Its name in the file; empty where it is the only one and has none.
    pub name: String,
    /// Its content.
    pub content: ArrayContent,
}

/// Content of an array.
pub enum ArrayContent {
    /// Numbers.
    Tensor(TensorData),
    /// Pixels.
    Picture(DecodedPicture),
    /// Not read; the reason.
    Unread(String),
}

/// The file of arrays at `path`, which begins with `head`; `None` for any other file.
pub fn recognise(path: &str, head: &[u8], source: &Source) -> Option<ArrayFile> {
    let picture = PictureFormat::from_file(path, head);
    let is_array = picture.is_some() || tensor_file::is_numpy_file(head, source) || holds_arrays(path, head, source);
    is_array.then(|| ArrayFile { path: path.to_owned(), picture })
}

fn holds_arrays(path: &str, head: &[u8], source: &Source) -> bool {
    tensor_file::holds_members(head, source)
        && tensor_file::open_members(source.clone())
            .is_ok_and(|stored| activations(path, &stored) == Some(Activations::Arrays))
}

impl ArrayFile {
    /// Opens every array of it.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn open(&self, files: &dyn Files) -> Result<Vec<NamedArray>> {
        let source = files.open(&self.path)?;
        if let Some(format) = self.picture {
            return Ok(vec![NamedArray { name: String::new(), content: ArrayContent::Picture(format.read(&source)?) }]);
        }
        Ok(tensor_file::open_members(source)?.into_iter().map(|(name, stored)| named(name, stored)).collect())
    }
}

fn named(name: String, stored: StoredValue) -> NamedArray {
    let content = match stored {
        StoredValue::Tensor(tensor) if picture::is_picture(&tensor) => picture::picture_of_tensor(&tensor)
            .map_or_else(|error| ArrayContent::Unread(error.to_string()), ArrayContent::Picture),
        StoredValue::Tensor(tensor) => ArrayContent::Tensor(tensor),
        StoredValue::Unsupported(reason) => ArrayContent::Unread(reason),
        StoredValue::Part(part) if part.tensor.shape == part.shape => ArrayContent::Tensor(part.tensor),
        StoredValue::Part(part) => ArrayContent::Unread(format!("holds a part of {:?}, no array", part.shape)),
        StoredValue::Plain(value) => ArrayContent::Unread(format!("holds the value `{value}`, no array")),
        StoredValue::Shape(shape) => ArrayContent::Unread(format!("holds the shape {shape:?}, no array")),
    };
    NamedArray { name, content }
}
