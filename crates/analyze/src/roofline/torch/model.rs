//! Finds the formula of an operation.

use super::attempt::{Attempt, Context};
use super::inputs::Inputs;
use super::{attention, collective, elementwise, gemm, moe, norm};
use crate::roofline::missing::Missing;

/// Models an operation with these inputs. `None` if there is no formula for its name.
pub(in crate::roofline) fn model(name: &str, inputs: &Inputs, context: &Context) -> Attempt {
    let attempt = gemm::model(name, inputs)
        .or_else(|| attention::model(name, inputs, context))
        .or_else(|| norm::model(name, inputs))
        .or_else(|| elementwise::model(name, inputs))
        .or_else(|| moe::model(name, inputs))
        .or_else(|| collective::model(name, inputs, context))?;
    Some(if inputs.is_empty() { Err(Missing::NoShapes) } else { attempt })
}
