//! The vocabulary of inference: the names that the recorder writes and that readers look for. `docs/vocabulary.md`
//! explains each of them.

/// Defines an enumeration of words with their text in a trace, a list of all words, and the conversion from text.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $word,)*
        }

        impl $name {
            /// All words.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];

            /// Returns the text of the word in a trace.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// Returns the word with this text.
            pub fn from_text(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// The work of an engine's step; also the name of its slice.
    Phase {
        /// A step with prompts only.
        Prefill = "prefill",
        /// A step with one token for each sequence, or a few with speculative decoding.
        Decode = "decode",
        /// A step with prompts and generated tokens in one batch.
        Mixed = "mixed",
    }
}

words! {
    /// The purpose of an operation of a model; the category of its slice.
    Op {
        /// Attention of any kind over the KV cache.
        Attention = "attention",
        /// Matrix products: projections, the MLP, the output head.
        Gemm = "gemm",
        /// Routing to experts, and the experts themselves.
        Moe = "moe",
        /// Layer norm, RMS norm.
        Norm = "norm",
        /// Activations such as SiLU and GELU, and operations fused with them.
        Act = "act",
        /// Rotary embeddings.
        Rope = "rope",
        /// Conversion to and from quantized formats.
        Quant = "quant",
        /// Communication between devices and ranks.
        Comm = "comm",
        /// Selection of tokens from logits.
        Sampling = "sampling",
        /// Writing to and managing the KV cache.
        KvCache = "kv_cache",
        /// Selecting the work of the next step.
        Scheduler = "scheduler",
        /// Copies and allocations.
        Memory = "memory",
    }
}

/// Returns the categories of all events of this vocabulary.
pub fn categories() -> impl Iterator<Item = &'static str> {
    let ops = Op::ALL.iter().map(|op| op.as_str());
    ops.chain([step::CATEGORY, layer::CATEGORY, request::CATEGORY, trigger::CATEGORY])
}

/// A step of the engine: one slice, named by its [`Phase`].
pub mod step {
    /// Its category.
    pub const CATEGORY: &str = "step";
    /// Argument: the [`Phase`](super::Phase).
    pub const PHASE: &str = "phase";
    /// Argument: number of sequences in the batch.
    pub const BATCH: &str = "batch";
    /// Argument: number of prompt tokens that are computed.
    pub const PREFILL_TOKENS: &str = "prefill_tokens";
    /// Argument: number of tokens that are generated.
    pub const DECODE_TOKENS: &str = "decode_tokens";
    /// Argument: number of tokens in the contexts of all sequences together.
    pub const CONTEXT_TOKENS: &str = "context_tokens";
}

/// A layer of the model: one slice.
pub mod layer {
    /// Its name.
    pub const NAME: &str = "layer";
    /// Its category.
    pub const CATEGORY: &str = "layer";
    /// Argument of a layer's slice or of any other slice: the number of the layer it belongs to, from 0.
    pub const LAYER: &str = "layer";
}

/// A replay of a graph: one slice on the host, and one for each operation on the track of the device.
pub mod graph {
    /// Category of the slice on the host.
    pub const CATEGORY: &str = "graph";
    /// Argument of all these slices: the number of the replay.
    pub const CORRELATION: &str = "correlation";
    /// Argument of the slice on the host: number of operations of the graph.
    pub const OPERATIONS: &str = "operations";
}

