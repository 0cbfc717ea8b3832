//! Finds the operations of a trace and models them.

use super::missing::Missing;
use super::modelled::Modelled;
use super::own::{self, ShapeArgs};
use super::step_sums::StepSums;
use super::torch::{self, Context, Inputs};
use super::work::{OpKind, OpWork};
use crate::captures::ReplayedOperations;
use crate::figures::labels::Labels;
use crate::kineto::{ANNOTATION, COLLECTIVE_NAME, GLOO_PREFIX, INPUT_ARGS, KERNEL, MEMCPY, MEMSET, OPERATIONS};
use ferrum_trace_model::vocab::{Op, shape};
use ferrum_trace_model::{ArgColumn, ArgValue, Order, StringId, Trace};
use hashbrown::HashMap;

/// Arguments of kernels that communicate: elements sent, elements received, number of ranks, type of the elements.
const COLLECTIVE_ARGS: [&str; 4] = ["In msg nelems", "Out msg nelems", "Group size", "dtype"];

/// Returns the arguments that describe operations.
pub(super) fn args() -> impl Iterator<Item = &'static str> {
    INPUT_ARGS.into_iter().chain(COLLECTIVE_ARGS).chain([COLLECTIVE_NAME]).chain(shape::ALL)
}

/// A modelled operation with one shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Model {
    /// Name of the operation.
    pub(super) name: StringId,
    /// Strides of its inputs, if recorded: they change its speed.
    pub(super) strides: Option<ArgValue>,
    /// Its work.
    pub(super) modelled: Modelled,
}

/// Result for one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is not an operation.
    NoOperation,
    /// It has the model with this index.
    Modelled(u32),
    /// Its work is not known.
    Missing(Missing),
}

/// The operations of a trace.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// Distinct models.
    pub(super) models: Vec<Model>,
    /// Result for each slice.
    pub(super) of_slice: Vec<Outcome>,
    /// Result for each operation of a replayed graph.
    pub(super) of_replayed: Vec<Outcome>,
}

impl Operations {
    /// Models the operations of a trace. `steps` has the number of the step of each slice, from 1, and `sums` the sums
    /// that their marks state.
    pub(super) fn of(
        trace: &Trace,
        replayed: &ReplayedOperations,
        steps: &Labels,
        sums: &[Option<StepSums>],
        ranks: Option<u64>,
    ) -> Self {
        let mut modeller = Modeller::of(trace, ranks);
        let step_sums = |slice: usize| {
            let number = steps.number(slice as u32)?;
            sums.get(number.checked_sub(1)? as usize).copied().flatten()
        };
        let of_slice = (0..trace.slices.len()).map(|slice| modeller.outcome(slice, || step_sums(slice))).collect();
        let of_replayed = replayed.operations.iter().map(|it| {
            let key = (it.name, it.name, it.inputs.to_vec(), None);
            modeller.outcome_of(Category::Torch, key, || step_sums(it.first_work as usize))
        });
        let of_replayed = of_replayed.collect();
        Self { models: modeller.models, of_slice, of_replayed }
    }
}

/// Kind of slices by their category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    /// Operations of torch.
    Torch,
    /// Annotations of torch, among which are collectives of gloo.
    Annotation,
    /// Kernels, which may state a collective.
    Kernel,
    /// Copies and memsets, which state their bytes.
    Copy,
    /// Operations of this recorder.
    Own(Op),
}

/// Values that determine the model of an operation.
type Key = (StringId, StringId, Vec<Option<ArgValue>>, Option<StepSums>);

/// Models slices; equal ones are modelled once.
struct Modeller<'a> {
    trace: &'a Trace,
    ranks: Option<u64>,
    categories: HashMap<StringId, Category>,
    inputs: [Option<&'a ArgColumn>; 4],
    collective: Vec<Option<&'a ArgColumn>>,
    shapes: Vec<(&'static str, &'a ArgColumn)>,
    bytes: Option<&'a ArgColumn>,
    known: HashMap<Key, Outcome>,
    known_models: HashMap<Model, u32>,
    models: Vec<Model>,
}

impl<'a> Modeller<'a> {
    fn of(trace: &'a Trace, ranks: Option<u64>) -> Self {
        let column = |key: &str| trace.args.iter().find(|column| column.key == key);
        Self {
            trace,
            ranks,
            categories: categories(trace),
            inputs: INPUT_ARGS.map(column),
            collective: [COLLECTIVE_NAME].into_iter().chain(COLLECTIVE_ARGS).map(column).collect(),
            shapes: shape::ALL.into_iter().filter_map(|key| Some((key, column(key)?))).collect(),
            bytes: column(shape::BYTES),
            known: HashMap::new(),
            known_models: HashMap::new(),
            models: Vec::new(),
        }
    }

    fn outcome(&mut self, slice: usize, sums: impl Fn() -> Option<StepSums>) -> Outcome {
        let slices = &self.trace.slices;
        let (name, category, order) = (slices.name[slice], slices.category[slice], slices.order[slice]);
        let Some(&kind) = self.categories.get(&category) else { return Outcome::NoOperation };
        self.outcome_of(kind, (name, category, self.values(kind, order), None), sums)
    }

