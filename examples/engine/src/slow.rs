//! Deliberate slowdowns of operations, and operations that are skipped, for tests of tools that compare runs.

use crate::watch;
use anyhow::{Result, ensure};
use std::str::FromStr;
use std::time::Instant;

/// Operations of a layer that can be slowed down, by the names that the trace has for them.
const IN_LAYERS: [&str; 9] =
    ["rms_norm", "qkv_proj", "rope", "kv_write", "attention", "o_proj", "gate_up_proj", "silu_mul", "down_proj"];
/// Operations outside of layers. The norm before `lm_head` has the name of those in layers.
const OUTSIDE: [&str; 5] = ["schedule", "gather_inputs", "embed", "lm_head", "sample"];
/// Operations of a layer that can be skipped: their results have the shapes of their inputs.
const SKIPPABLE: [&str; 4] = ["rope", "kv_write", "attention", "silu_mul"];
/// The largest factor. It keeps a mistyped one from blocking the program for hours.
const FACTOR_MAX: f64 = 1000.0;

/// One value of `--slow`: `OP=FACTOR` or `OP@LAYER=FACTOR`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    op: &'static str,
    /// The only layer that is slowed down.
    layer: Option<usize>,
    /// At least 1, or 0 if the operation is skipped.
    factor: f64,
}

/// The slowdowns of one layer, or of everything outside of layers.
#[derive(Clone, Debug, Default)]
pub struct Slowdowns {
    factors: Vec<(&'static str, f64)>,
}

/// Ends after a multiple of its age: on drop, it waits until that has passed.
///
/// Create it after the probe of the operation, so that it is dropped before it and its wait is part of the operation.
#[derive(Debug)]
pub struct Delay {
    begin: Instant,
    factor: f64,
}

impl Slowdowns {
    /// Selects the slowdowns of a layer.
    pub fn of_layer(all: &[Slowdown], layer: usize) -> Self {
        Self::select(all, |slow| slow.layer.is_none_or(|only| only == layer))
    }

    /// Selects the slowdowns outside of layers.
    pub fn outside(all: &[Slowdown]) -> Self {
        Self::select(all, |slow| slow.layer.is_none())
    }

    fn select(all: &[Slowdown], applies: impl Fn(&Slowdown) -> bool) -> Self {
        // The last one is found first.
        let factors = all.iter().rev().filter(|slow| applies(slow)).map(|slow| (slow.op, slow.factor));
        Self { factors: factors.collect() }
    }

    /// Slows an operation down until the result is dropped, if its slowdown was requested.
    pub fn op(&self, name: &str) -> Option<Delay> {
        let factor = self.factor(name).filter(|&factor| factor > 0.0)?;
        Some(Delay { begin: watch::now(), factor })
    }

    /// Returns true if an operation is skipped: its input is its result. The tokens are then not those of the model.
    pub fn skips(&self, name: &str) -> bool {
        self.factor(name) == Some(0.0)
    }

    fn factor(&self, name: &str) -> Option<f64> {
        self.factors.iter().find(|(op, _)| *op == name).map(|(_, factor)| *factor)
    }
}

impl Drop for Delay {
    /// Computes, as a slower operation would, and does not sleep: the scheduler of the system would add to the time.
    fn drop(&mut self) {
        let end = self.begin + self.begin.elapsed().mul_f64(self.factor);
        while watch::now() < end {
            std::hint::spin_loop();
        }
    }
}

impl FromStr for Slowdown {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, factor) = text.split_once('=').ok_or("expected OP=FACTOR or OP@LAYER=FACTOR")?;
        let (op, layer) = match place.split_once('@') {
            Some((op, layer)) => (op, Some(parse_layer(layer)?)),
            None => (place, None),
        };
        let slowdown = Self { op: known(op, layer.is_some())?, layer, factor: parse_factor(factor)? };
        match slowdown.factor == 0.0 && !SKIPPABLE.contains(&slowdown.op) {
            true => Err(format!("expected one of {} with the factor 0, found `{op}`", SKIPPABLE.join(", "))),
            false => Ok(slowdown),
        }
    }
}

/// Checks that the model has the layers of the slowdowns.
pub fn check_layers(all: &[Slowdown], n_layers: usize) -> Result<()> {
    for Slowdown { op, layer, .. } in all {
        let is_there = layer.is_none_or(|layer| layer < n_layers);
        ensure!(is_there, "--slow {op}@{}: expected a layer below {n_layers}", layer.unwrap_or_default());
    }
    Ok(())
}

