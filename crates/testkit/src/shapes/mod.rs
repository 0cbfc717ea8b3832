//! Generated traces that are expensive to read: deep nesting, many names, many tracks, and so on, in any size.
//!
//! Every shape has a size `n`; its file is about twice as long for `2 * n`. Tests use a shape at a size that a command
//! with quadratic growth does not finish in reasonable time; `cargo xtask growth` doubles each of them and compares.

mod async_shapes;
mod document_shapes;
mod engine_shapes;
mod slice_shapes;

use std::io::{self, Write};

/// A kind of trace.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The name of the shape, in lowercase with hyphens.
    pub name: &'static str,
    write: fn(&mut List<'_>, u64) -> io::Result<()>,
}

/// All shapes.
pub const SHAPES: [&[Shape]; 4] =
    [slice_shapes::SHAPES, async_shapes::SHAPES, engine_shapes::SHAPES, document_shapes::SHAPES];

impl Shape {
    /// Returns all shapes.
    pub fn all() -> impl Iterator<Item = Self> {
        SHAPES.into_iter().flatten().copied()
    }

    /// Returns the shape with this name.
    ///
    /// # Panics
    ///
    /// If no shape has this name.
    #[track_caller]
    pub fn named(name: &str) -> Self {
        Self::all().find(|shape| shape.name == name).unwrap_or_else(|| panic!("unknown shape `{name}`"))
    }

    /// Writes a trace of this shape as Chrome trace JSON, an object with a list of events.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write(self, out: &mut dyn Write, n: u64) -> io::Result<()> {
        let mut list = List { out, n_fields: 0, n_events: 0 };
        (self.write)(&mut list, n)?;
        list.finish()
    }

    /// Returns a trace of this shape.
    pub fn trace(self, n: u64) -> Vec<u8> {
        let mut json = Vec::new();
        self.write(&mut json, n).unwrap_or_else(|error| panic!("cannot write to memory: {error}"));
        json
    }
}

/// Writes the object of a trace: fields, then the list of events.
struct List<'a> {
    out: &'a mut dyn Write,
    n_fields: u64,
    n_events: u64,
}

impl List<'_> {
    /// Writes a field of the object around the list. Call it before the first event.
    fn field(&mut self, key: &str, value: &str) -> io::Result<()> {
        let separator = if self.n_fields == 0 { "{" } else { ",\n" };
        self.n_fields += 1;
        write!(self.out, "{separator}\"{key}\":{value}")
    }

    /// Writes an event; the first one begins the list.
    fn event(&mut self, event: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.begin_if_empty()?;
        let separator = if self.n_events == 0 { "\n" } else { ",\n" };
        self.n_events += 1;
        self.out.write_all(separator.as_bytes())?;
        self.out.write_fmt(event)
    }

    /// Writes an event for each number.
    fn events(&mut self, numbers: impl Iterator<Item = u64>, event: impl Fn(u64) -> String) -> io::Result<()> {
        numbers.map(event).try_for_each(|event| self.event(format_args!("{event}")))
    }

    fn begin_if_empty(&mut self) -> io::Result<()> {
        if self.n_events == 0 { self.field("traceEvents", "[") } else { Ok(()) }
    }

    fn finish(mut self) -> io::Result<()> {
        self.begin_if_empty()?;
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shapes_are_unique_and_their_length_doubles_with_their_size() {
        let names: std::collections::BTreeSet<_> = Shape::all().map(|shape| shape.name).collect();
        assert_eq!(names.len(), Shape::all().count());
        for shape in Shape::all() {
            let [one, two] = [1000, 2000].map(|n| shape.trace(n).len() as f64);
            assert!((1.8..2.3).contains(&(two / one)), "{}: {one} and {two} bytes", shape.name);
        }
    }

    #[test]
    fn every_shape_is_json_with_events() {
        for shape in Shape::all().filter(|shape| shape.name != "damaged-events") {
            let trace: serde_json::Value = serde_json::from_slice(&shape.trace(50)).expect(shape.name);
            assert!(trace["traceEvents"].as_array().is_some_and(|events| !events.is_empty()), "{}", shape.name);
        }
    }
}