/// Shapes of operations: arguments from which `ferrum-trace roofline` computes FLOP and bytes.
pub mod shape {
    /// Argument of any operation: type of its elements, such as `bf16`.
    pub const DTYPE: &str = "dtype";
    /// Argument of [`Op::Gemm`](super::Op::Gemm) and [`Op::Moe`](super::Op::Moe): type of the weights, if different.
    pub const WEIGHT_DTYPE: &str = "weight_dtype";
    /// Argument of [`Op::Attention`](super::Op::Attention): type of the KV cache, if different.
    pub const KV_DTYPE: &str = "kv_dtype";
    /// Argument of any operation: floating-point operations, instead of those computed from its shape.
    pub const FLOP: &str = "flop";
    /// Argument of any operation: bytes that it moves, instead of those computed from its shape. Of a collective: bytes
    /// of the whole data.
    pub const BYTES: &str = "bytes";
    /// Argument of a product: rows of the result.
    pub const M: &str = "m";
    /// Argument of a product: columns of the result.
    pub const N: &str = "n";
    /// Argument of a product: columns of the first matrix.
    pub const K: &str = "k";
    /// Argument of a product or an attention: number of equal ones in a batch.
    pub const B: &str = "b";
    /// Argument of a grouped product: number of weight matrices.
    pub const GROUPS: &str = "groups";
    /// Argument of a product: true if a bias is added.
    pub const BIAS: &str = "bias";
    /// Argument of an attention: number of query heads.
    pub const HEADS: &str = "heads";
    /// Argument of an attention: number of key and value heads.
    pub const KV_HEADS: &str = "kv_heads";
    /// Argument of an attention: elements of a head.
    pub const HEAD_DIM: &str = "head_dim";
    /// Argument of an attention: query tokens of all sequences.
    pub const Q: &str = "q";
    /// Argument of an attention: tokens that are read for these queries, new and cached, of all sequences.
    pub const KV: &str = "kv";
    /// Argument of an attention over several sequences: twice the number of pairs of a query and a key that it sees.
    pub const TWICE_PAIRS: &str = "twice_pairs";
    /// Argument of an attention: false if queries see later tokens too.
    pub const CAUSAL: &str = "causal";
    /// Argument of an attention: number of tokens that a query sees at most.
    pub const WINDOW: &str = "window";
    /// Argument of a mixture of experts: number of tokens.
    pub const TOKENS: &str = "tokens";
    /// Argument of a mixture of experts: elements of a token.
    pub const HIDDEN: &str = "hidden";
    /// Argument of a mixture of experts: elements of a token inside an expert.
    pub const INTER: &str = "inter";
    /// Argument of a mixture of experts: number of experts.
    pub const EXPERTS: &str = "experts";
    /// Argument of a mixture of experts: number of experts of a token.
    pub const TOP_K: &str = "topk";
    /// Argument of a mixture of experts: number of experts that get a token.
    pub const EXPERTS_USED: &str = "experts_used";
    /// Argument of a mixture of experts: false if the activation has no gate.
    pub const GATED: &str = "gated";
    /// Argument of a norm: number of rows.
    pub const ROWS: &str = "rows";
    /// Argument of a norm: elements of a row.
    pub const DIM: &str = "dim";
    /// Argument of a norm: true if a residual is added first.
    pub const RESIDUAL: &str = "residual";
    /// Argument of an elementwise operation: number of elements of its result.
    pub const ELEMENTS: &str = "elements";
    /// Argument of a collective: number of ranks.
    pub const RANKS: &str = "ranks";

    /// All arguments.
    pub const ALL: [&str; 32] = [
        DTYPE,
        WEIGHT_DTYPE,
        KV_DTYPE,
        FLOP,
        BYTES,
        M,
        N,
        K,
        B,
        GROUPS,
        BIAS,
        HEADS,
        KV_HEADS,
        HEAD_DIM,
        Q,
        KV,
        TWICE_PAIRS,
        CAUSAL,
        WINDOW,
        TOKENS,
        HIDDEN,
        INTER,
        EXPERTS,
        TOP_K,
        EXPERTS_USED,
        GATED,
        ROWS,
        DIM,
        RESIDUAL,
        ELEMENTS,
        RANKS,
        INPUTS,
    ];
    /// Argument of an elementwise operation: number of tensors of that size that it reads, if not one.
    pub const INPUTS: &str = "inputs";
}

/// A collective: an operation of the category [`Op::Comm`] whose slice lasts until this rank has finished it.
pub mod comm {
    /// Argument: the participating ranks, if not all; the same text on each of them.
    pub const GROUP: &str = "group";
    /// Argument: the number of the collective among those with its name and group, the same on all ranks. Without it,
    /// collectives are counted.
    pub const NUMBER: &str = "number";
}

