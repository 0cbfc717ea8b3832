//! Graphs of a trace that was recorded during their capture.

use crate::figures::layer_search::{LAYER_ARGS, NONE, layer_of_each};
use crate::kineto::{INPUT_ARGS, OPERATIONS, RUNTIMES};
use crate::steps::Mark;
use crate::structure::arg_filter::arg_column;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{ArgColumn, StringId, Trace};
use hashbrown::HashMap;

/// Argument of a launch: the name of the kernel, where the runtime states it.
const KERNEL_ARG: &str = "kernel";

/// Argument of an operation: the dimensions of its inputs.
pub(super) const DIMENSIONS_ARG: &str = INPUT_ARGS[0];

/// Prefix of the names of modules.
const MODULE_PREFIX: &str = "nn.Module: ";

/// Arguments that describe captured graphs. They must be loaded with the trace of a capture.
pub const CAPTURE_ARGS: [&str; 9] = [
    LAYER_ARGS[0],
    LAYER_ARGS[1],
    LAYER_ARGS[2],
    LAYER_ARGS[3],
    KERNEL_ARG,
    INPUT_ARGS[0],
    INPUT_ARGS[1],
    INPUT_ARGS[2],
    INPUT_ARGS[3],
];

/// A graph, as it was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedGraph {
    /// Batch size or number of tokens that it was captured for, if known.
    pub batch: Option<u64>,
    /// Its nodes that are device work, in the order of their launches.
    pub nodes: Vec<CapturedNode>,
    /// The operations around the launches, each after those around it.
    pub(super) operations: Vec<CapturedOperation>,
}

/// An operation around launches of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CapturedOperation {
    /// Its name.
    pub(super) name: String,
    /// Its arguments [`INPUT_ARGS`], as JSON.
    pub(super) inputs: [Option<String>; INPUT_ARGS.len()],
    /// Index of the operation around it.
    pub(super) around: Option<u32>,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedNode {
    /// Its kind.
    pub kind: NodeKind,
    /// Name of the kernel; `None` if the trace does not state it.
    pub kernel: Option<String>,
    /// Name of the innermost operation around its launch.
    pub operation: Option<String>,
    /// Name of the innermost module around its launch.
    pub module: Option<String>,
    /// Layer of its launch.
    pub layer: Option<u32>,
    /// Dimensions of the inputs of the operation, as JSON.
    pub shapes: Option<String>,
    /// Index of the innermost operation around its launch.
    pub(super) in_operation: Option<u32>,
}

impl CapturedNode {
    /// Returns the name of its kernel, else of its operation, else of its kind.
    pub(super) fn label(&self) -> &str {
        let kind = match self.kind {
            NodeKind::Kernel => "a kernel",
            NodeKind::Copy => "a copy",
            NodeKind::Set => "a memset",
        };
        self.kernel.as_deref().or(self.operation.as_deref()).unwrap_or(kind)
    }
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// A memset.
    Set,
}

/// Role of a call of the runtime in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Begin,
    End,
    Node(NodeKind),
}

impl Role {
    fn of_name(name: &str) -> Option<Self> {
        let is_other = name.contains("HostFunc") || name.contains("GraphLaunch");
        match name {
            _ if name.contains("StreamBeginCapture") => Some(Self::Begin),
            _ if name.contains("StreamEndCapture") => Some(Self::End),
            _ if name.contains("Launch") && !is_other => Some(Self::Node(NodeKind::Kernel)),
            _ if name.contains("Memcpy") => Some(Self::Node(NodeKind::Copy)),
            _ if name.contains("Memset") => Some(Self::Node(NodeKind::Set)),
            _ => None,
        }
    }
}

