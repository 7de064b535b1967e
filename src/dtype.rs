//! Element types of tensors, as every producer names them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The element type of a tensor.
#[allow(missing_docs, reason = "the variants are the field's own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Dtype {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F8E4M3,
    F8E5M2,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

impl Dtype {
    /// Reads a name as PyTorch (`torch.float32`), MindSpore (`Float32`), NumPy (`float32`) and safetensors
    /// (`F32`) write it.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        Some(match plain.as_str() {
            "bool" | "bool_" => Self::Bool,
            "uint8" | "u8" => Self::U8,
            "uint16" | "u16" => Self::U16,
            "uint32" | "u32" => Self::U32,
            "uint64" | "u64" => Self::U64,
            "int8" | "i8" => Self::I8,
            "int16" | "i16" | "short" => Self::I16,
            "int32" | "i32" | "int" => Self::I32,
            "int64" | "i64" | "long" => Self::I64,
            "float8_e4m3fn" | "f8_e4m3" | "float8_e4m3" => Self::F8E4M3,
            "float8_e5m2" | "f8_e5m2" => Self::F8E5M2,
            "float16" | "f16" | "half" => Self::F16,
            "bfloat16" | "bf16" => Self::BF16,
            "float32" | "f32" | "float" => Self::F32,
            "float64" | "f64" | "double" => Self::F64,
            "complex64" | "c64" => Self::C64,
            "complex128" | "c128" => Self::C128,
            _ => return None,
        })
    }

    /// Reads the kind and size that NumPy's type strings end in, such as `f4` of `<f4`.
    pub(crate) fn from_numpy_code(code: &str) -> Option<Self> {
        Some(match code {
            "b1" => Self::Bool,
            "u1" => Self::U8,
            "u2" => Self::U16,
            "u4" => Self::U32,
            "u8" => Self::U64,
            "i1" => Self::I8,
            "i2" => Self::I16,
            "i4" => Self::I32,
            "i8" => Self::I64,
            "f2" => Self::F16,
            "f4" => Self::F32,
            "f8" => Self::F64,
            "c8" => Self::C64,
            "c16" => Self::C128,
            _ => return None,
        })
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// Whether values are real floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F8E4M3 | Self::F8E5M2 | Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Whether values are complex numbers.
    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    /// Unit roundoff: the largest relative error of rounding one number to this type (half a unit in the
    /// last place); 0 for integers and booleans, which are exact. Complex types count as their parts.
    pub(crate) fn unit_roundoff(self) -> f64 {
        match self {
            Self::F8E5M2 => 0.125,
            Self::F8E4M3 => 0.0625,
            Self::BF16 => 0.001_953_125,
            Self::F16 => 0.000_488_281_25,
            Self::F32 | Self::C64 => 2f64.powi(-24),
            Self::F64 | Self::C128 => 2f64.powi(-53),
            _ => 0.0,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F8E4M3 => "float8_e4m3fn",
            Self::F8E5M2 => "float8_e5m2",
            Self::F16 => "float16",
            Self::BF16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
        })
    }
}