    /// Returns the result for an operation. The sums of the key are added to it if the operation depends on them.
    fn outcome_of(&mut self, kind: Category, mut key: Key, sums: impl Fn() -> Option<StepSums>) -> Outcome {
        if kind == Category::Torch && self.trace.strings.get(key.0).contains("attention") {
            key.3 = sums();
        }
        if let Some(&outcome) = self.known.get(&key) {
            return outcome;
        }
        let outcome = match self.model(kind, &key) {
            None => Outcome::NoOperation,
            Some(Err(missing)) => Outcome::Missing(missing),
            Some(Ok(modelled)) => Outcome::Modelled(self.intern(kind, &key, modelled)),
        };
        self.known.insert(key, outcome);
        outcome
    }

    /// Returns the arguments on which the model of a slice depends.
    fn values(&self, kind: Category, order: Order) -> Vec<Option<ArgValue>> {
        let value = |column: &Option<&ArgColumn>| column.and_then(|column| column.of(order));
        match kind {
            Category::Torch | Category::Annotation => self.inputs.iter().map(value).collect(),
            Category::Kernel => self.collective.iter().map(value).collect(),
            Category::Copy => vec![value(&self.bytes)],
            Category::Own(_) => self.shapes.iter().map(|(_, column)| column.of(order)).collect(),
        }
    }

    /// Models a slice. Returns `None` if it is not an operation.
    fn model(&self, kind: Category, (name, _, values, sums): &Key) -> Option<Result<Modelled, Missing>> {
        let name = self.trace.strings.get(*name);
        match kind {
            Category::Torch => {
                let context = Context { sums: *sums, ranks: self.ranks };
                Some(torch::model(name, &self.parse(values), &context).unwrap_or(Err(Missing::UnknownOperation)))
            }
            Category::Annotation if name.starts_with(GLOO_PREFIX) => {
                torch::model(name, &self.parse(values), &Context { sums: None, ranks: self.ranks })
            }
            Category::Annotation => None,
            Category::Kernel => self.collective(values),
            Category::Copy => self.copy(name, values).map(Ok),
            Category::Own(op) => Some(own::model(op, name, &OwnArgs { modeller: self, values })),
        }
    }

    fn parse(&self, values: &[Option<ArgValue>]) -> Inputs {
        let text = |place: usize| self.text(values.get(place).copied().flatten()).unwrap_or_default();
        Inputs::parse(&text(0), &text(1), &text(2))
    }

    fn text(&self, value: Option<ArgValue>) -> Option<String> {
        Some(value?.content(&self.trace.strings).into_owned())
    }

    fn number(&self, value: Option<ArgValue>) -> Option<u64> {
        value?.number(&self.trace.strings)
    }

    fn collective(&self, values: &[Option<ArgValue>]) -> Option<Result<Modelled, Missing>> {
        let [name, sent, received, ranks, data_type] = *values else { return None };
        let numbers = [self.number(sent)?, self.number(received)?, self.number(ranks)?];
        Some(torch::kernel_collective(&self.text(name)?, &self.text(data_type)?, numbers))
    }

    /// Models a copy. A copy within a device reads and writes its bytes.
    fn copy(&self, name: &str, values: &[Option<ArgValue>]) -> Option<Modelled> {
        let bytes = self.number(values.first().copied().flatten())?;
        let (kind, factor) = match name {
            name if name.contains("DtoD") => (OpKind::Copy, 2),
            name if name.starts_with("Memset") => (OpKind::Copy, 1),
            _ => (OpKind::Transfer, 1),
        };
        let work = OpWork { flop: 0, bytes: Some(bytes.saturating_mul(factor)) };
        Some(Modelled { kind, data_type: None, shape: format!("bytes={bytes}"), work })
    }

    fn intern(&mut self, kind: Category, (name, _, values, _): &Key, modelled: Modelled) -> u32 {
        let strides = if kind == Category::Torch { values.get(3).copied().flatten() } else { None };
        let model = Model { name: *name, strides, modelled };
        let models = &mut self.models;
        *self.known_models.entry(model).or_insert_with_key(|new| {
            models.push(new.clone());
            models.len() as u32 - 1
        })
    }
}

/// Returns the kinds of the categories of a trace.
fn categories(trace: &Trace) -> HashMap<StringId, Category> {
    let torch = OPERATIONS.map(|text| (text, Category::Torch));
    let others = [
        (ANNOTATION, Category::Annotation),
        (KERNEL, Category::Kernel),
        (MEMCPY, Category::Copy),
        (MEMSET, Category::Copy),
    ];
    let own = Op::ALL.iter().map(|&op| (op.as_str(), Category::Own(op)));
    let all = torch.into_iter().chain(others).chain(own);
    all.filter_map(|(text, kind)| Some((trace.strings.find(text)?, kind))).collect()
}

/// Arguments of an operation of this recorder.
struct OwnArgs<'a> {
    modeller: &'a Modeller<'a>,
    values: &'a [Option<ArgValue>],
}

impl ShapeArgs for OwnArgs<'_> {
    fn text(&self, key: &str) -> Option<String> {
        let place = self.modeller.shapes.iter().position(|(known, _)| *known == key)?;
        self.modeller.text(self.values.get(place).copied().flatten())
    }
}