/// A request: async slices and instants with the request's id and the category [`CATEGORY`](request::CATEGORY).
pub mod request {
    /// The category of all events of a request.
    pub const CATEGORY: &str = "request";
    /// Slice: from the request's arrival to its end.
    pub const REQUEST: &str = "request";
    /// Slice within the request: it waits to run for the first time.
    pub const QUEUED: &str = "queued";
    /// Slice within the request: from the first step on its prompt to the first token, or to a preemption.
    pub const PREFILL: &str = "prefill";
    /// Slice within the request: from the first token to the last, or to a preemption.
    pub const DECODE: &str = "decode";
    /// Slice within the request: from the loss of its KV cache until it runs again, which starts with another prefill.
    pub const PREEMPTED: &str = "preempted";
    /// Instant: the first token was generated.
    pub const FIRST_TOKEN: &str = "first token";
    /// Instant: one further token was generated, or several, see [`TOKENS`].
    pub const TOKEN: &str = "token";
    /// Argument of the slice [`REQUEST`], since viewers show no ids, and of any event of another category: the id of
    /// the request that the event belongs to.
    pub const ID: &str = "request";
    /// Argument of the slice [`REQUEST`]: number of prompt tokens.
    pub const PROMPT_TOKENS: &str = "prompt_tokens";
    /// Argument of the end of [`REQUEST`]: number of generated tokens.
    pub const OUTPUT_TOKENS: &str = "output_tokens";
    /// Argument of the end of [`REQUEST`]: the reason of the end, such as `stop`, `length`, `abort`.
    pub const REASON: &str = "reason";
    /// The [`REASON`] of a request whose guard was dropped without a reason.
    pub const DROPPED: &str = "dropped";
    /// The [`REASON`] of a request that its client cancelled.
    pub const ABORT: &str = "abort";
    /// The [`REASON`] of a request that failed.
    pub const ERROR: &str = "error";
    /// Argument of [`TOKEN`] and [`FIRST_TOKEN`]: number of tokens that were generated at once, if not one.
    pub const TOKENS: &str = "tokens";
}

/// Slices that a device measured, on its track; their times are converted from the device's clock to the host's.
pub mod device {
    /// Argument of each such slice: upper bound for the error of its begin and end, in nanoseconds.
    pub const CLOCK_ERROR_NS: &str = "clock_error_ns";
}

/// The event of a trigger that caused a dump.
pub mod trigger {
    /// Instant on the thread that detected the condition, and on the track of the request that took too long, if any.
    pub const NAME: &str = "trigger";
    /// The category of the instant.
    pub const CATEGORY: &str = "trigger";
    /// Argument: the trigger, such as `step>50ms`.
    pub const REASON: &str = "reason";
    /// Argument: the number of the dump.
    pub const DUMP: &str = "dump";
    /// Argument: a description, such as `decode step 1234 took 61.2ms > 50ms`.
    pub const WHAT: &str = "what";
    /// Argument of the step that took too long, or of the end of such a request: the trigger, as in [`REASON`].
    pub const MARK: &str = "trigger";
}

/// Arguments of the end of an async operation.
pub mod async_end {
    /// Nanoseconds in which some thread worked on the operation.
    pub const BUSY_NS: &str = "busy_ns";
    /// Nanoseconds in which the operation waited.
    pub const IDLE_NS: &str = "idle_ns";
}
/// Argument of an async slice that only gives a row its title and is not an event itself: the name of the slice inside
/// it, which begins and ends at the same times.
pub const ROW_OF: &str = "row_of";

/// Argument of an event without an end in the trace, and of the end that was added for it.
pub const UNCLOSED: &str = "unclosed";

