//! Operations on the elements of tensors.

use super::counts::sum;
use super::data_type::DataType;

/// Returns the bytes of some tensors, each given by its elements and type; `None` if a type is unknown.
pub(crate) fn moved(tensors: &[(u64, Option<DataType>)]) -> Option<u64> {
    let bytes: Option<Vec<u64>> = tensors.iter().map(|&(elements, it)| Some(it?.bytes(elements))).collect();
    bytes.map(|bytes| sum(&bytes))
}

/// Returns the shape of the result of an operation on two tensors; `None` if the shapes do not fit together.
pub(crate) fn broadcast(one: &[u64], other: &[u64]) -> Option<Vec<u64>> {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let n_ahead = long.len() - short.len();
    let padded = std::iter::repeat_n(1, n_ahead).chain(short.iter().copied());
    let join = |(a, &b): (u64, &u64)| match (a, b) {
        (1, size) | (size, 1) => Some(size),
        (a, b) => (a == b).then_some(a),
    };
    padded.zip(long).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_one_are_repeated() {
        assert_eq!(broadcast(&[16, 1, 64], &[559, 1]), Some(vec![16, 559, 64]));
        assert_eq!(broadcast(&[], &[3, 2]), Some(vec![3, 2]));
        assert_eq!(broadcast(&[0, 2], &[1, 2]), Some(vec![0, 2]));
        assert_eq!(broadcast(&[4], &[3]), None);
    }

    #[test]
    fn an_unknown_type_has_no_bytes() {
        assert_eq!(moved(&[(3, Some(DataType::Fp32)), (1, Some(DataType::Fp64))]), Some(20));
        assert_eq!(moved(&[(3, Some(DataType::Fp32)), (1, None)]), None);
    }
}
