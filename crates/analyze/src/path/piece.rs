//! Pieces of a critical path.

use ferrum_trace_model::TrackId;

/// Kind of time on a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    /// A thread works.
    HostWork,
    /// A device works.
    DeviceWork,
    /// From the begin of the call that launches work to the start of the work, on an idle stream.
    LaunchDelay,
    /// Between two works of a device that follow each other.
    DeviceGap,
    /// A thread returns from a wait for a stream, or still waits where the window ends.
    StreamWait,
    /// The same for a copy.
    CopyWait,
    /// A thread acquires a lock.
    LockWait,
    /// Between a message of another thread and the work that follows it.
    ThreadWait,
    /// Between the begin of a collective on another rank and the work that follows it.
    RankWait,
    /// Nothing in the file explains the time.
    Unexplained,
    /// The cause lies before or after the time that the file covers, or in work that it does not have.
    OutsideFile,
}

impl PieceKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::HostWork,
        Self::DeviceWork,
        Self::LaunchDelay,
        Self::DeviceGap,
        Self::StreamWait,
        Self::CopyWait,
        Self::LockWait,
        Self::ThreadWait,
        Self::RankWait,
        Self::Unexplained,
        Self::OutsideFile,
    ];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostWork => "host_work",
            Self::DeviceWork => "device_work",
            Self::LaunchDelay => "launch_delay",
            Self::DeviceGap => "device_gap",
            Self::StreamWait => "stream_wait",
            Self::CopyWait => "copy_wait",
            Self::LockWait => "lock_wait",
            Self::ThreadWait => "thread_wait",
            Self::RankWait => "rank_wait",
            Self::Unexplained => "unexplained",
            Self::OutsideFile => "outside_file",
        }
    }

    /// Returns a description for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::HostWork => "host work",
            Self::DeviceWork => "device work",
            Self::LaunchDelay => "launch delay",
            Self::DeviceGap => "between kernels",
            Self::StreamWait => "waiting for a stream",
            Self::CopyWait => "waiting for a copy",
            Self::LockWait => "waiting for a lock",
            Self::ThreadWait => "waiting for another thread",
            Self::RankWait => "waiting for another rank",
            Self::Unexplained => "unexplained idle time",
            Self::OutsideFile => "outside the file",
        }
    }
}

/// A piece of a critical path. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Its kind.
    pub kind: PieceKind,
    /// Its slice: the one that works or waits, or that starts after a delay; `None` if no slice is known.
    pub slice: Option<u32>,
    /// Track of the thread or stream.
    pub track: TrackId,
}

impl Piece {
    /// Returns its length.
    pub fn duration(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}
