//! The resource that determines how long a window takes.

use super::categories::Categories;
use super::piece::{Piece, PieceKind};
use crate::figures::gpu::DeviceWork;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::Op;

/// Resource that a path can be bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Launches of device work: calls and delays.
    Launch,
    /// Kernels that compute.
    DeviceCompute,
    /// Copies.
    Copies,
    /// Communication between ranks.
    Communication,
    /// Selecting the work of the next step.
    Scheduler,
    /// Selecting tokens.
    Sampling,
    /// Operations of the model that a thread computes.
    HostCompute,
    /// Other work of threads.
    HostWork,
    /// Waits for streams beyond the work itself.
    Synchronization,
    /// Locks and messages of other threads.
    OtherThreads,
    /// Time that nothing in the file explains.
    Unexplained,
}

impl Resource {
    /// All resources.
    const ALL: [Self; 11] = [
        Self::Launch,
        Self::DeviceCompute,
        Self::Copies,
        Self::Communication,
        Self::Scheduler,
        Self::Sampling,
        Self::HostCompute,
        Self::HostWork,
        Self::Synchronization,
        Self::OtherThreads,
        Self::Unexplained,
    ];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::DeviceCompute => "device_compute",
            Self::Copies => "copies",
            Self::Communication => "communication",
            Self::Scheduler => "scheduler",
            Self::Sampling => "sampling",
            Self::HostCompute => "host_compute",
            Self::HostWork => "host_work",
            Self::Synchronization => "synchronization",
            Self::OtherThreads => "other_threads",
            Self::Unexplained => "unexplained",
        }
    }

    /// Returns the resource of a piece; `None` if its cause is outside of the file.
    fn of_piece(trace: &Trace, categories: &mut Categories, piece: &Piece) -> Option<Self> {
        Some(match piece.kind {
            PieceKind::OutsideFile => return None,
            PieceKind::HostWork => of_host(trace, categories, piece),
            PieceKind::DeviceWork => of_device(trace, categories, piece),
            PieceKind::LaunchDelay => Self::Launch,
            PieceKind::DeviceGap => Self::DeviceCompute,
            PieceKind::StreamWait => Self::Synchronization,
            PieceKind::CopyWait => Self::Copies,
            PieceKind::RankWait => Self::Communication,
            PieceKind::LockWait | PieceKind::ThreadWait => Self::OtherThreads,
            PieceKind::Unexplained => Self::Unexplained,
        })
    }
}

fn of_host(trace: &Trace, categories: &mut Categories, piece: &Piece) -> Resource {
    let Some(slice) = piece.slice else { return Resource::HostWork };
    // Spans of an engine do the work of their category; operations of torch on the host submit it to a device.
    match Op::from_text(trace.strings.get(trace.slices.category[slice as usize])) {
        Some(Op::Comm) => return Resource::Communication,
        Some(Op::Scheduler) => return Resource::Scheduler,
        Some(Op::Sampling) => return Resource::Sampling,
        Some(Op::Memory) => return Resource::Copies,
        Some(_) => return Resource::HostCompute,
        None => {}
    }
    let class = categories.class(trace, slice);
    match categories.name(class) {
        "launch" => Resource::Launch,
        "sync" | "wait" => Resource::Synchronization,
        "comm" => Resource::Communication,
        "scheduler" => Resource::Scheduler,
        _ => Resource::HostWork,
    }
}

fn of_device(trace: &Trace, categories: &mut Categories, piece: &Piece) -> Resource {
    let Some(slice) = piece.slice else { return Resource::DeviceCompute };
    let text = |id| trace.strings.get(id);
    let (name, category) = (trace.slices.name[slice as usize], trace.slices.category[slice as usize]);
    let class = categories.class(trace, slice);
    let is_copy = crate::kineto::DEVICE_WORK.contains(&text(category)) && !is_kernel(text(category));
    match DeviceWork::of(text(name), text(category)) {
        _ if is_copy => Resource::Copies,
        DeviceWork::Copy => Resource::Copies,
        DeviceWork::Comm => Resource::Communication,
        DeviceWork::Comp => match Op::from_text(categories.name(class)) {
            Some(Op::Comm) => Resource::Communication,
            Some(Op::Sampling) => Resource::Sampling,
            _ => Resource::DeviceCompute,
        },
    }
}

fn is_kernel(category: &str) -> bool {
    category == crate::kineto::KERNEL || category == crate::kineto::KERNEL_2021
}

/// The resource that a path is bound by, and how certain that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The resource with the largest part of the path; `None` if the path has no time in the file.
    pub by: Option<Resource>,
    /// Its share of the time whose cause is in the file.
    pub share: f64,
    /// Share of the time that nothing explains.
    pub unexplained: f64,
    /// True if the resource has the largest part even if all unexplained time belongs to the next one.
    pub is_certain: bool,
    /// All resources on the path with their times, the largest first.
    pub resources: Vec<(Resource, i64)>,
}

impl Bound {
    /// Finds the resource that a path is bound by.
    pub(super) fn of(trace: &Trace, categories: &mut Categories, pieces: &[Piece]) -> Self {
        let mut times = Resource::ALL.map(|resource| (resource, 0_i64));
        for piece in pieces {
            let Some(resource) = Resource::of_piece(trace, categories, piece) else { continue };
            if let Some((_, time)) = times.iter_mut().find(|(known, _)| *known == resource) {
                *time = time.saturating_add(piece.duration());
            }
        }
        let mut resources: Vec<(Resource, i64)> = times.into_iter().filter(|(_, time)| *time > 0).collect();
        resources.sort_by_key(|&(resource, time)| (std::cmp::Reverse(time), resource));
        let whole = resources.iter().fold(0, |sum: i64, &(_, time)| sum.saturating_add(time));
        let share = |time: i64| if whole == 0 { 0.0 } else { time as f64 / whole as f64 };
        let of = |wanted: Resource| resources.iter().find(|(it, _)| *it == wanted).map_or(0, |&(_, time)| time);
        let unexplained = of(Resource::Unexplained);
        let known: Vec<(Resource, i64)> =
            resources.iter().copied().filter(|(it, _)| *it != Resource::Unexplained).collect();
        let first = known.first().map_or(0, |&(_, time)| time);
        let next = known.get(1).map_or(0, |&(_, time)| time);
        let by = known.first().filter(|_| first >= unexplained).or(resources.first()).map(|&(resource, _)| resource);
        Self {
            by,
            share: share(by.map_or(0, of)),
            unexplained: share(unexplained),
            is_certain: first > next.saturating_add(unexplained),
            resources,
        }
    }
}
