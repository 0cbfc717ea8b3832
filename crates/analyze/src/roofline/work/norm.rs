//! Norms.

use super::counts::{product, sum};
use super::data_type::DataType;
use super::op_work::OpWork;

/// A layer norm or group norm: it computes mean and variance of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerNorm {
    /// Number of elements.
    pub(crate) elements: u64,
    /// Number of weights.
    pub(crate) channels: u64,
}

/// A batch norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchNorm {
    /// Number of elements.
    pub(crate) elements: u64,
    /// Number of channels.
    pub(crate) channels: u64,
    /// True if it computes mean and variance, false if it reads them.
    pub(crate) is_training: bool,
}

/// An RMS norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RmsNorm {
    /// Number of elements.
    pub(crate) elements: u64,
    /// Number of weights, which is the length of a row.
    pub(crate) channels: u64,
    /// True if the input is added to a residual first, which is written too.
    pub(crate) has_residual: bool,
}

impl LayerNorm {
    /// Returns the work of a batch norm that computes its statistics.
    pub(crate) fn work(&self, data_type: Option<DataType>) -> OpWork {
        let &Self { elements, channels } = self;
        BatchNorm { elements, channels, is_training: true }.work(data_type)
    }
}

impl BatchNorm {
    /// Returns a multiplication and an addition for each element, six operations for each channel, and three for each
    /// element if mean and variance are computed. Input and output, weight, bias, mean and variance are moved once,
    /// and mean and variance once more if they are updated.
    pub(crate) fn work(&self, data_type: Option<DataType>) -> OpWork {
        let (per_element, tensors) = if self.is_training { (5, 6) } else { (2, 4) };
        let flop = sum(&[product(&[per_element, self.elements]), product(&[6, self.channels])]);
        let moved = sum(&[product(&[2, self.elements]), product(&[tensors, self.channels])]);
        OpWork { flop, bytes: data_type.map(|it| it.bytes(moved)) }
    }
}

impl RmsNorm {
    /// Returns four operations for each element (square, sum, two multiplications), two for each row, and one more for
    /// each element if there is a residual. Input, output and weight are moved once; a residual is read and written.
    pub(crate) fn work(&self, data_type: Option<DataType>) -> OpWork {
        let rows = self.elements.checked_div(self.channels).unwrap_or(0);
        let (per_element, tensors) = if self.has_residual { (5, 4) } else { (4, 2) };
        let flop = sum(&[product(&[per_element, self.elements]), product(&[2, rows])]);
        let moved = sum(&[product(&[tensors, self.elements]), self.channels]);
        OpWork { flop, bytes: data_type.map(|it| it.bytes(moved)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_cost_three_operations_an_element() {
        let inference = BatchNorm { elements: 1000, channels: 10, is_training: false }.work(Some(DataType::Fp32));
        assert_eq!(inference, OpWork { flop: 2060, bytes: Some(4 * (2000 + 40)) });
        let layer = LayerNorm { elements: 1000, channels: 10 }.work(Some(DataType::Bf16));
        assert_eq!(layer, OpWork { flop: 5060, bytes: Some(2 * (2000 + 60)) });
    }

    #[test]
    fn a_residual_is_read_and_written() {
        let plain = RmsNorm { elements: 1000, channels: 100, has_residual: false };
        assert_eq!(plain.work(Some(DataType::Bf16)), OpWork { flop: 4020, bytes: Some(2 * 2100) });
        let with_residual = RmsNorm { has_residual: true, ..plain };
        assert_eq!(with_residual.work(Some(DataType::Bf16)), OpWork { flop: 5020, bytes: Some(2 * 4100) });
        assert_eq!(RmsNorm { channels: 0, ..plain }.work(None).flop, 4000);
    }
}