/// The metadata event with the facts about a recording, and the keys of its arguments.
pub mod about {
    /// Its name.
    pub const NAME: &str = "ferrum_trace";
    /// Time zero of the trace on the monotonic clock of the host.
    pub const START_MONOTONIC_NS: &str = "start_monotonic_ns";
    /// Time zero of the trace, in nanoseconds since 1970.
    pub const START_UNIX_NS: &str = "start_unix_ns";
    /// The name of the host.
    pub const HOST: &str = "host";
    /// Id of the host's boot, which identifies its monotonic clock.
    pub const BOOT_ID: &str = "boot_id";
    /// The rank of the process in its run.
    pub const RANK: &str = "rank";
    /// Number of overwritten chunks of a ring.
    pub const OVERWRITTEN: &str = "overwritten_chunks";
    /// Number of lost events.
    pub const DROPPED: &str = "dropped";
    /// Number of open spans; each is a slice with the argument [`UNCLOSED`](super::UNCLOSED).
    pub const UNFINISHED: &str = "unfinished";
    /// The open spans of each thread, outermost first: an object with one key per thread.
    pub const UNFINISHED_BY_THREAD: &str = "unfinished_by_thread";
    /// Number of argument texts that are missing.
    pub const LOST_TEXTS: &str = "lost_texts";
    /// Number of damaged places in the spool that the trace was made from.
    pub const DAMAGED_PLACES: &str = "damaged_places";
    /// Upper bound for the number of events that are missing because of this damage.
    pub const MISSING_EVENTS_MAX: &str = "missing_events_max";
    /// Number of lost events of each thread: an object with one key per thread.
    pub const DROPPED_BY_THREAD: &str = "dropped_by_thread";
    /// Number of recorded events.
    pub const RECORDED: &str = "recorded";
    /// The [`StopReason`], if events were lost for lack of room, until the end or for some time.
    pub const STOP_REASON: &str = "stop_reason";
    /// The size limit of the recording in bytes, if it was reached.
    pub const LIMIT_BYTES: &str = "limit_bytes";
    /// Size of the ring of a flight recorder in bytes.
    pub const RING_BYTES: &str = "ring_bytes";
    /// The trigger of a dump: an object with the keys of [`trigger`](super::trigger).
    pub const TRIGGER: &str = "trigger";
    /// Number of refused dumps: an object with one key for each [`DumpRefusal`] that occurred.
    pub const DUMPS_REFUSED: &str = "dumps_refused";
    /// Number of the part of a rotating recording, from 1.
    pub const PART: &str = "part";
    /// The process.
    pub const PID: &str = "pid";
    /// Prefix of the label of a process with a rank; the number follows.
    pub const RANK_LABEL: &str = "rank ";

    words! {
        /// The reason why recording stopped before its program did.
        StopReason {
            /// The recording reached the limit that was set for it.
            Limit = "limit",
            /// The file system is full, or a quota was reached.
            NoSpace = "no_space",
            /// The spool could not be enlarged for another reason.
            Io = "io",
            /// The process may not write larger files (`RLIMIT_FSIZE`).
            FileSize = "file_size",
            /// Another process cut the spool, and data was lost with it.
            Truncated = "truncated",
        }
    }

    words! {
        /// The reason why a dump of a flight recorder was refused.
        DumpRefusal {
            /// The minimum time between two dumps had not passed.
            TooSoon = "too_soon",
            /// Another dump was requested and not written yet.
            UnderWay = "under_way",
            /// The maximum number of dumps was reached.
            Files = "files",
            /// Another file would exceed the maximum size of all dumps.
            Bytes = "bytes",
            /// The recorder was processing another request for a dump at that moment.
            Busy = "busy",
        }
    }

    impl StopReason {
        /// Returns the reason as part of a sentence: `3 events lost: no space was left on the device`.
        pub fn describe(self) -> &'static str {
            match self {
                Self::Limit => "the limit was reached",
                Self::NoSpace => "no space was left on the device",
                Self::Io => "the spool could not be enlarged",
                Self::FileSize => "the process may not write larger files",
                Self::Truncated => "another process cut the spool",
            }
        }

