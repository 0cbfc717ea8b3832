//! Properties that marks state in their names, as arguments.

use super::find::find;
use super::mark::{Mark, StepSource};
use ferrum_trace_model::vocab::{Phase, step};
use ferrum_trace_model::{ArgColumn, ArgValue, Order, Trace};

/// Adds the phase, the batch size and the token counts that marks of other tools state in their names to the arguments
/// of these marks. Only arguments that are loaded are extended, so steps of all tools are selected and grouped alike.
pub fn add_mark_args(trace: &mut Trace) {
    let marks: Vec<(Order, Mark)> = find(trace)
        .steps
        .iter()
        .filter(|found| found.mark.source != StepSource::Ferrum)
        .map(|found| (trace.slices.order[found.slice as usize], found.mark))
        .collect();
    let Trace { strings, args, .. } = trace;
    for column in args {
        let mut added: Vec<(Order, ArgValue)> = Vec::new();
        for &(order, mark) in &marks {
            if let Some(text) = stated(&mark, &column.key).filter(|_| column.of(order).is_none()) {
                added.push((order, ArgValue::intern(&text, strings)));
            }
        }
        insert(column, added);
    }
}

/// Returns the property that an argument of this name would have.
fn stated(mark: &Mark, key: &str) -> Option<String> {
    let count = |count: Option<u64>| count.map(|count| count.to_string());
    match key {
        step::PHASE => mark.phase.map(|phase: Phase| phase.as_str().to_owned()),
        step::BATCH => count(mark.batch),
        step::PREFILL_TOKENS => count(mark.prefill_tokens),
        step::DECODE_TOKENS => count(mark.decode_tokens),
        step::CONTEXT_TOKENS => count(mark.context_tokens),
        _ => None,
    }
}

/// Inserts values into a column, which stays sorted by position.
fn insert(column: &mut ArgColumn, added: Vec<(Order, ArgValue)>) {
    if added.is_empty() {
        return;
    }
    let mut all: Vec<(Order, ArgValue)> = column.order.drain(..).zip(column.value.drain(..)).chain(added).collect();
    all.sort_unstable_by_key(|&(order, _)| order);
    (column.order, column.value) = all.into_iter().unzip();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;

    #[test]
    fn names_of_marks_become_arguments() {
        let mut trace = test_traces::trace(&[
            ("1", "1", "user_annotation", "step[DECODE bs=64]", 0, 10),
            ("1", "1", "cpu_op", "aten::mm", 2, 4),
            ("1", "1", "user_annotation", "step[EXTEND bs=2 toks=9]", 10, 20),
        ]);
        let other = ArgValue::Text(trace.strings.intern("other"));
        let column = |key: &str, values: &[(u32, ArgValue)]| {
            let (order, value) = values.iter().copied().unzip();
            ArgColumn { key: key.to_owned(), order, value }
        };
        trace.args = vec![column("batch", &[(1, other), (2, other)]), column("phase", &[]), column("m", &[(1, other)])];
        add_mark_args(&mut trace);
        let texts = |n: usize| {
            let ArgColumn { order, value, .. } = &trace.args[n];
            let text = |(&order, &value): (&u32, &ArgValue)| format!("{order} {}", value.content(&trace.strings));
            order.iter().zip(value).map(text).collect::<Vec<_>>()
        };
        assert_eq!(texts(0), ["0 64", "1 other", "2 other"]);
        assert_eq!(texts(1), ["0 decode", "2 prefill"]);
        assert_eq!(texts(2), ["1 other"]);
    }
}
