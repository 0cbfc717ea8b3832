//! Collectives: bytes that each rank sends over its links.

use super::counts::product;
use super::op_work::OpWork;

/// Kind of a collective, by the data that each rank has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    /// Every rank gets the sum of all.
    AllReduce,
    /// Every rank gets the data of all.
    AllGather,
    /// Every rank gets its part of the sum of all.
    ReduceScatter,
    /// Every rank gets a part of the data of each other.
    AllToAll,
    /// Data of one rank for all, or of all for one, or from one to another.
    OneWay,
}

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collective {
    /// Its kind.
    pub(crate) kind: CollectiveKind,
    /// Bytes of the whole data: the result of an all-gather, the input of any other.
    pub(crate) bytes: u64,
    /// Number of ranks.
    pub(crate) ranks: u64,
}

impl CollectiveKind {
    /// Returns the kind that a name states, such as `all_reduce` or `_reduce_scatter_base`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let plain: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        let kinds = [
            ("allreduce", Self::AllReduce),
            ("allgather", Self::AllGather),
            ("reducescatter", Self::ReduceScatter),
            ("alltoall", Self::AllToAll),
            ("broadcast", Self::OneWay),
            ("reduce", Self::OneWay),
            ("gather", Self::OneWay),
            ("scatter", Self::OneWay),
            ("send", Self::OneWay),
            ("recv", Self::OneWay),
        ];
        kinds.into_iter().find(|(text, _)| plain.contains(text)).map(|(_, kind)| kind)
    }
}

impl Collective {
    /// Returns the bytes of the bus bandwidth: the data that each rank has to send, whatever the algorithm.
    pub(crate) fn work(&self) -> OpWork {
        let others = self.ranks.saturating_sub(1);
        let share = |factor: u64| {
            let all = u128::from(product(&[factor, others])) * u128::from(self.bytes);
            u64::try_from(all / u128::from(self.ranks.max(1))).unwrap_or(u64::MAX)
        };
        let bytes = match self.kind {
            CollectiveKind::AllReduce => share(2),
            CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll => share(1),
            CollectiveKind::OneWay => self.bytes,
        };
        OpWork { flop: 0, bytes: Some(bytes) }
    }

    /// Returns its shape as text.
    pub(crate) fn shape(&self) -> String {
        format!("bytes={} ranks={}", self.bytes, self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bus_bandwidth_counts_what_a_rank_sends() {
        let bytes = |kind| Collective { kind, bytes: 800, ranks: 8 }.work().bytes;
        assert_eq!(bytes(CollectiveKind::AllReduce), Some(1400));
        assert_eq!(bytes(CollectiveKind::AllGather), Some(700));
        assert_eq!(bytes(CollectiveKind::OneWay), Some(800));
        let alone = Collective { kind: CollectiveKind::AllReduce, bytes: 800, ranks: 1 };
        assert_eq!(alone.work().bytes, Some(0));
    }

    #[test]
    fn names_of_all_tools_are_known() {
        let cases = [
            ("all_reduce", CollectiveKind::AllReduce),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", CollectiveKind::AllReduce),
            ("_allgather_base", CollectiveKind::AllGather),
            ("reduce_scatter_tensor_coalesced", CollectiveKind::ReduceScatter),
            ("gloo:broadcast", CollectiveKind::OneWay),
        ];
        for (name, kind) in cases {
            assert_eq!(CollectiveKind::of_name(name), Some(kind), "{name}");
        }
        assert_eq!(CollectiveKind::of_name("barrier"), None);
    }
}