        /// Returns the same with the size limit of the recording, such as `4096 bytes`, if that is the reason.
        pub fn describe_with_limit(self, limit: &str) -> String {
            match self {
                Self::Limit => format!("the limit of {limit} was reached"),
                Self::NoSpace | Self::Io | Self::FileSize | Self::Truncated => self.describe().to_owned(),
            }
        }
    }

    impl DumpRefusal {
        /// Returns the reason as part of a sentence: `3 dumps refused: 3 too soon after another dump`.
        pub fn describe(self) -> &'static str {
            match self {
                Self::TooSoon => "too soon after another dump",
                Self::UnderWay => "while another dump was under way",
                Self::Files => "beyond the number of files allowed",
                Self::Bytes => "beyond the bytes allowed",
                Self::Busy => "while another thread was asking for one",
            }
        }
    }
}

/// Counters, and the keys of their values.
pub mod counter {
    /// Blocks of the KV cache: `used` and `free`.
    pub const KV_CACHE: &str = "kv_cache";
    /// Key of [`KV_CACHE`].
    pub const USED: &str = "used";
    /// Key of [`KV_CACHE`].
    pub const FREE: &str = "free";
    /// Requests that are running.
    pub const RUNNING: &str = "running";
    /// Requests that wait.
    pub const WAITING: &str = "waiting";
    /// Key of [`RUNNING`] and [`WAITING`].
    pub const REQUESTS: &str = "requests";
    /// Total tokens so far: `prompt` and `generated`.
    pub const TOKENS: &str = "tokens";
    /// Key of [`TOKENS`].
    pub const PROMPT: &str = "prompt";
    /// Key of [`TOKENS`].
    pub const GENERATED: &str = "generated";
}

/// Device tracks, recognized by their names.
pub mod device_track {
    /// Prefix of the name of a device track; the number of the device follows, then optionally ` / ` and the queue.
    pub const PREFIX: &str = "GPU ";
    /// Separator between the device and its queue.
    pub const SEPARATOR: &str = " / ";

    /// A track of a device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DeviceTrack<'a> {
        /// The number of the device.
        pub device: u32,
        /// The stream or queue of the device, such as `stream 7`; empty for the track of the whole device.
        pub queue: &'a str,
    }

    impl DeviceTrack<'_> {
        /// Returns the number of the stream: the digits at the end of the queue's name.
        pub fn stream(&self) -> Option<u32> {
            let is_digit = |letter: char| letter.is_ascii_digit();
            self.queue[self.queue.trim_end_matches(is_digit).len()..].parse().ok()
        }
    }

    /// Parses the name of a device track: `GPU 0`, `GPU 0 / stream 7`, `GPU 1 / queue`.
    pub fn parse(name: &str) -> Option<DeviceTrack<'_>> {
        let rest = name.strip_prefix(PREFIX)?;
        let (number, queue) = match rest.split_once(SEPARATOR) {
            Some((number, queue)) => (number, queue),
            // Further lanes of a track without a queue: `GPU 0 (2)`.
            None => rest.split_once(' ').map_or((rest, ""), |(number, row)| (number, row)),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        Some(DeviceTrack { device: number.parse().ok().filter(|_| is_number)?, queue })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_tracks_are_recognized_by_their_names() {
        let parsed = |name| device_track::parse(name).map(|track| (track.device, track.queue, track.stream()));
        assert_eq!(parsed("GPU 0 / stream 7"), Some((0, "stream 7", Some(7))));
        assert_eq!(parsed("GPU 12 / stream 7 (2)"), Some((12, "stream 7 (2)", None)));
        assert_eq!(parsed("GPU 1 / queue"), Some((1, "queue", None)));
        assert_eq!(parsed("GPU 3"), Some((3, "", None)));
        assert_eq!(parsed("GPU 3 (2)"), Some((3, "(2)", None)));
        for name in ["", "GPU", "GPU ", "GPU x / stream 7", "GPU +1", "a GPU 0", "GPU 99999999999"] {
            assert_eq!(parsed(name), None, "{name}");
        }
    }

    #[test]
    fn words_are_parsed_from_their_text() {
        for &op in Op::ALL {
            assert_eq!(Op::from_text(op.as_str()), Some(op));
        }
        assert_eq!(Phase::from_text("decode"), Some(Phase::Decode));
        assert_eq!(Phase::from_text("Decode"), None);
        assert_eq!(format!("{:>8}", Phase::Mixed), "   mixed");
    }
}
