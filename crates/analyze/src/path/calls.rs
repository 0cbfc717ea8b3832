//! Calls of the host to the runtime of a device, by name: CUDA, HIP and others with the same words.

use super::node::Cause;

/// Way in which a call blocks its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocking {
    /// Until all work of the device is done.
    Device,
    /// Until the work of one stream is done, up to some point.
    Stream,
    /// Until the copy that it starts is done.
    Copy,
    /// Until the copy that it starts is done, if one side is pageable memory of the host.
    PageableCopy,
}

impl Blocking {
    /// Returns the way in which a call of this name blocks.
    pub(super) fn of_call(name: &str) -> Option<Self> {
        if name.ends_with("DeviceSynchronize") || name.ends_with("CtxSynchronize") {
            Some(Self::Device)
        } else if name.ends_with("StreamSynchronize") || name.ends_with("EventSynchronize") {
            Some(Self::Stream)
        } else if name.contains("Memcpy") && name.contains("Async") {
            Some(Self::PageableCopy)
        } else if name.contains("Memcpy") {
            Some(Self::Copy)
        } else {
            None
        }
    }

    /// Returns the cause that ends the wait.
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Device | Self::Stream => Cause::Stream,
            Self::Copy | Self::PageableCopy => Cause::Copy,
        }
    }

    /// Returns true if the call waits for work that other calls launched.
    pub(super) fn is_synchronization(self) -> bool {
        matches!(self, Self::Device | Self::Stream)
    }
}

/// Returns true if a copy of this name involves pageable memory, or goes to the host.
pub(super) fn blocks_its_caller(copy: &str) -> bool {
    copy.contains("Pageable") || copy.contains("DtoH")
}

/// Words in names of spans that wait if device work ends in them.
const SYNC_WORDS: [&str; 4] = ["sync", "synchronize", "synchronization", "fence"];
/// Words in names of spans that wait.
const WAIT_WORDS: [&str; 8] = ["wait", "waiting", "recv", "park", "sleep", "idle", "poll", "blocked"];

/// Reason for which a span of a program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanWait {
    /// It acquires a lock.
    Lock,
    /// It waits for something else.
    Other,
}

impl SpanWait {
    /// Returns the reason that the name of a span states. Words are separated by other characters than letters and
    /// digits: `cudaStreamWaitEvent` is one word.
    pub(super) fn of_span(name: &str) -> Option<Self> {
        if has_word(name, &["lock", "mutex"]) && has_word(name, &LOCK_WORDS) {
            Some(Self::Lock)
        } else if has_word(name, &WAIT_WORDS) {
            Some(Self::Other)
        } else {
            None
        }
    }
}

/// Returns true if a span of this name waits for device work, if some ends in it.
pub(super) fn may_wait_for_device(name: &str) -> bool {
    has_word(name, &SYNC_WORDS) || SpanWait::of_span(name) == Some(SpanWait::Other)
}

fn has_word(name: &str, wanted: &[&str]) -> bool {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| wanted.iter().any(|it| word.eq_ignore_ascii_case(it)))
}

/// Words that tell the acquisition of a lock from its use.
const LOCK_WORDS: [&str; 5] = ["wait", "waiting", "acquire", "lock", "contended"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_block_are_known_in_cuda_and_hip() {
        let found = |name: &str| Blocking::of_call(name);
        assert_eq!(found("cudaDeviceSynchronize"), Some(Blocking::Device));
        assert_eq!(found("hipDeviceSynchronize"), Some(Blocking::Device));
        assert_eq!(found("cuCtxSynchronize"), Some(Blocking::Device));
        assert_eq!(found("hipEventSynchronize"), Some(Blocking::Stream));
        assert_eq!(found("cudaStreamSynchronize"), Some(Blocking::Stream));
        assert_eq!(found("hipMemcpyWithStream"), Some(Blocking::Copy));
        assert_eq!(found("cudaMemcpyAsync"), Some(Blocking::PageableCopy));
        for name in ["cudaStreamWaitEvent", "cudaEventQuery", "cudaLaunchKernel", "cudaMalloc", "cudaMemsetAsync"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn spans_that_wait_are_known_by_words() {
        let found = |name: &str| SpanWait::of_span(name);
        for name in ["wait for work", "queue.recv", "aten::wait_tensor", "Idle"] {
            assert_eq!(found(name), Some(SpanWait::Other), "{name}");
        }
        for name in ["lock", "mutex lock", "wait: lock", "acquire_lock"] {
            assert_eq!(found(name), Some(SpanWait::Lock), "{name}");
        }
        for name in ["cudaStreamWaitEvent", "awaited", "block", "gemm", "sleepy"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn spans_that_may_wait_for_a_device_are_known_by_words() {
        for name in ["wait", "device_sync", "Fence", "poll device"] {
            assert!(may_wait_for_device(name), "{name}");
        }
        for name in ["wait: lock", "async", "aten::mm", "asynchronous copy"] {
            assert!(!may_wait_for_device(name), "{name}");
        }
    }
}
