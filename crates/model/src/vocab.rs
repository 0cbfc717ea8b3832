//! The words of inference: one set of names, written by the recorder and looked for by whoever reads a trace. `docs/vocabulary.md`
//! tells what each means.

/// Defines an enumeration of words: how each is spelled in a trace, all of them, and the way back.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $word,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];

            /// How it is spelled in a trace.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// The word that is spelled so.
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
    /// What an engine's step does. Also the name of its slice.
    Phase {
        /// Prompts only.
        Prefill = "prefill",
        /// One token (or a few, if they are guessed ahead) for each sequence.
        Decode = "decode",
        /// Both in one batch.
        Mixed = "mixed",
    }
}

words! {
    /// What an operation of a model is for: the category of its slice.
    Op {
        /// Attention over the KV cache, of any kind.
        Attention = "attention",
        /// Products of matrices: projections, the MLP, the output head.
        Gemm = "gemm",
        /// Routing to experts, and the experts.
        Moe = "moe",
        /// Layer norm, RMS norm.
        Norm = "norm",
        /// Activations: SiLU, GELU, and what is fused with them.
        Act = "act",
        /// Rotary embeddings.
        Rope = "rope",
        /// To and from quantized forms.
        Quant = "quant",
        /// Between devices and ranks.
        Comm = "comm",
        /// From logits to tokens.
        Sampling = "sampling",
        /// Writing to the KV cache and keeping book of it.
        KvCache = "kv_cache",
        /// Deciding what runs next.
        Scheduler = "scheduler",
        /// Copies and allocations.
        Memory = "memory",
    }
}

/// The categories of all that is recorded in these words.
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
    /// Argument: how many sequences take part.
    pub const BATCH: &str = "batch";
    /// Argument: how many tokens of prompts are computed.
    pub const PREFILL_TOKENS: &str = "prefill_tokens";
    /// Argument: how many tokens are generated.
    pub const DECODE_TOKENS: &str = "decode_tokens";
    /// Argument: how many tokens the sequences have behind them, all together.
    pub const CONTEXT_TOKENS: &str = "context_tokens";
}

/// A layer of the model: one slice.
pub mod layer {
    /// Its name.
    pub const NAME: &str = "layer";
    /// Its category.
    pub const CATEGORY: &str = "layer";
    /// Argument, of the slice of a layer or of any other: which layer it is part of, from 0.
    pub const LAYER: &str = "layer";
}

/// A collective: an operation of the category [`Op::Comm`] that lasts until this rank is done with it.
pub mod comm {
    /// Argument: who takes part, if not all; the same text on all of them.
    pub const GROUP: &str = "group";
    /// Argument: which collective of its name and group it is, the same on all ranks. Without it they are counted.
    pub const NUMBER: &str = "number";
}

/// A request: asynchronous slices and instants that have the request's id and the category [`CATEGORY`](request::CATEGORY).
pub mod request {
    /// The category of all of them.
    pub const CATEGORY: &str = "request";
    /// Slice: from the request's arrival to its end.
    pub const REQUEST: &str = "request";
    /// Slice within: it waits to be run for the first time.
    pub const QUEUED: &str = "queued";
    /// Slice within: from the first step that works on the prompt to the first token, or to a preemption.
    pub const PREFILL: &str = "prefill";
    /// Slice within: from the first token to the last, or to a preemption.
    pub const DECODE: &str = "decode";
    /// Slice within: its cache was taken away; until it is run again, which begins with another prefill.
    pub const PREEMPTED: &str = "preempted";
    /// Instant: the first token is there.
    pub const FIRST_TOKEN: &str = "first token";
    /// Instant: a further token is there, or several, see [`TOKENS`].
    pub const TOKEN: &str = "token";
    /// Argument of the slice [`REQUEST`], since viewers show no ids, and of any event of another category: the request it is
    /// for.
    pub const ID: &str = "request";
    /// Argument of the slice [`REQUEST`]: how long the prompt is.
    pub const PROMPT_TOKENS: &str = "prompt_tokens";
    /// Argument of the end of [`REQUEST`]: how many tokens were generated.
    pub const OUTPUT_TOKENS: &str = "output_tokens";
    /// Argument of the end of [`REQUEST`]: why it ended, such as `stop`, `length`, `abort`.
    pub const REASON: &str = "reason";
    /// The [`REASON`] of a request that its owner let go without a word.
    pub const DROPPED: &str = "dropped";
    /// The [`REASON`] of a request that its client gave up.
    pub const ABORT: &str = "abort";
    /// The [`REASON`] of a request that could not be done.
    pub const ERROR: &str = "error";
    /// Argument of [`TOKEN`] and [`FIRST_TOKEN`]: how many tokens came at once, if not one.
    pub const TOKENS: &str = "tokens";
}

