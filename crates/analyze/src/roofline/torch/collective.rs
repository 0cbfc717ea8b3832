//! Collectives.

use super::attempt::{Attempt, Context};
use super::inputs::Inputs;
use crate::kineto::GLOO_PREFIX;
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::work::{Collective, CollectiveKind, DataType, OpKind, OpWork};

/// Models a collective of gloo, which runs on the host: its only input is the tensor that is sent.
pub(super) fn model(name: &str, inputs: &Inputs, context: &Context) -> Attempt {
    let kind = CollectiveKind::of_name(name.strip_prefix(GLOO_PREFIX)?)?;
    Some(of_inputs(kind, inputs, context))
}

fn of_inputs(kind: CollectiveKind, inputs: &Inputs, context: &Context) -> Result<Modelled, Missing> {
    let tensor = inputs.tensor(0).ok_or(Missing::UnexpectedShapes)?;
    let data_type = tensor.data_type.ok_or(Missing::UnexpectedShapes)?;
    let ranks = context.ranks.ok_or(Missing::NoRanks)?;
    let of_one = data_type.bytes(tensor.elements());
    let bytes = if kind == CollectiveKind::AllGather { of_one.saturating_mul(ranks) } else { of_one };
    Ok(modelled(Collective { kind, bytes, ranks }, data_type))
}

/// Models a kernel that states the collective, its elements, their type and the number of ranks.
pub(in crate::roofline) fn kernel_collective(
    collective: &str,
    data_type: &str,
    [elements_in, elements_out, ranks]: [u64; 3],
) -> Result<Modelled, Missing> {
    let kind = CollectiveKind::of_name(collective).ok_or(Missing::UnknownOperation)?;
    let data_type = DataType::of_name(data_type).ok_or(Missing::UnexpectedShapes)?;
    let elements = if kind == CollectiveKind::AllGather { elements_out } else { elements_in };
    Ok(modelled(Collective { kind, bytes: data_type.bytes(elements), ranks }, data_type))
}

fn modelled(collective: Collective, data_type: DataType) -> Modelled {
    let work: OpWork = collective.work();
    Modelled { kind: OpKind::Collective, data_type: Some(data_type), shape: collective.shape(), work }
}
