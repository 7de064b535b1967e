//! Pictures: PNG, JPEG, and arrays of bytes with three channels, as rows of pixels.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Source;
use crate::read::archive::SourceCursor;
use crate::read::tensor::TensorData;

/// Largest number of pixels of a picture.
const MOST_PIXELS: u64 = 1 << 27;
/// Channels of every picture: red, green and blue.
pub(crate) const CHANNELS: usize = 3;

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedPicture {
    /// Width in pixels.
    pub width: u64,
    /// Height in pixels.
    pub height: u64,
    /// Red, green and blue of every pixel, row by row.
    pub pixels: Vec<u8>,
}

/// Formats of picture files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Portable Network Graphics
    Png,
    /// JPEG
    Jpeg,
}

impl PictureFormat {
    /// The format of the file at `path` that starts with `head`: by content, or else by the extension, so that a damaged picture
    /// is recognised too.
    pub(crate) fn from_file(path: &str, head: &[u8]) -> Option<Self> {
        let name = path.to_ascii_lowercase();
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if head.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if name.ends_with(".png") {
            Some(Self::Png)
        } else if name.ends_with(".jpg") || name.ends_with(".jpeg") {
            Some(Self::Jpeg)
        } else {
            None
        }
    }

    /// Decodes a file.
    ///
    /// # Errors
    /// `Corrupt` where it is damaged or cut, `LimitExceeded` for too many pixels.
    pub fn read(self, source: &Source) -> Result<DecodedPicture> {
        match self {
            Self::Png => read_png(source),
            Self::Jpeg => read_jpeg(source),
        }
    }
}

/// Whether a tensor is a picture: bytes of rows, columns and three channels.
pub(crate) fn is_picture(tensor: &TensorData) -> bool {
    matches!(*tensor.shape, [height, width, 3] if height > 1 && width > 1) && tensor.dtype == Dtype::U8
}

/// The picture that a tensor of rows, columns and three channels holds.
///
/// # Errors
/// As tensors are read, and `LimitExceeded` for too many pixels.
pub(crate) fn picture_of_tensor(tensor: &TensorData) -> Result<DecodedPicture> {
    let [height, width, _] = *tensor.shape else {
        return Err(Error::unsupported(tensor.name(), "is not of rows, columns and channels"));
    };
    let mut pixels = vec![0; room(tensor.name(), width, height)?];
    tensor.read_block(0, &mut pixels)?;
    Ok(DecodedPicture { width, height, pixels })
}

/// Bytes of a picture of this size.
fn room(name: &str, width: u64, height: u64) -> Result<usize> {
    let pixels = width.checked_mul(height).filter(|pixels| *pixels <= MOST_PIXELS);
    let bytes = pixels.and_then(|pixels| usize::try_from(pixels * CHANNELS as u64).ok());
    bytes.ok_or_else(|| {
        let message = format!("{width} times {height} pixels, and pictures are read up to {MOST_PIXELS}");
        Error::new(ErrorKind::LimitExceeded, name, message)
    })
}

fn damaged(source: &Source, reason: impl std::fmt::Display) -> Error {
    Error::corrupt(source.name(), format!("cannot be decoded: {reason}"))
        .with_help("copy the picture again, or write it again")
}

fn read_png(source: &Source) -> Result<DecodedPicture> {
    let mut decoder = png::Decoder::new(std::io::BufReader::new(SourceCursor::new(source.as_ref())));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| damaged(source, error))?;
    let (width, height) = (u64::from(reader.info().width), u64::from(reader.info().height));
    room(source.name(), width, height)?;
    let mut buffer = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut buffer).map_err(|error| damaged(source, error))?;
    // The data after the pixels shows whether the file is complete.
    reader.finish().map_err(|error| damaged(source, error))?;
    let samples = buffer.get(..frame.buffer_size()).unwrap_or_default();
    let pixels = match frame.color_type {
        png::ColorType::Rgb => samples.to_vec(),
        png::ColorType::Rgba => without_last(samples, 4),
        png::ColorType::Grayscale => samples.iter().flat_map(|grey| [*grey; CHANNELS]).collect(),
        png::ColorType::GrayscaleAlpha => without_last(samples, 2).iter().flat_map(|grey| [*grey; CHANNELS]).collect(),
        png::ColorType::Indexed => return Err(damaged(source, "its palette was not applied")),
    };
    Ok(DecodedPicture { width, height, pixels })
}

/// Samples of pixels without the last one of each, its opacity.
fn without_last(samples: &[u8], each: usize) -> Vec<u8> {
    samples.chunks_exact(each).flat_map(|pixel| pixel.split_last().map_or(&[][..], |(_, rest)| rest)).copied().collect()
}

fn read_jpeg(source: &Source) -> Result<DecodedPicture> {
    let mut decoder = jpeg_decoder::Decoder::new(std::io::BufReader::new(SourceCursor::new(source.as_ref())));
    decoder.read_info().map_err(|error| damaged(source, error))?;
    let info = decoder.info().ok_or_else(|| damaged(source, "no size is told"))?;
    let (width, height) = (u64::from(info.width), u64::from(info.height));
    decoder.set_max_decoding_buffer_size(room(source.name(), width, height)?.saturating_mul(2));
    let samples = decoder.decode().map_err(|error| damaged(source, error))?;
    let pixels = match info.pixel_format {
        jpeg_decoder::PixelFormat::RGB24 => samples,
        jpeg_decoder::PixelFormat::L8 => samples.iter().flat_map(|grey| [*grey; CHANNELS]).collect(),
        other => return Err(Error::unsupported(source.name(), format!("holds pixels of the form {other:?}"))),
    };
    Ok(DecodedPicture { width, height, pixels })
}
