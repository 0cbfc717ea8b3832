//! Convolutions.

use super::counts::{product, sum};
use super::data_type::DataType;
use super::op_work::OpWork;

/// A convolution of any number of dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Convolution {
    /// Shape of the input: batch, channels, and the spatial dimensions.
    pub(crate) input: Vec<u64>,
    /// Shape of the weight: output channels, input channels of a group, and the spatial dimensions. Of a transposed
    /// convolution: input channels first, output channels of a group second.
    pub(crate) weight: Vec<u64>,
    /// Stride by dimension.
    pub(crate) stride: Vec<u64>,
    /// Padding by dimension.
    pub(crate) padding: Vec<u64>,
    /// Dilation by dimension.
    pub(crate) dilation: Vec<u64>,
    /// Additional elements of the output of a transposed convolution, by dimension; `None` if it is not transposed.
    pub(crate) transposed: Option<Vec<u64>>,
    /// Number of groups of channels.
    pub(crate) groups: u64,
}

impl Convolution {
    /// Returns two operations for each element of the output (of the input if transposed) and weight that it depends
    /// on; input, weight and output are moved once. `None` if the shapes do not fit together.
    pub(crate) fn work(&self, data_type: Option<DataType>) -> Option<OpWork> {
        let output = self.output()?;
        let outer = if self.transposed.is_some() { &self.input } else { &output };
        let flop = product(&[2, product(self.weight.get(1..)?), product(outer)]);
        let elements = sum(&[product(&self.input), product(&self.weight), product(&output)]);
        Some(OpWork { flop, bytes: data_type.map(|it| it.bytes(elements)) })
    }

    /// Returns the shape of the output.
    fn output(&self) -> Option<Vec<u64>> {
        let (&batch, &first, &second) = (self.input.first()?, self.weight.first()?, self.weight.get(1)?);
        let n_dims = self.input.len().checked_sub(2).filter(|&n_dims| self.weight.len() == n_dims + 2)?;
        let channels = if self.transposed.is_some() { second.saturating_mul(self.groups) } else { first };
        let spatial = (0..n_dims).map(|dim| self.output_size(dim));
        [Some(batch), Some(channels)].into_iter().chain(spatial).collect()
    }

    /// Returns the size of the output in one dimension.
    fn output_size(&self, dim: usize) -> Option<u64> {
        let (&input, &kernel) = (self.input.get(dim + 2)?, self.weight.get(dim + 2)?);
        let [stride, padding, dilation] = [&self.stride, &self.padding, &self.dilation].map(|list| of_dim(list, dim));
        let (stride, padding, dilation) = (stride?, padding?, dilation?);
        let reach = dilation.saturating_mul(kernel.checked_sub(1)?);
        let both_sides = padding.saturating_mul(2);
        match &self.transposed {
            None => {
                input.saturating_add(both_sides).checked_sub(reach)?.checked_sub(1)?.checked_div(stride)?.checked_add(1)
            }
            Some(extra) => {
                let spread = input.checked_sub(1)?.saturating_mul(stride);
                sum(&[spread, reach, of_dim(extra, dim)?, 1]).checked_sub(both_sides)
            }
        }
    }

    /// Returns its shape as text.
    pub(crate) fn shape(&self) -> String {
        let list = |list: &[u64]| list.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        let transposed = if self.transposed.is_some() { " transposed" } else { "" };
        let groups = if self.groups == 1 { String::new() } else { format!(" groups={}", self.groups) };
        format!(
            "input={} weight={} stride={}{groups}{transposed}",
            list(&self.input),
            list(&self.weight),
            list(&self.stride)
        )
    }
}

/// Returns the element of a dimension. A list with one element applies to all dimensions.
fn of_dim(list: &[u64], dim: usize) -> Option<u64> {
    list.get(dim).or_else(|| list.first().filter(|_| list.len() == 1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convolution(stride: u64, padding: u64) -> Convolution {
        Convolution {
            input: vec![2, 4, 10, 10],
            weight: vec![8, 4, 3, 3],
            stride: vec![stride],
            padding: vec![padding, padding],
            dilation: vec![1, 1],
            transposed: None,
            groups: 1,
        }
    }

    #[test]
    fn the_output_depends_on_stride_and_padding() {
        assert_eq!(convolution(1, 1).output(), Some(vec![2, 8, 10, 10]));
        assert_eq!(convolution(2, 0).output(), Some(vec![2, 8, 4, 4]));
        let work = convolution(1, 1).work(Some(DataType::Fp32)).unwrap();
        assert_eq!(work.flop, 2 * (4 * 9) * (2 * 8 * 100));
        assert_eq!(work.bytes, Some(4 * (2 * 4 * 100 + 8 * 4 * 9 + 2 * 8 * 100)));
    }

    #[test]
    fn a_transposed_convolution_spreads_its_input() {
        let up = Convolution { weight: vec![4, 8, 3, 3], transposed: Some(vec![1]), ..convolution(2, 1) };
        assert_eq!(up.output(), Some(vec![2, 8, 20, 20]));
        assert_eq!(up.work(None).unwrap().flop, 2 * (8 * 9) * (2 * 4 * 100));
    }

    #[test]
    fn shapes_that_do_not_fit_have_no_work() {
        assert_eq!(convolution(0, 0).work(None), None);
        assert_eq!(Convolution { input: vec![2, 4, 1, 1], ..convolution(1, 0) }.work(None), None);
        assert_eq!(Convolution { input: vec![2], ..convolution(1, 0) }.work(None), None);
    }
}
