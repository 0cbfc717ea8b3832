//! Matrix products.

use super::counts::{product, sum};
use super::data_type::DataType;
use super::op_work::OpWork;

/// A matrix product `A[m, k] · B[k, n]`, also batched or grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gemm {
    /// Number of products.
    pub(crate) batch: u64,
    /// Rows of A, of all groups together.
    pub(crate) m: u64,
    /// Columns of B.
    pub(crate) n: u64,
    /// Columns of A.
    pub(crate) k: u64,
    /// Number of matrices B, each for a part of the rows of A; 1 unless the product is grouped.
    pub(crate) groups: u64,
    /// True if a row is added to the result.
    pub(crate) has_bias: bool,
}

/// Types of the matrices of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GemmTypes {
    /// Type of A.
    pub(crate) a: DataType,
    /// Type of B.
    pub(crate) b: DataType,
    /// Type of the result and of the bias.
    pub(crate) out: DataType,
}

impl GemmTypes {
    /// Returns the types of a product with one type.
    pub(crate) fn uniform(data_type: DataType) -> Self {
        Self { a: data_type, b: data_type, out: data_type }
    }
}

impl Gemm {
    /// Returns `2mnk`, and `mn` for a bias; each matrix is moved once.
    pub(crate) fn work(&self, types: Option<GemmTypes>) -> OpWork {
        let &Self { batch, m, n, k, .. } = self;
        let bias = if self.has_bias { product(&[batch, m, n]) } else { 0 };
        let flop = product(&[2, batch, m, n, k]).saturating_add(bias);
        OpWork { flop, bytes: types.map(|types| product(&[batch, self.bytes_of_one(types)])) }
    }

    fn bytes_of_one(&self, types: GemmTypes) -> u64 {
        let &Self { m, n, k, groups, .. } = self;
        let bias = if self.has_bias { types.out.bytes(n) } else { 0 };
        let (a, b) = (types.a.bytes(product(&[m, k])), types.b.bytes(product(&[groups, k, n])));
        sum(&[a, b, types.out.bytes(product(&[m, n])), bias])
    }

    /// Returns its shape as text.
    pub(crate) fn shape(&self) -> String {
        let &Self { batch, m, n, k, groups, has_bias } = self;
        let batch = if batch == 1 { String::new() } else { format!("b={batch} ") };
        let groups = if groups == 1 { String::new() } else { format!(" groups={groups}") };
        let bias = if has_bias { " +bias" } else { "" };
        format!("{batch}m={m} n={n} k={k}{groups}{bias}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Gemm = Gemm { batch: 1, m: 4, n: 5, k: 6, groups: 1, has_bias: false };

    #[test]
    fn a_product_has_two_operations_for_each_pair() {
        let work = PLAIN.work(Some(GemmTypes::uniform(DataType::Bf16)));
        assert_eq!(work, OpWork { flop: 2 * 4 * 5 * 6, bytes: Some(2 * (24 + 30 + 20)) });
        assert_eq!(PLAIN.work(None).bytes, None);
    }

    #[test]
    fn a_bias_is_added_to_each_element_and_read_once() {
        let work = Gemm { has_bias: true, ..PLAIN }.work(Some(GemmTypes::uniform(DataType::Fp32)));
        assert_eq!(work, OpWork { flop: 240 + 20, bytes: Some(4 * (24 + 30 + 20 + 5)) });
    }

    #[test]
    fn a_batch_multiplies_and_groups_add_weights_only() {
        let types = Some(GemmTypes { a: DataType::Fp8, b: DataType::Int4, out: DataType::Bf16 });
        let batched = Gemm { batch: 3, ..PLAIN }.work(types);
        assert_eq!(batched, OpWork { flop: 720, bytes: Some(3 * (24 + 15 + 40)) });
        let grouped = Gemm { groups: 8, ..PLAIN };
        assert_eq!(grouped.work(types), OpWork { flop: 240, bytes: Some(24 + 8 * 15 + 40) });
        assert_eq!(grouped.shape(), "m=4 n=5 k=6 groups=8");
    }
}