/// Returns the graphs that were captured while the trace was recorded, in order. [`CAPTURE_ARGS`] must be loaded.
///
/// A graph consists of the launches, copies and memsets between `…StreamBeginCapture` and `…StreamEndCapture` on one
/// thread. Its batch size is that of a mark around the capture (`capture_32_decode`, or the mark of a step), else the
/// most frequent first dimension of the first inputs of its operations.
pub fn captured_graphs(trace: &Trace, nesting: &Nesting) -> Vec<CapturedGraph> {
    let reader = CaptureReader::of(trace, nesting);
    let mut graphs: Vec<(i64, CapturedGraph)> = Vec::new();
    for (track, _) in trace.tracks.iter() {
        let mut open: Option<(i64, CapturedGraph)> = None;
        let mut known: HashMap<u32, u32> = HashMap::new();
        nesting.walk(trace, track, |slice, around| match reader.role(slice) {
            Some(Role::Begin) => {
                known.clear();
                open = Some((trace.slices.start[slice as usize], reader.begun(around)));
            }
            Some(Role::End) => graphs.extend(open.take()),
            Some(Role::Node(kind)) => {
                let is_inner = around.iter().any(|&outer| matches!(reader.role(outer), Some(Role::Node(_))));
                if let Some((_, graph)) = open.as_mut().filter(|_| !is_inner) {
                    let in_operation = reader.add_operations(around, graph, &mut known);
                    graph.nodes.push(CapturedNode { in_operation, ..reader.node(kind, slice, around) });
                }
            }
            None => {}
        });
    }
    graphs.retain(|(_, graph)| !graph.nodes.is_empty());
    graphs.sort_by_key(|(start, _)| *start);
    let complete = |(_, graph): (i64, CapturedGraph)| CapturedGraph {
        batch: graph.batch.or_else(|| most_frequent_dimension(&graph.nodes)),
        ..graph
    };
    graphs.into_iter().map(complete).collect()
}

/// Reads calls and the slices around them.
struct CaptureReader<'a> {
    trace: &'a Trace,
    layer_of: Vec<u32>,
    /// Role of each call of the runtime by name.
    roles: HashMap<StringId, Role>,
    runtimes: [Option<StringId>; RUNTIMES.len()],
    operations: [Option<StringId>; OPERATIONS.len()],
    kernels: Option<&'a ArgColumn>,
    inputs: [Option<&'a ArgColumn>; INPUT_ARGS.len()],
}

impl<'a> CaptureReader<'a> {
    fn of(trace: &'a Trace, nesting: &Nesting) -> Self {
        Self {
            trace,
            layer_of: layer_of_each(trace, nesting),
            roles: trace.strings.iter().filter_map(|(id, text)| Some((id, Role::of_name(text)?))).collect(),
            runtimes: RUNTIMES.map(|category| trace.strings.find(category)),
            operations: OPERATIONS.map(|category| trace.strings.find(category)),
            kernels: arg_column(trace, KERNEL_ARG),
            inputs: INPUT_ARGS.map(|key| arg_column(trace, key)),
        }
    }

    fn role(&self, slice: u32) -> Option<Role> {
        let slices = &self.trace.slices;
        let is_call = self.runtimes.contains(&Some(slices.category[slice as usize]));
        self.roles.get(&slices.name[slice as usize]).copied().filter(|_| is_call)
    }

    fn name(&self, slice: u32) -> &'a str {
        self.trace.strings.get(self.trace.slices.name[slice as usize])
    }

    /// Returns an empty graph whose capture begins inside these slices.
    fn begun(&self, around: &[u32]) -> CapturedGraph {
        let batch = around.iter().rev().find_map(|&slice| batch_of_name(self.name(slice)));
        CapturedGraph { batch, ..CapturedGraph::default() }
    }

    fn is_operation(&self, slice: u32) -> bool {
        self.operations.contains(&Some(self.trace.slices.category[slice as usize]))
    }

    fn text(&self, column: Option<&ArgColumn>, slice: u32) -> Option<String> {
        let value = column?.of(self.trace.slices.order[slice as usize])?;
        Some(value.content(&self.trace.strings).into_owned())
    }

    /// Adds the operations among these slices, from the outermost, to a graph. Returns the index of the innermost.
    fn add_operations(&self, around: &[u32], graph: &mut CapturedGraph, known: &mut HashMap<u32, u32>) -> Option<u32> {
        let mut innermost = None;
        for &slice in around.iter().filter(|slice| self.is_operation(**slice)) {
            let operation = *known.entry(slice).or_insert_with(|| {
                graph.operations.push(CapturedOperation {
                    name: self.name(slice).to_owned(),
                    inputs: self.inputs.map(|column| self.text(column, slice)),
                    around: innermost,
                });
                graph.operations.len() as u32 - 1
            });
            innermost = Some(operation);
        }
        innermost
    }

    fn node(&self, kind: NodeKind, slice: u32, around: &[u32]) -> CapturedNode {
        let operation = around.iter().rev().copied().find(|slice| self.is_operation(*slice));
        let modules = around.iter().rev().filter_map(|&it| self.name(it).strip_prefix(MODULE_PREFIX));
        let layer = self.layer_of[slice as usize];
        CapturedNode {
            kind,
            kernel: self.text(self.kernels, slice).filter(|name| !name.is_empty()),
            operation: operation.map(|operation| self.name(operation).to_owned()),
            module: modules.map(str::to_owned).next(),
            layer: (layer != NONE).then_some(layer),
            shapes: operation.and_then(|operation| self.text(self.inputs[0], operation)),
            in_operation: None,
        }
    }
}

