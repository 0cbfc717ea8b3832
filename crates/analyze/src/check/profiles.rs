//! Checks samples of profiles: joins them to profiles, and finds those that viewers cannot use.

use super::findings::Findings;
use super::profile_sample::{ProfileSample, read_sample};
use super::rules::profiles::{PROFILE_DATA, PROFILE_ID};
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_model::{Order, ProcessId};
use hashbrown::{HashMap, HashSet};

/// All samples of a file. Perfetto distinguishes profiles by process and id, chrome://tracing by id alone.
#[derive(Debug, Default)]
pub(crate) struct ProfileLog {
    /// Latest profile by process and id, in the file's spelling.
    current: HashMap<(ProcessId, Option<String>), usize>,
    profiles: Vec<Profile>,
    /// Ids that are in use.
    ids: HashSet<u64>,
    /// Samples and their profiles.
    samples: Vec<(Order, usize)>,
    dropped: Vec<Order>,
}

#[derive(Debug)]
struct Profile {
    /// The first sample.
    order: Order,
    /// Nodes that samples may refer to.
    nodes: HashSet<u32>,
    needs_id: bool,
}

/// Changes to samples of profiles.
#[derive(Debug, Default)]
pub(crate) struct ProfilePlan {
    /// Samples that are left out.
    pub dropped: Vec<Order>,
    /// Samples that get another id.
    pub ids: Vec<(Order, u64)>,
}

impl ProfilePlan {
    /// Returns true if the sample is left out.
    pub(crate) fn is_dropped(&self, order: Order) -> bool {
        self.dropped.binary_search(&order).is_ok()
    }

    /// Returns the new id of a sample.
    pub(crate) fn id(&self, order: Order) -> Option<u64> {
        self.ids.binary_search_by_key(&order, |&(other, _)| other).ok().map(|place| self.ids[place].1)
    }
}

impl ProfileLog {
    /// Adds a sample.
    pub(crate) fn add(&mut self, event: &Event<'_>, process: ProcessId, order: Order) {
        match read_sample(event) {
            Ok(None) => {}
            Ok(Some(sample)) => self.add_sample(event, &sample, process, order),
            Err(_) => self.dropped.push(order),
        }
    }

    fn add_sample(&mut self, event: &Event<'_>, sample: &ProfileSample, process: ProcessId, order: Order) {
        let id = event.id.map(|id| id.decode().into_owned());
        let number = id.as_deref().and_then(profile_number);
        let key = (process, id.or_else(|| event.async_id().map(|(id, _)| format!("id2 {id}"))));
        let known = self.current.get(&key).copied();
        let begins_anew = sample.has_start && known.is_none_or(|known| !self.profiles[known].nodes.is_empty());
        let profile = match known {
            Some(known) if !begins_anew => known,
            // A sample without data has no faults.
            None if sample.is_empty() => return,
            None if !sample.has_start => return self.dropped.push(order),
            _ => {
                let needs_id = number.is_none_or(|number| !self.ids.insert(number));
                self.profiles.push(Profile { order, nodes: HashSet::new(), needs_id });
                self.current.insert(key, self.profiles.len() - 1);
                self.profiles.len() - 1
            }
        };
        if self.profiles[profile].takes(sample) {
            self.samples.push((order, profile));
        } else {
            self.dropped.push(order);
        }
    }

    /// Plans the changes.
    pub(crate) fn plan(self, findings: &mut Findings) -> ProfilePlan {
        let Self { profiles, mut ids, samples, dropped, .. } = self;
        let mut next = 1;
        let mut new_ids = Vec::with_capacity(profiles.len());
        for profile in &profiles {
            if !profile.needs_id {
                new_ids.push(None);
                continue;
            }
            findings.note_order(&PROFILE_ID, profile.order);
            while !ids.insert(next) {
                next += 1;
            }
            new_ids.push(Some(next));
        }
        for &order in &dropped {
            findings.note_order(&PROFILE_DATA, order);
        }
        let ids = samples.into_iter().filter_map(|(order, profile)| Some((order, new_ids[profile]?)));
        ProfilePlan { dropped, ids: ids.collect() }
    }
}

impl Profile {
    /// Adds the nodes of a sample. Returns false if it conflicts with the known nodes.
    fn takes(&mut self, sample: &ProfileSample) -> bool {
        let mut new = HashSet::new();
        for &(node, parent) in &sample.nodes {
            let has_parent = parent.is_none_or(|parent| self.nodes.contains(&parent) || new.contains(&parent));
            if !has_parent || self.nodes.contains(&node) || !new.insert(node) {
                return false;
            }
        }
        if !sample.samples.iter().all(|node| self.nodes.contains(node) || new.contains(node)) {
            return false;
        }
        self.nodes.extend(new);
        true
    }
}

/// Returns the number that Perfetto reads from the id of a profile, decimal or hexadecimal.
fn profile_number(id: &str) -> Option<u64> {
    match id.strip_prefix("0x").or_else(|| id.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')),
        None => id.parse().ok().filter(|_| !id.starts_with('+')),
    }
}