/// What a device measured: slices on its track, at times of its own clock brought to that of the host.
pub mod device {
    /// Argument of each such slice: by how many nanoseconds its begin and its end may be off, at most.
    pub const CLOCK_ERROR_NS: &str = "clock_error_ns";
}

/// What had a flight recorder write out what it has.
pub mod trigger {
    /// Instant: on the thread on which it was seen. On the row of a request that took too long as well.
    pub const NAME: &str = "trigger";
    /// The category of the instant.
    pub const CATEGORY: &str = "trigger";
    /// Argument: why, such as `step>50ms`.
    pub const REASON: &str = "reason";
    /// Argument: the number of the file that was written.
    pub const DUMP: &str = "dump";
    /// Argument: what happened, such as `decode step 1234 took 61.2ms > 50ms`.
    pub const WHAT: &str = "what";
    /// Argument of the step that took too long, and of the end of such a request: why, as [`REASON`] has it.
    pub const MARK: &str = "trigger";
}

/// Arguments of the end of an async operation.
pub mod async_end {
    /// Nanoseconds in which some thread worked on the operation.
    pub const BUSY_NS: &str = "busy_ns";
    /// Nanoseconds in which the operation waited.
    pub const IDLE_NS: &str = "idle_ns";
}
/// Argument of an asynchronous slice that gives a row its title, and is no event of its own: the name of the slice in it, which begins and
/// ends with it.
pub const ROW_OF: &str = "row_of";

/// Argument of what has no end in the trace, and of the end that was made for it.
pub const UNCLOSED: &str = "unclosed";

/// The metadata event in which the recorder tells of the recording, and the keys of its arguments.
pub mod about {
    /// Its name.
    pub const NAME: &str = "ferrum_trace";
    /// The time zero of the trace on the monotonic clock of the host.
    pub const START_MONOTONIC_NS: &str = "start_monotonic_ns";
    /// The time zero of the trace since 1970.
    pub const START_UNIX_NS: &str = "start_unix_ns";
    /// The name of the host.
    pub const HOST: &str = "host";
    /// Which monotonic clock it is: another one whenever the host is started.
    pub const BOOT_ID: &str = "boot_id";
    /// Which of the processes of one run it is.
    pub const RANK: &str = "rank";
    /// How many chunks of a ring were overwritten.
    pub const OVERWRITTEN: &str = "overwritten_chunks";
    /// How many events were lost.
    pub const DROPPED: &str = "dropped";
    /// How many spans had begun and not ended; each is a slice with the argument [`UNCLOSED`](super::UNCLOSED).
    pub const UNFINISHED: &str = "unfinished";
    /// The unfinished spans of each thread, from the outside in: an object with a key for each.
    pub const UNFINISHED_BY_THREAD: &str = "unfinished_by_thread";
    /// How many texts of arguments are missing.
    pub const LOST_TEXTS: &str = "lost_texts";
    /// How many events were lost on each thread: an object with a key for each.
    pub const DROPPED_BY_THREAD: &str = "dropped_by_thread";
    /// How many events were recorded.
    pub const RECORDED: &str = "recorded";
    /// The [`StopReason`], if recording stopped before the program did.
    pub const STOP_REASON: &str = "stop_reason";
    /// How many bytes the recording was allowed to take, if it reached them.
    pub const LIMIT_BYTES: &str = "limit_bytes";
    /// How many bytes the ring of a flight recorder has.
    pub const RING_BYTES: &str = "ring_bytes";
    /// The trigger of a dump: an object with the keys of [`trigger`](super::trigger).
    pub const TRIGGER: &str = "trigger";
    /// How many dumps were refused: an object with a key for each [`DumpRefusal`] that occurred.
    pub const DUMPS_REFUSED: &str = "dumps_refused";
    /// Which file of a rotating recording it is, from 1 on.
    pub const PART: &str = "part";
    /// The process.
    pub const PID: &str = "pid";
    /// What the label of a process with a rank begins with; the number follows.
    pub const RANK_LABEL: &str = "rank ";

