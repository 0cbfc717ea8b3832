//! Arithmetic on counts from files, which may be arbitrarily large.

/// Returns the product of some counts; the largest number if it is too large.
pub(crate) fn product(counts: &[u64]) -> u64 {
    counts.iter().fold(1, |product: u64, &count| product.saturating_mul(count))
}

/// Returns the sum of some counts; the largest number if it is too large.
pub(crate) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_saturate() {
        assert_eq!((product(&[2, 3, 7]), product(&[])), (42, 1));
        assert_eq!((product(&[u64::MAX, 2]), product(&[u64::MAX, u64::MAX, 0])), (u64::MAX, 0));
        assert_eq!((sum(&[2, 3]), sum(&[u64::MAX, 1])), (5, u64::MAX));
    }
}
