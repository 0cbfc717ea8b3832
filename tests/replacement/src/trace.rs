pub use ferrum_trace::{TraceEvent, TraceWriter, flush_global_trace, global_trace};