    words! {
        /// Why recording stopped before its program did.
        StopReason {
            /// The recording reached the limit that was set for it.
            Limit = "limit",
            /// The file system is full, or a quota was reached.
            NoSpace = "no_space",
            /// The spool could not be enlarged for another reason.
            Io = "io",
        }
    }

    words! {
        /// Why a dump of a flight recorder was refused.
        DumpRefusal {
            /// The time between two dumps had not passed.
            TooSoon = "too_soon",
            /// Another dump was asked for and not written yet.
            UnderWay = "under_way",
            /// As many files as allowed were written.
            Files = "files",
            /// Another file would not fit into the bytes allowed.
            Bytes = "bytes",
            /// The recorder was deciding about another dump at that moment.
            Busy = "busy",
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
    /// Of [`KV_CACHE`].
    pub const USED: &str = "used";
    /// Of [`KV_CACHE`].
    pub const FREE: &str = "free";
    /// Requests that are being worked on.
    pub const RUNNING: &str = "running";
    /// Requests that wait.
    pub const WAITING: &str = "waiting";
    /// Of [`RUNNING`] and [`WAITING`].
    pub const REQUESTS: &str = "requests";
    /// Tokens since the beginning: `prompt` and `generated`.
    pub const TOKENS: &str = "tokens";
    /// Of [`TOKENS`].
    pub const PROMPT: &str = "prompt";
    /// Of [`TOKENS`].
    pub const GENERATED: &str = "generated";
}

/// Tracks of devices, known by their names.
pub mod device_track {
    /// What the name of a device's track begins with; a number follows, and ` / ` with what of the device the track is.
    pub const PREFIX: &str = "GPU ";
    /// What stands between the device and its part.
    pub const SEPARATOR: &str = " / ";

    /// A track of a device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DeviceTrack<'a> {
        /// The number of the device.
        pub device: u32,
        /// Which stream or queue of it, such as `stream 7`; empty if the track is that of the whole device.
        pub queue: &'a str,
    }

    impl DeviceTrack<'_> {
        /// The number of the stream, if the queue is called by one: the digits at its end.
        pub fn stream(&self) -> Option<u32> {
            let is_digit = |letter: char| letter.is_ascii_digit();
            self.queue[self.queue.trim_end_matches(is_digit).len()..].parse().ok()
        }
    }

    /// What the name of a track says, if it is that of a device's: `GPU 0`, `GPU 0 / stream 7`, `GPU 1 / queue`.
    pub fn parse(name: &str) -> Option<DeviceTrack<'_>> {
        let rest = name.strip_prefix(PREFIX)?;
        let (number, queue) = match rest.split_once(SEPARATOR) {
            Some((number, queue)) => (number, queue),
            // The further rows of a track without parts, `GPU 0 (2)`.
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
    fn tracks_of_devices_are_told_by_their_names() {
        let told = |name| device_track::parse(name).map(|track| (track.device, track.queue, track.stream()));
        assert_eq!(told("GPU 0 / stream 7"), Some((0, "stream 7", Some(7))));
        assert_eq!(told("GPU 12 / stream 7 (2)"), Some((12, "stream 7 (2)", None)));
        assert_eq!(told("GPU 1 / queue"), Some((1, "queue", None)));
        assert_eq!(told("GPU 3"), Some((3, "", None)));
        assert_eq!(told("GPU 3 (2)"), Some((3, "(2)", None)));
        for name in ["", "GPU", "GPU ", "GPU x / stream 7", "GPU +1", "a GPU 0", "GPU 99999999999"] {
            assert_eq!(told(name), None, "{name}");
        }
    }

    #[test]
    fn words_come_back() {
        for &op in Op::ALL {
            assert_eq!(Op::from_text(op.as_str()), Some(op));
        }
        assert_eq!(Phase::from_text("decode"), Some(Phase::Decode));
        assert_eq!(Phase::from_text("Decode"), None);
        assert_eq!(format!("{:>8}", Phase::Mixed), "   mixed");
    }
}
