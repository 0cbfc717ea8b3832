//! Generates a trace like those of torch.profiler: nested operators with shapes and types, launches, kernels with long
//! names, flows between them, allocations.

use std::io::{self, Write};

/// Layers of the simulated model.
const LAYERS: u64 = 32;
/// Approximate duration of a launch and its kernel in nanoseconds.
const OPERATOR_NS: u64 = 40_000;

/// An operator of a layer and the kernel that it launches.
struct Operator {
    name: &'static str,
    inner: &'static str,
    kernel: &'static str,
    dims: &'static str,
    types: &'static str,
}

const OPERATORS: &[Operator] = &[
    Operator {
        name: "aten::linear",
        inner: "aten::addmm",
        kernel: "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        dims: "[[16, 559, 1024], [3072, 1024], [3072]]",
        types: r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#,
    },
    Operator {
        name: "aten::scaled_dot_product_attention",
        inner: "aten::_flash_attention_forward",
        kernel: "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false, false, \
                 cutlass::bfloat16_t>, false, true, false, false, true, false, true>(flash::Flash_fwd_params)",
        dims: "[[16, 16, 559, 64], [16, 16, 559, 64], [16, 16, 559, 64], [], [], []]",
        types: r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar", "Scalar"]"#,
    },
    Operator {
        name: "aten::silu",
        inner: "aten::silu",
        kernel: "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel(at::TensorIteratorBase&)\
                 ::{lambda()#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
        dims: "[[16, 559, 2816]]",
        types: r#"["c10::BFloat16"]"#,
    },
    Operator {
        name: "aten::mul",
        inner: "aten::mul",
        kernel: "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<\
                 at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, \
                 at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>",
        dims: "[[16, 559, 1024], [1024]]",
        types: r#"["c10::BFloat16", "c10::BFloat16"]"#,
    },
];

/// Writes a trace of at least `n_bytes`; returns the number of events.
pub(crate) fn write(out: &mut impl Write, n_bytes: u64) -> io::Result<u64> {
    let mut trace = Trace { out, text: String::new(), n_bytes: 0, n_events: 0 };
    trace.raw(HEAD)?;
    let mut n = 0;
    while trace.n_bytes < n_bytes {
        trace.operator(n)?;
        n += 1;
    }
    trace.raw(TAIL)?;
    Ok(trace.n_events + 1)
}

const HEAD: &str = r#"{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "a device", "totalGlobalMem": 85028503552}],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1727743122000000000,
  "traceEvents": [
"#;
const TAIL: &str = r#"  {
    "ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1428625731456.483
  }
  ],
  "traceName": "trace.json"
}
"#;

struct Trace<'a, W> {
    out: &'a mut W,
    text: String,
    n_bytes: u64,
    n_events: u64,
}

impl<W: Write> Trace<'_, W> {
    fn raw(&mut self, text: &str) -> io::Result<()> {
        self.n_bytes += text.len() as u64;
        self.out.write_all(text.as_bytes())
    }

    /// The events of one operator: itself, its callees, a launch, a flow, a kernel.
    fn operator(&mut self, n: u64) -> io::Result<()> {
        let operator = &OPERATORS[(n % OPERATORS.len() as u64) as usize];
        let layer = n / OPERATORS.len() as u64 % LAYERS;
        let start = 1_428_625_731_000_000 + n * OPERATOR_NS;
        let (id, correlation) = (18_434 + n, 675_771 + n);
        let Operator { name, inner, kernel, dims, types } = operator;
        self.text.clear();
        self.cpu_op(name, start, 31_250, id, n, dims, types);
        self.cpu_op(inner, start + 2_113, 26_402, id + 1, n + 1, dims, types);
        self.event(
            "X",
            "cuda_runtime",
            "cudaLaunchKernel",
            (25_286, 25_286, start + 9_001),
            Some(7_913),
            &format!(r#""External id": {id}, "cbid": 211, "correlation": {correlation}"#),
        );
        self.flow("s", correlation, (25_286, 25_286, start + 9_001));
        let about = format!(
            r#""External id": {id}, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {correlation},
      "registers per thread": 32, "shared memory": 49152, "blocks per SM": 16.941177, "warps per SM": 67.764709,
      "grid": [{}, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 56"#,
            17_888 + layer
        );
        self.event("X", "kernel", kernel, (0, 7, start + 20_500), Some(18_112 + n % 977), &about);
        self.flow("f", correlation, (0, 7, start + 20_500));
        let text = std::mem::take(&mut self.text);
        self.raw(&text)?;
        self.text = text;
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one event")]
    fn cpu_op(&mut self, name: &str, start: u64, duration: u64, id: u64, n: u64, dims: &str, types: &str) {
        let about = format!(
            r#""External id": {id}, "Record function id": 0, "Sequence number": {n}, "Fwd thread id": 0,
      "Concrete Inputs": ["", "", "1", "False"], "Input type": {types},
      "Input Strides": [[572416, 1024, 1], [1024, 1], [1]], "Input Dims": {dims}, "Ev Idx": {n}"#
        );
        self.event("X", "cpu_op", name, (25_286, 25_286, start), Some(duration), &about);
    }

    fn event(
        &mut self,
        phase: &str,
        category: &str,
        name: &str,
        (pid, tid, start): (u64, u64, u64),
        duration: Option<u64>,
        args: &str,
    ) {
        use std::fmt::Write as _;
        let micros = |nanos: u64| format!("{}.{:03}", nanos / 1000, nanos % 1000);
        let duration = duration.map_or_else(String::new, |duration| format!(", \"dur\": {}", micros(duration)));
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            "  {{\n    \"ph\": \"{phase}\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid},\n    \
             \"ts\": {}{duration},\n    \"args\": {{\n      {args}\n    }}\n  }},\n",
            micros(start)
        );
        self.n_events += 1;
    }

    fn flow(&mut self, phase: &str, id: u64, (pid, tid, start): (u64, u64, u64)) {
        use std::fmt::Write as _;
        let binding = if phase == "f" { ", \"bp\": \"e\"" } else { "" };
        let _ = write!(
            self.text,
            "  {{\n    \"ph\": \"{phase}\", \"id\": {id}, \"pid\": {pid}, \"tid\": {tid}, \"ts\": {}.{:03},\n    \"cat\": \
             \"ac2g\", \"name\": \"ac2g\"{binding}\n  }},\n",
            start / 1000,
            start % 1000
        );
        self.n_events += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_is_json_with_the_returned_number_of_events() {
        let mut file = Vec::new();
        let n_events = write(&mut file, 100_000).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&file).unwrap();
        assert_eq!(trace["traceEvents"].as_array().unwrap().len() as u64, n_events);
        assert!((100_000..120_000).contains(&file.len()));
    }
}
