//! Inputs of an operation as torch's profiler records them.

use crate::roofline::work::{DataType, product};
use ferrum_trace_format::chrome::read::for_each_element;

/// Types of inputs that are not one tensor.
const NO_TENSORS: [&str; 6] = ["", "Scalar", "ScalarList", "TensorList", "GenericList", "OptionalTensorList"];

/// Largest number of inputs, and of dimensions of a tensor, that are read.
const LENGTH_MAX: usize = 256;

/// Inputs of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::roofline) struct Inputs {
    dims: Vec<Vec<u64>>,
    types: Vec<String>,
    values: Vec<String>,
}

/// A tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tensor<'a> {
    /// Its sizes by dimension.
    pub(super) dims: &'a [u64],
    /// Type of its elements; `None` if it is unknown.
    pub(super) data_type: Option<DataType>,
}

impl Tensor<'_> {
    /// Returns the number of its elements.
    pub(super) fn elements(&self) -> u64 {
        product(self.dims)
    }
}

impl Inputs {
    /// Parses the lists of the arguments; those that are missing are empty.
    pub(in crate::roofline) fn parse(dims: &str, types: &str, values: &str) -> Self {
        Self { dims: list(dims, numbers), types: list(types, text), values: list(values, text) }
    }

    /// Returns true if no shapes are recorded.
    pub(in crate::roofline) fn is_empty(&self) -> bool {
        self.dims.is_empty()
    }

    /// Returns an input that is a tensor.
    pub(super) fn tensor(&self, place: usize) -> Option<Tensor<'_>> {
        let dims = self.dims.get(place)?;
        let data_type = match self.types.get(place) {
            Some(name) if NO_TENSORS.contains(&name.as_str()) => return None,
            Some(name) => DataType::of_name(name),
            // Without types, a number and a tensor without dimensions look the same.
            None if dims.is_empty() => return None,
            None => None,
        };
        Some(Tensor { dims, data_type })
    }

    /// Returns a tensor with this number of dimensions.
    pub(super) fn tensor_of<const N: usize>(&self, place: usize) -> Option<([u64; N], Option<DataType>)> {
        let tensor = self.tensor(place)?;
        Some((tensor.dims.try_into().ok()?, tensor.data_type))
    }

    /// Returns all tensors in order.
    pub(super) fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        (0..self.dims.len()).filter_map(|place| self.tensor(place))
    }

    /// Returns true if an input is the value `True`.
    pub(super) fn is_true(&self, place: usize) -> bool {
        self.values.get(place).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns an input that is a list of numbers; `None` if it is missing.
    pub(super) fn number_list(&self, place: usize) -> Option<Vec<u64>> {
        self.values.get(place).filter(|value| value.starts_with('[')).map(|value| numbers(value.as_bytes()))
    }

    /// Returns an input that is a number.
    pub(super) fn number(&self, place: usize) -> Option<u64> {
        self.values.get(place)?.parse().ok()
    }
}

/// Parses a list with a function for its elements.
fn list<T>(json: &str, parse: impl Fn(&[u8]) -> T) -> Vec<T> {
    let mut all = Vec::new();
    for_each_element(json.as_bytes(), |element| {
        if all.len() < LENGTH_MAX {
            all.push(parse(element));
        }
    });
    all
}

/// Returns the numbers of a list; none if one is not a whole number or is negative.
fn numbers(json: &[u8]) -> Vec<u64> {
    let number = |element: &[u8]| std::str::from_utf8(element).ok()?.trim().parse().ok();
    let all: Option<Vec<u64>> = list(&String::from_utf8_lossy(json), number).into_iter().collect();
    all.unwrap_or_default()
}

/// Returns the content of a text without escapes, which names of types and numbers do not have.
fn text(json: &[u8]) -> String {
    String::from_utf8_lossy(json).trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_told_from_numbers_by_their_types() {
        let inputs = Inputs::parse(
            "[[32, 2880], [], [], [[1],[2]]]",
            r#"["c10::BFloat16","double","Scalar","TensorList"]"#,
            r#"["", "", "True", ""]"#,
        );
        assert_eq!(inputs.tensor_of::<2>(0), Some(([32, 2880], Some(DataType::Bf16))));
        assert_eq!(
            inputs.tensor(1).map(|tensor| (tensor.elements(), tensor.data_type)),
            Some((1, Some(DataType::Fp64)))
        );
        assert_eq!((inputs.tensor(2), inputs.tensor(3), inputs.tensor(4)), (None, None, None));
        assert_eq!((inputs.tensors().count(), inputs.is_true(2), inputs.is_true(0)), (2, true, false));
    }

    #[test]
    fn without_types_a_tensor_has_dimensions() {
        let inputs = Inputs::parse("[[3],[]]", "", "");
        assert_eq!((inputs.tensor(0).map(|tensor| tensor.data_type), inputs.tensor(1)), (Some(None), None));
    }

    #[test]
    fn values_are_numbers_or_lists_of_them() {
        let inputs = Inputs::parse("[[],[],[]]", "", r#"["[16, 16]", "1", ""]"#);
        assert_eq!((inputs.number_list(0), inputs.number(1)), (Some(vec![16, 16]), Some(1)));
        assert_eq!((inputs.number_list(2), inputs.number(2)), (None, None));
        assert!(Inputs::parse("", "", "").is_empty() && Inputs::parse("{", "[", "[1").is_empty());
    }
}
