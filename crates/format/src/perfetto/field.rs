//! Field numbers of Perfetto's messages, as far as they are used here; one module per message.
//!
//! They come from `protos/perfetto/trace/trace_packet.proto`, `track_event/*.proto`,
//! `interned_data/interned_data.proto` and `clock_snapshot.proto` of Perfetto, which guarantees that they never change.

/// `Trace`: the whole file.
pub(crate) mod trace {
    pub(crate) const PACKET: u32 = 1;
}

/// `TracePacket`.
pub(crate) mod packet {
    pub(crate) const FTRACE_EVENTS: u32 = 1;
    pub(crate) const PROCESS_TREE: u32 = 2;
    pub(crate) const TRUSTED_UID: u32 = 3;
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    /// Time on the clock `TIMESTAMP_CLOCK_ID`.
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const TRUSTED_SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const TRACE_CONFIG: u32 = 33;
    pub(crate) const SYNCHRONIZATION_MARKER: u32 = 36;
    pub(crate) const INCREMENTAL_STATE_CLEARED: u32 = 41;
    pub(crate) const PREVIOUS_PACKET_DROPPED: u32 = 42;
    pub(crate) const PROCESS_DESCRIPTOR: u32 = 43;
    pub(crate) const THREAD_DESCRIPTOR: u32 = 44;
    pub(crate) const SYSTEM_INFO: u32 = 45;
    /// A deflated `Trace`.
    pub(crate) const COMPRESSED_PACKETS: u32 = 50;
    pub(crate) const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub(crate) const DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const TRUSTED_PID: u32 = 79;
    pub(crate) const FIRST_ON_SEQUENCE: u32 = 87;
    pub(crate) const TRACE_UUID: u32 = 89;
    /// A `Trace` compressed with zstd.
    pub(crate) const ZSTD_COMPRESSED_PACKETS: u32 = 133;
}

/// Values of `TracePacket.sequence_flags`.
pub(crate) mod flags {
    pub(crate) const INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub(crate) const NEEDS_INCREMENTAL_STATE: u64 = 2;
}

/// `TracePacketDefaults`.
pub(crate) mod defaults {
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const TIMESTAMP_CLOCK_ID: u32 = 58;
}

/// `TrackEventDefaults`.
pub(crate) mod event_defaults {
    pub(crate) const TRACK_UUID: u32 = 11;
}

/// `ClockSnapshot`.
pub(crate) mod clock_snapshot {
    pub(crate) const CLOCK: u32 = 1;
    /// The clock of the times in the trace.
    pub(crate) const PRIMARY: u32 = 2;
}

/// `ClockSnapshot.Clock`.
pub(crate) mod clock {
    pub(crate) const ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;
    pub(crate) const IS_INCREMENTAL: u32 = 3;
    pub(crate) const UNIT_MULTIPLIER_NS: u32 = 4;

    /// The clock on which old producers count from their reference time.
    pub(crate) const MONOTONIC: u64 = 3;
    /// The default clock of packets: nanoseconds since boot.
    pub(crate) const BOOTTIME: u64 = 6;
    /// The first id of the clocks that are local to a sequence of packets.
    pub(crate) const FIRST_OF_SEQUENCE: u64 = 64;
    /// The first id above the clocks that are local to a sequence.
    pub(crate) const FIRST_GLOBAL: u64 = 128;
}

/// `InternedData`. All its messages have the id in `IID` and the text in `TEXT`.
pub(crate) mod interned {
    pub(crate) const EVENT_CATEGORIES: u32 = 1;
    pub(crate) const EVENT_NAMES: u32 = 2;
    pub(crate) const ANNOTATION_NAMES: u32 = 3;
    pub(crate) const ANNOTATION_STRINGS: u32 = 29;

    pub(crate) const IID: u32 = 1;
    pub(crate) const TEXT: u32 = 2;
}

/// `TrackDescriptor`.
pub(crate) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT_UUID: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
    pub(crate) const STATIC_NAME: u32 = 10;
    pub(crate) const CHILD_ORDERING: u32 = 11;
    pub(crate) const SIBLING_ORDER_RANK: u32 = 12;
    pub(crate) const ATRACE_NAME: u32 = 13;

    /// Value of `CHILD_ORDERING`: by `SIBLING_ORDER_RANK` of the children.
    pub(crate) const EXPLICIT_ORDERING: u64 = 3;
}

