//! Reader for a column of arguments.

use ferrum_trace_model::{ArgColumn, ArgValue, Order, Trace};

/// Reads a column of arguments along with slices, which mostly have the same order.
pub(crate) struct ArgReader<'a> {
    column: Option<&'a ArgColumn>,
    place: usize,
}

impl<'a> ArgReader<'a> {
    pub(crate) fn of(trace: &'a Trace, key: &str) -> Self {
        Self { column: trace.args.iter().find(|column| column.key == key), place: 0 }
    }

    /// Returns the value of the event with this position in the file.
    pub(crate) fn get(&mut self, order: Order) -> Option<ArgValue> {
        let column = self.column?;
        if self.place > 0 && column.order[self.place - 1] >= order {
            self.place = column.order.partition_point(|&earlier| earlier < order);
        }
        while *column.order.get(self.place)? < order {
            self.place += 1;
        }
        (column.order[self.place] == order).then(|| column.value[self.place])
    }
}