/// Returns the batch size in the name of a slice around a capture: `capture_32_decode`, or the mark of a step.
fn batch_of_name(name: &str) -> Option<u64> {
    if let Some(rest) = name.strip_prefix("capture_") {
        let (number, _) = rest.split_once('_').unwrap_or((rest, ""));
        return number.parse().ok();
    }
    Mark::of_name(name).or_else(|| Mark::of_annotation(name))?.batch
}

/// Returns the most frequent first dimension of the first inputs of the operations; the largest of several.
fn most_frequent_dimension(nodes: &[CapturedNode]) -> Option<u64> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for dimension in nodes.iter().filter_map(|node| first_dimension(node.shapes.as_deref()?)) {
        *counts.entry(dimension).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(dimension, count)| (count, dimension)).map(|(dimension, _)| dimension)
}

/// Returns the first number in a JSON list of lists, which must be in the first list: 32 of `[[32, 64], [64]]`.
fn first_dimension(shapes: &str) -> Option<u64> {
    let inside = shapes.trim_start().strip_prefix('[')?.trim_start().strip_prefix('[')?;
    let n_digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    inside[..n_digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    fn graphs(events: &[&str]) -> Vec<CapturedGraph> {
        let args = CAPTURE_ARGS.map(str::to_owned).to_vec();
        let json = format!("[{}]", events.join(","));
        let trace = load(json.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace;
        captured_graphs(&trace, &Nesting::of(&trace))
    }

    #[test]
    fn a_graph_has_the_launches_between_begin_and_end() {
        let found = graphs(&[
            r#"{"ph":"X","cat":"user_annotation","name":"capture_32_decode","ts":0,"dur":100,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","ts":1,"dur":1,"pid":1,"tid":1,"args":{"kernel":"warm up"}}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipStreamBeginCapture","ts":3,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_0","ts":5,"dur":10,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":6,"dur":4,"pid":1,"tid":1,"args":{"Input Dims":[[32,64],[64,128]]}}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","ts":7,"dur":2,"pid":1,"tid":1,"args":{"kernel":"gemm"}}"#,
            r#"{"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","ts":7.5,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipMemsetAsync","ts":20,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchHostFunc","ts":22,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipStreamEndCapture","ts":30,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","ts":40,"dur":1,"pid":1,"tid":1}"#,
        ]);
        let [graph] = &found[..] else { panic!("one graph, found {}", found.len()) };
        assert_eq!((graph.batch, graph.nodes.len()), (Some(32), 2));
        let text = |text: &str| Some(text.to_owned());
        let gemm = CapturedNode {
            kind: NodeKind::Kernel,
            kernel: text("gemm"),
            operation: text("aten::mm"),
            module: text("LlamaDecoderLayer_0"),
            layer: Some(0),
            shapes: text("[[32,64],[64,128]]"),
            in_operation: Some(0),
        };
        assert_eq!(graph.nodes[0], gemm);
        assert_eq!((graph.nodes[1].kind, &graph.nodes[1].operation), (NodeKind::Set, &None));
    }

    #[test]
    fn the_batch_size_comes_from_marks_and_then_from_shapes() {
        assert_eq!(batch_of_name("capture_128_decode"), Some(128));
        assert_eq!(batch_of_name("capture_8"), Some(8));
        assert_eq!(batch_of_name("capture_model"), None);
        assert_eq!(batch_of_name("step[DECODE bs=64]"), Some(64));
        assert_eq!(first_dimension("[[32, 64], [64]]"), Some(32));
        assert_eq!(first_dimension(" [ [7]]"), Some(7));
        for shapes in ["", "[]", "[[], [3]]", "[[x]]", "3", "[[99999999999999999999999]]"] {
            assert_eq!(first_dimension(shapes), None, "{shapes}");
        }
    }
}
