//! Types of the elements of tensors.

/// Type of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    /// 64-bit float.
    Fp64,
    /// 32-bit float.
    Fp32,
    /// 32-bit float that matrix units round to 19 bits. Tensors never have this type; devices have a rate for it.
    Tf32,
    /// 16-bit float.
    Fp16,
    /// bfloat16.
    Bf16,
    /// 8-bit float of any kind.
    Fp8,
    /// 4-bit float.
    Fp4,
    /// 64-bit integer.
    Int64,
    /// 32-bit integer.
    Int32,
    /// 16-bit integer.
    Int16,
    /// 8-bit integer.
    Int8,
    /// 4-bit integer.
    Int4,
    /// Boolean; one byte.
    Bool,
}

/// All types with their names: ours first, then those of torch, NCCL and other engines, in lowercase.
const NAMES: &[(DataType, &[&str])] = &[
    (DataType::Fp64, &["fp64", "f64", "float64", "double"]),
    (DataType::Fp32, &["fp32", "f32", "float32", "float"]),
    (DataType::Tf32, &["tf32"]),
    (DataType::Fp16, &["fp16", "f16", "float16", "half"]),
    (DataType::Bf16, &["bf16", "bfloat16"]),
    (
        DataType::Fp8,
        &["fp8", "f8", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "e4m3", "e5m2"],
    ),
    (DataType::Fp4, &["fp4", "f4", "mxfp4", "nvfp4"]),
    (DataType::Int64, &["int64", "i64", "u64", "long int", "long", "unsigned long"]),
    (DataType::Int32, &["int32", "i32", "u32", "int", "unsigned int"]),
    (DataType::Int16, &["int16", "i16", "u16", "short int", "short", "unsigned short"]),
    (DataType::Int8, &["int8", "i8", "u8", "uint8", "signed char", "unsigned char", "char", "byte"]),
    (DataType::Int4, &["int4", "i4", "u4"]),
    (DataType::Bool, &["bool"]),
];

impl DataType {
    /// Returns the type with this name, in the spelling of any tool.
    pub fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_prefix("c10::").or_else(|| lower.strip_prefix("torch.")).unwrap_or(&lower);
        NAMES.iter().find(|(_, names)| names.contains(&plain)).map(|&(data_type, _)| data_type)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        let of_type = NAMES.iter().find(|(data_type, _)| *data_type == self);
        of_type.and_then(|(_, names)| names.first().copied()).unwrap_or_default()
    }

    /// Returns the number of bytes of some elements.
    pub fn bytes(self, n_elements: u64) -> u64 {
        let bits = match self {
            Self::Fp64 | Self::Int64 => 64,
            Self::Fp32 | Self::Tf32 | Self::Int32 => 32,
            Self::Fp16 | Self::Bf16 | Self::Int16 => 16,
            Self::Fp8 | Self::Int8 | Self::Bool => 8,
            Self::Fp4 | Self::Int4 => 4,
        };
        u64::try_from((u128::from(n_elements) * bits).div_ceil(8)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_tools_are_known() {
        let cases = [
            ("c10::BFloat16", DataType::Bf16),
            ("c10::Half", DataType::Fp16),
            ("float", DataType::Fp32),
            ("long int", DataType::Int64),
            ("c10::Float8_e4m3fnuz", DataType::Fp8),
            ("torch.bfloat16", DataType::Bf16),
            ("BFloat16", DataType::Bf16),
            ("f32", DataType::Fp32),
        ];
        for (name, expected) in cases {
            assert_eq!(DataType::of_name(name), Some(expected), "{name}");
        }
        assert_eq!([DataType::of_name("Scalar"), DataType::of_name("")], [None, None]);
    }

    #[test]
    fn each_name_belongs_to_one_type() {
        let mut all: Vec<&str> = NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let n_names = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_names);
    }

    #[test]
    fn sizes_are_whole_bytes() {
        assert_eq!((DataType::Bf16.bytes(3), DataType::Int4.bytes(3), DataType::Bool.bytes(3)), (6, 2, 3));
        assert_eq!(DataType::Fp64.bytes(u64::MAX), u64::MAX);
    }
}