fn parse_layer(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("expected the number of a layer after `@`, found `{text}`"))
}

fn parse_factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (1.0..=FACTOR_MAX).contains(&factor) || factor == 0.0 => Ok(factor.abs()),
        Ok(factor) if factor < 1.0 => {
            Err(format!("expected a factor of at least 1, or 0 to skip the operation, found {factor}"))
        }
        _ => Err(format!("expected a factor from 1 to {FACTOR_MAX}, found `{text}`")),
    }
}

/// The operation of this name. Only operations of layers are known if the slowdown is limited to a layer.
fn known(name: &str, is_in_layer: bool) -> Result<&'static str, String> {
    let (kind, outside): (_, &[_]) =
        if is_in_layer { ("an operation of a layer", &[]) } else { ("an operation", &OUTSIDE) };
    let names: Vec<&'static str> = IN_LAYERS.iter().chain(outside).copied().collect();
    let found = names.iter().find(|op| **op == name).copied();
    found.ok_or_else(|| format!("expected {kind} ({}), found `{name}`", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parsed(text: &str) -> Slowdown {
        text.parse().unwrap()
    }

    #[test]
    fn a_slowdown_has_an_operation_a_factor_and_perhaps_a_layer() {
        assert_eq!(parsed("qkv_proj=1.5"), Slowdown { op: "qkv_proj", layer: None, factor: 1.5 });
        assert_eq!(parsed("attention@3=2"), Slowdown { op: "attention", layer: Some(3), factor: 2.0 });
        assert_eq!(parsed("sample=1").factor, 1.0);
    }

    #[test]
    fn an_invalid_slowdown_is_explained() {
        let cases = [
            ("attention", "expected OP=FACTOR or OP@LAYER=FACTOR"),
            ("softmax=2", "expected an operation (rms_norm, qkv_proj, rope, "),
            ("softmax=2", "lm_head, sample), found `softmax`"),
            ("lm_head@0=2", "silu_mul, down_proj), found `lm_head`"),
            ("rope@first=2", "expected the number of a layer after `@`, found `first`"),
            ("rope=0.5", "expected a factor of at least 1, or 0 to skip the operation, found 0.5"),
            ("lm_head=0", "expected one of rope, kv_write, attention, silu_mul with the factor 0, found `lm_head`"),
            ("rope=-1", "at least 1"),
            ("rope=nan", "expected a factor from 1 to 1000, found `nan`"),
            ("rope=inf", "from 1 to 1000"),
            ("rope=", "from 1 to 1000, found ``"),
        ];
        for (text, wrong) in cases {
            let complaint = text.parse::<Slowdown>().unwrap_err();
            assert!(complaint.contains(wrong), "{text}: {complaint}");
        }
    }

    #[test]
    fn the_last_slowdown_of_an_operation_applies() {
        let all = ["rope=2", "rope@1=3", "rms_norm=4"].map(parsed);
        let factor = |slow: Slowdowns, op| slow.op(op).map(|delay| delay.factor);
        assert_eq!(factor(Slowdowns::of_layer(&all, 0), "rope"), Some(2.0));
        assert_eq!(factor(Slowdowns::of_layer(&all, 1), "rope"), Some(3.0));
        assert_eq!(factor(Slowdowns::outside(&all), "rope"), Some(2.0));
        assert_eq!(factor(Slowdowns::of_layer(&all, 1), "attention"), None);
    }

    #[test]
    fn an_operation_with_the_factor_0_is_skipped() {
        let slow = Slowdowns::outside(&["rope=0", "attention=2"].map(parsed));
        assert!(slow.skips("rope") && slow.op("rope").is_none());
        assert!(!slow.skips("attention") && !slow.skips("silu_mul"));
    }

    #[test]
    fn a_layer_that_the_model_does_not_have_is_refused() {
        let all = ["rope=2", "rope@3=3"].map(parsed);
        check_layers(&all, 4).unwrap();
        assert_eq!(check_layers(&all, 3).unwrap_err().to_string(), "--slow rope@3: expected a layer below 3");
    }

    #[test]
    fn a_delay_waits_for_the_rest_of_its_time() {
        let age = Duration::from_millis(3);
        let begin = watch::now().checked_sub(age).unwrap();
        drop(Delay { begin, factor: 3.0 });
        assert!(begin.elapsed() >= age * 3);
    }
}
