//! Field numbers of Perfetto's messages, as far as they are used here; one module per message.
//!
//! They come from `protos/perfetto/trace/trace_packet.proto`, `track_event/*.proto`,
//! `interned_data/interned_data.proto` and `clock_snapshot.proto` of Perfetto, which guarantees that they never change.

/// `Trace`: the whole file.
pub mod trace {
    pub const PACKET: u32 = 1;
}

/// `TracePacket`.
pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const TRUSTED_UID: u32 = 3;
    pub const CLOCK_SNAPSHOT: u32 = 6;
    /// Time on the clock `TIMESTAMP_CLOCK_ID`.
    pub const TIMESTAMP: u32 = 8;
    pub const TRUSTED_SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACE_CONFIG: u32 = 33;
    pub const SYNCHRONIZATION_MARKER: u32 = 36;
    pub const INCREMENTAL_STATE_CLEARED: u32 = 41;
    pub const PREVIOUS_PACKET_DROPPED: u32 = 42;
    pub const PROCESS_DESCRIPTOR: u32 = 43;
    pub const THREAD_DESCRIPTOR: u32 = 44;
    pub const SYSTEM_INFO: u32 = 45;
    /// A deflated `Trace`.
    pub const COMPRESSED_PACKETS: u32 = 50;
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub const DEFAULTS: u32 = 59;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const TRUSTED_PID: u32 = 79;
    pub const FIRST_ON_SEQUENCE: u32 = 87;
    pub const TRACE_UUID: u32 = 89;
    /// A `Trace` compressed with zstd.
    pub const ZSTD_COMPRESSED_PACKETS: u32 = 133;
}

/// Values of `TracePacket.sequence_flags`.
pub mod flags {
    pub const INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub const NEEDS_INCREMENTAL_STATE: u64 = 2;
}

/// `TracePacketDefaults`.
pub mod defaults {
    pub const TRACK_EVENT: u32 = 11;
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
}

/// `TrackEventDefaults`.
pub mod event_defaults {
    pub const TRACK_UUID: u32 = 11;
}

/// `ClockSnapshot`.
pub mod clock_snapshot {
    pub const CLOCK: u32 = 1;
    /// The clock of the times in the trace.
    pub const PRIMARY: u32 = 2;
}

/// `ClockSnapshot.Clock`.
pub mod clock {
    pub const ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const IS_INCREMENTAL: u32 = 3;
    pub const UNIT_MULTIPLIER_NS: u32 = 4;

    /// The clock on which old producers count from their reference time.
    pub const MONOTONIC: u64 = 3;
    /// The default clock of packets: nanoseconds since boot.
    pub const BOOTTIME: u64 = 6;
    /// The first id of the clocks that are local to a sequence of packets.
    pub const FIRST_OF_SEQUENCE: u64 = 64;
    /// The first id above the clocks that are local to a sequence.
    pub const FIRST_GLOBAL: u64 = 128;
}

/// `InternedData`. All its messages have the id in `IID` and the text in `TEXT`.
pub mod interned {
    pub const EVENT_CATEGORIES: u32 = 1;
    pub const EVENT_NAMES: u32 = 2;
    pub const ANNOTATION_NAMES: u32 = 3;
    pub const ANNOTATION_STRINGS: u32 = 29;

    pub const IID: u32 = 1;
    pub const TEXT: u32 = 2;
}

/// `TrackDescriptor`.
pub mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const THREAD: u32 = 4;
    pub const PARENT_UUID: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const STATIC_NAME: u32 = 10;
    pub const CHILD_ORDERING: u32 = 11;
    pub const SIBLING_ORDER_RANK: u32 = 12;
    pub const ATRACE_NAME: u32 = 13;

    /// Value of `CHILD_ORDERING`: by `SIBLING_ORDER_RANK` of the children.
    pub const EXPLICIT_ORDERING: u64 = 3;
}

/// `ProcessDescriptor`.
pub mod process {
    pub const PID: u32 = 1;
    pub const LEGACY_SORT_INDEX: u32 = 3;
    pub const NAME: u32 = 6;
    pub const LABELS: u32 = 8;
}

/// `ThreadDescriptor`.
pub mod thread {
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
    pub const LEGACY_SORT_INDEX: u32 = 3;
    pub const NAME: u32 = 5;
    pub const REFERENCE_TIMESTAMP_US: u32 = 6;
}

/// `CounterDescriptor`.
pub mod counter {
    pub const UNIT_MULTIPLIER: u32 = 4;
    pub const IS_INCREMENTAL: u32 = 5;
}

/// `TrackEvent`.
pub mod event {
    pub const TIMESTAMP_DELTA_US: u32 = 1;
    pub const CATEGORY_IIDS: u32 = 3;
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const LEGACY_EVENT: u32 = 6;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK_UUID: u32 = 11;
    pub const TIMESTAMP_ABSOLUTE_US: u32 = 16;
    pub const CATEGORIES: u32 = 22;
    pub const NAME: u32 = 23;
    pub const COUNTER_VALUE: u32 = 30;
    /// Variable-length integers, in files of old producers.
    pub const FLOW_IDS_OLD: u32 = 36;
    pub const TERMINATING_FLOW_IDS_OLD: u32 = 42;
    pub const DOUBLE_COUNTER_VALUE: u32 = 44;
    /// Eight bytes per id.
    pub const FLOW_IDS: u32 = 47;
    pub const TERMINATING_FLOW_IDS: u32 = 48;

    /// Values of `TYPE`.
    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// `TrackEvent.LegacyEvent`: the features of Chrome's format that track events lack.
pub mod legacy {
    pub const NAME_IID: u32 = 1;
    /// The phase letter of Chrome's format.
    pub const PHASE: u32 = 2;
    pub const DURATION_US: u32 = 3;
    pub const UNSCOPED_ID: u32 = 6;
    pub const ID_SCOPE: u32 = 7;
    pub const BIND_ID: u32 = 8;
    pub const LOCAL_ID: u32 = 10;
    pub const GLOBAL_ID: u32 = 11;
    pub const BIND_TO_ENCLOSING: u32 = 12;
    pub const FLOW_DIRECTION: u32 = 13;
    pub const INSTANT_SCOPE: u32 = 14;
    pub const PID_OVERRIDE: u32 = 18;
    pub const TID_OVERRIDE: u32 = 19;
}

/// `DebugAnnotation`.
pub mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const BOOL: u32 = 2;
    pub const UINT: u32 = 3;
    pub const INT: u32 = 4;
    pub const DOUBLE: u32 = 5;
    pub const STRING: u32 = 6;
    pub const POINTER: u32 = 7;
    pub const NESTED: u32 = 8;
    pub const LEGACY_JSON: u32 = 9;
    pub const NAME: u32 = 10;
    pub const DICT_ENTRIES: u32 = 11;
    pub const ARRAY_VALUES: u32 = 12;
    pub const STRING_IID: u32 = 17;
}

/// `DebugAnnotation.NestedValue`: the older encoding of containers.
pub mod nested {
    pub const TYPE: u32 = 1;
    pub const DICT_KEYS: u32 = 2;
    pub const DICT_VALUES: u32 = 3;
    pub const ARRAY_VALUES: u32 = 4;
    pub const INT: u32 = 5;
    pub const DOUBLE: u32 = 6;
    pub const BOOL: u32 = 7;
    pub const STRING: u32 = 8;

    /// Values of `TYPE`.
    pub const DICT: u64 = 1;
    pub const ARRAY: u64 = 2;
}