/// `ProcessDescriptor`.
pub(crate) mod process {
    pub(crate) const PID: u32 = 1;
    pub(crate) const LEGACY_SORT_INDEX: u32 = 3;
    pub(crate) const NAME: u32 = 6;
    pub(crate) const LABELS: u32 = 8;
}

/// `ThreadDescriptor`.
pub(crate) mod thread {
    pub(crate) const PID: u32 = 1;
    pub(crate) const TID: u32 = 2;
    pub(crate) const LEGACY_SORT_INDEX: u32 = 3;
    pub(crate) const NAME: u32 = 5;
    pub(crate) const REFERENCE_TIMESTAMP_US: u32 = 6;
}

/// `CounterDescriptor`.
pub(crate) mod counter {
    pub(crate) const UNIT_MULTIPLIER: u32 = 4;
    pub(crate) const IS_INCREMENTAL: u32 = 5;
}

/// `TrackEvent`.
pub(crate) mod event {
    pub(crate) const TIMESTAMP_DELTA_US: u32 = 1;
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(crate) const LEGACY_EVENT: u32 = 6;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK_UUID: u32 = 11;
    pub(crate) const TIMESTAMP_ABSOLUTE_US: u32 = 16;
    pub(crate) const CATEGORIES: u32 = 22;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    /// Variable-length integers, in files of old producers.
    pub(crate) const FLOW_IDS_OLD: u32 = 36;
    pub(crate) const TERMINATING_FLOW_IDS_OLD: u32 = 42;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    /// Eight bytes per id.
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const TERMINATING_FLOW_IDS: u32 = 48;

    /// Values of `TYPE`.
    pub(crate) const SLICE_BEGIN: u64 = 1;
    pub(crate) const SLICE_END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// `TrackEvent.LegacyEvent`: the features of Chrome's format that track events lack.
pub(crate) mod legacy {
    pub(crate) const NAME_IID: u32 = 1;
    /// The phase letter of Chrome's format.
    pub(crate) const PHASE: u32 = 2;
    pub(crate) const DURATION_US: u32 = 3;
    pub(crate) const UNSCOPED_ID: u32 = 6;
    pub(crate) const ID_SCOPE: u32 = 7;
    pub(crate) const BIND_ID: u32 = 8;
    pub(crate) const LOCAL_ID: u32 = 10;
    pub(crate) const GLOBAL_ID: u32 = 11;
    pub(crate) const BIND_TO_ENCLOSING: u32 = 12;
    pub(crate) const FLOW_DIRECTION: u32 = 13;
    pub(crate) const INSTANT_SCOPE: u32 = 14;
    pub(crate) const PID_OVERRIDE: u32 = 18;
    pub(crate) const TID_OVERRIDE: u32 = 19;
}

/// `DebugAnnotation`.
pub(crate) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const BOOL: u32 = 2;
    pub(crate) const UINT: u32 = 3;
    pub(crate) const INT: u32 = 4;
    pub(crate) const DOUBLE: u32 = 5;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const POINTER: u32 = 7;
    pub(crate) const NESTED: u32 = 8;
    pub(crate) const LEGACY_JSON: u32 = 9;
    pub(crate) const NAME: u32 = 10;
    pub(crate) const DICT_ENTRIES: u32 = 11;
    pub(crate) const ARRAY_VALUES: u32 = 12;
    pub(crate) const STRING_IID: u32 = 17;
}

/// `DebugAnnotation.NestedValue`: the older encoding of containers.
pub(crate) mod nested {
    pub(crate) const TYPE: u32 = 1;
    pub(crate) const DICT_KEYS: u32 = 2;
    pub(crate) const DICT_VALUES: u32 = 3;
    pub(crate) const ARRAY_VALUES: u32 = 4;
    pub(crate) const INT: u32 = 5;
    pub(crate) const DOUBLE: u32 = 6;
    pub(crate) const BOOL: u32 = 7;
    pub(crate) const STRING: u32 = 8;

    /// Values of `TYPE`.
    pub(crate) const DICT: u64 = 1;
    pub(crate) const ARRAY: u64 = 2;
}
