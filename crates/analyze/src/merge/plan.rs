//! Plan of the merged trace, made from the first pass over all inputs.

use super::align::{self, Aligned, Alignment};
use super::error::Error;
use super::file_numbers::number_all;
use super::handovers::HandOvers;
use super::input::Input;
use super::marks::{Marks, Owner};
use super::merged::{Merged, MergedInput, MergedProcess};
use super::names::{describe, processes};
use super::one_run::{NotRanks, Participant, not_ranks};
use super::options::{MergeOptions, MergedForm};
use super::parts::leaders;
use super::rewriter::FilePlan;
use super::skew::{Compared, Skew, skew};
use super::survey::{Survey, Surveyed};
use crate::check::texts::mend_texts;
use crate::kineto;
use crate::rewrite::edit::Edits;
use crate::rewrite::fields::Fields;
use crate::rewrite::json::{metadata, text};
use ferrum_trace_format::chrome::ARGS_STRIPPED;
use ferrum_trace_format::chrome::METADATA_CATEGORY;
use ferrum_trace_format::chrome::read::{for_each, repair_numbers};
use ferrum_trace_model::vocab::about::RANK_LABEL;
use hashbrown::{HashMap, HashSet};

/// Name of the event that describes the merge of an input.
const MERGE: &str = "ferrum_trace_merge";

/// Plan of the merged trace.
#[derive(Debug)]
pub(super) struct Plan {
    /// Files by rank, then in the order of the inputs.
    pub files: Vec<FilePlan>,
    /// Index of each file among the inputs.
    pub order: Vec<usize>,
    /// Fields around the events: keys and values as JSON.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Events before those of the inputs.
    pub header: Vec<Vec<u8>>,
}

/// Reads all inputs once.
pub(super) fn plan(inputs: &[Input], options: &MergeOptions) -> Result<(Plan, Merged), Error> {
    let mut marks = Marks::default();
    let mut hand_overs = HandOvers::default();
    let mut files = Vec::new();
    for (place, input) in inputs.iter().enumerate() {
        let mut survey = Survey::new(place as u32, &mut marks, &mut hand_overs);
        let read = (input.open)().and_then(|stream| for_each(stream, &mut survey));
        let outline = read.map_err(|cause| Error::Input { place, name: input.name.clone(), cause })?;
        let mut file = survey.finish();
        file.recordings = outline.recordings;
        file.rank = input.rank.or(file.rank).or_else(|| only_rank(&file)).or(input.rank_if_unknown);
        if input.rank.is_some() {
            file.ranks.fill(None);
        }
        files.push(file);
    }
    let order = by_rank(&files);
    // The results so far use the order of the inputs.
    let mut new_place = vec![0; files.len()];
    for (new, &old) in order.iter().enumerate() {
        new_place[old] = new as u32;
    }
    let mut slots: Vec<Option<Surveyed>> = files.into_iter().map(Some).collect();
    let files: Vec<Surveyed> = order.iter().filter_map(|&place| slots[place].take()).collect();
    let leaders = leaders(&files);
    let participants = Participants::of(&files, &leaders);
    let place_of = |owner: Owner| Owner { file: new_place[owner.file as usize], ..owner };
    let groups = marks.group(|owner| participants.of_owner(place_of(owner)), &new_place).map_err(Error::Spill)?;
    let aligned = align::align(&files, &groups, hand_overs, &new_place, options.align).map_err(Error::Spill)?;
    let compare = |compared| skew(compared, &groups, &aligned.maps, &participants.labels).map_err(Error::Spill);
    let (mut collectives, mut steps) = (compare(Compared::Collectives)?, compare(Compared::Steps)?);
    let not_ranks = not_ranks(&files, &leaders, &participants.members, &aligned.alignments, [&collectives, &steps]);
    if not_ranks.is_some() {
        (collectives, steps) = (Skew::default(), Skew::default());
    }
    Ok(assemble(
        inputs,
        Files { files, order, leaders },
        aligned,
        Found { not_ranks, collectives, steps, n_uncompared: groups.n_beyond },
        options,
    ))
}

/// All inputs, in the order of the merged trace.
struct Files {
    files: Vec<Surveyed>,
    /// Index of each file among the inputs.
    order: Vec<usize>,
    /// First file of the recording of each file.
    leaders: Vec<usize>,
}

struct Found {
    not_ranks: Option<NotRanks>,
    collectives: Skew,
    steps: Skew,
    n_uncompared: u64,
}

fn assemble(
    inputs: &[Input],
    Files { files, order, leaders }: Files,
    aligned: Aligned,
    found: Found,
    options: &MergeOptions,
) -> (Plan, Merged) {
    let numbers = number_all(&files, &leaders);
    let mut described = HashSet::new();
    let mut header = Vec::new();
    let mut merged_inputs = Vec::new();
    let shared: HashSet<&[u8]> = shared_fields(&files).map(|(key, _)| &key[..]).collect();
    for (n, file) in files.iter().enumerate() {
        let processes = processes(file, &numbers[n]);
        let new: Vec<_> = processes.iter().filter(|(_, process)| described.insert(process.pid)).cloned().collect();
        header.extend(describe(file, &numbers[n], &new, n));
        let place = order[n];
        let merged = MergedInput {
            place,
            name: inputs[place].name.clone(),
            rank: file.rank,
            host: file.anchor.host.clone(),
            alignment: aligned.alignments[n],
            processes: processes.into_iter().map(|(_, process)| process).collect(),
            n_events: file.n_events,
            losses: file.losses.clone(),
            recordings: file.recordings.clone(),
        };
        header.push(description(&merged, &file.fields, &shared, options.form));
        merged_inputs.push(merged);
    }
    drop(shared);
    let fields = fields(&files, aligned.start_unix_ns);
    let merged = Merged {
        inputs: merged_inputs,
        n_events: 0,
        start_unix_ns: aligned.start_unix_ns,
        not_ranks: found.not_ranks,
        collectives: found.collectives,
        steps: found.steps,
        n_fields_lost: files.iter().map(|file| file.fields.n_lost).sum(),
        n_uncompared: found.n_uncompared,
    };
    let start_unix_ns = aligned.start_unix_ns;
    let plans = files.into_iter().zip(numbers).zip(aligned.maps).enumerate().map(|(place, ((file, numbers), map))| {
        let Surveyed { strings, tracks, part, .. } = file;
        let (recording, is_part) = (leaders[place] as u32, part.is_some());
        FilePlan { strings, tracks, numbers, map, start_unix_ns, recording, is_part }
    });
    (Plan { files: plans.collect(), order, fields, header }, merged)
}

/// Returns the rank of all processes that have one, if it is the same.
fn only_rank(file: &Surveyed) -> Option<u32> {
    let mut ranks = file.ranks.iter().flatten();
    let first = ranks.next().copied()?;
    ranks.all(|&rank| rank == first).then_some(first)
}

/// Returns the indices of files by rank, files without one last. Files of one recording stay together, in their order.
fn by_rank(files: &[Surveyed]) -> Vec<usize> {
    let rank = |file: &Surveyed| file.rank.or_else(|| file.ranks.iter().flatten().copied().min()).unwrap_or(u32::MAX);
    let leaders = leaders(files);
    let part = |file: &Surveyed| file.part.as_ref().map_or(0, |part| part.number);
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_cached_key(|&place| (rank(&files[place]), leaders[place], part(&files[place]), place));
    order
}

/// Participants of the comparison: ranks, or processes if there are no ranks.
struct Participants {
    labels: Vec<String>,
    /// In the order of the labels.
    members: Vec<Participant>,
    /// Participant by file and process.
    places: Vec<Vec<u32>>,
}

impl Participants {
    fn of(files: &[Surveyed], leaders: &[usize]) -> Self {
        let (mut labels, mut members, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_ranks: HashMap<(usize, u32), u32> = HashMap::new();
        let mut of_processes: HashMap<(usize, Option<String>), u32> = HashMap::new();
        for (file, &leader) in files.iter().zip(leaders) {
            let mut of_file = Vec::new();
            for (id, process) in file.tracks.processes() {
                let rank = file.rank_of(id);
                let mut another = |label: String| {
                    labels.push(label);
                    members.push(Participant { leader, rank });
                    labels.len() as u32 - 1
                };
                of_file.push(match rank {
                    Some(rank) => {
                        let label = || another(format!("{RANK_LABEL}{rank}"));
                        *of_ranks.entry((leader, rank)).or_insert_with(label)
                    }
                    None => {
                        let text = |id: Option<_>| id.map_or("", |id| file.strings.get(id));
                        let (name, pid) = (text(process.name), text(process.pid));
                        let label = || another(format!("{name} {pid}").trim().to_owned());
                        let key = (leader, process.pid.map(|_| pid.to_owned()));
                        *of_processes.entry(key).or_insert_with(label)
                    }
                });
            }
            places.push(of_file);
        }
        Self { labels, members, places }
    }

    fn of_owner(&self, owner: Owner) -> u32 {
        let of_file = self.places.get(owner.file as usize);
        of_file.and_then(|of_file| of_file.get(owner.process as usize)).copied().unwrap_or(u32::MAX)
    }
}

/// Returns the fields that all files share, and time zero.
fn fields(files: &[Surveyed], start_unix_ns: Option<i128>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let base_time = kineto::BASE_TIME.as_bytes();
    let is_torch = files.iter().any(|file| file.fields.get(base_time).is_some());
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> = shared_fields(files).cloned().collect();
    if let Some(start) = start_unix_ns.filter(|_| is_torch) {
        fields.push((base_time.to_owned(), start.to_string().into_bytes()));
    }
    fields
}

fn shared_fields(files: &[Surveyed]) -> impl Iterator<Item = &(Vec<u8>, Vec<u8>)> {
    let first = files.first().map_or(&[][..], |file| &file.fields.kept[..]);
    let is_everywhere = |key: &[u8], value: &[u8]| files.iter().all(|file| file.fields.get(key) == Some(value));
    first.iter().filter(move |(key, value)| key != kineto::BASE_TIME.as_bytes() && is_everywhere(key, value))
}

/// Returns the event that describes the merge of an input.
fn description(input: &MergedInput, fields: &Fields, shared: &HashSet<&[u8]>, form: MergedForm) -> Vec<u8> {
    let Alignment { by, offset_ns, drift_ppb, error_ns, n_facts, is_contradictory } = input.alignment;
    let mut args = b"{\"file\":".to_vec();
    args.extend(text(&input.name));
    if let Some(host) = &input.host {
        args.extend_from_slice(b",\"host\":");
        args.extend(text(host));
    }
    if let Some(rank) = input.rank {
        args.extend(format!(",\"rank\":{rank}").into_bytes());
    }
    let error = error_ns.map_or("\"unknown\"".to_owned(), |error| error.to_string());
    args.extend(
        format!(
            ",\"aligned_by\":\"{}\",\"offset_ns\":{offset_ns},\"drift_ppb\":{drift_ppb},\"error_ns\":{error},\"facts\":{n_facts}",
            by.name()
        )
        .into_bytes(),
    );
    if is_contradictory {
        args.extend_from_slice(b",\"contradictory\":true");
    }
    args.extend_from_slice(b",\"processes\":[");
    for (n, MergedProcess { pid, old_pid, .. }) in input.processes.iter().enumerate() {
        let comma = if n > 0 { "," } else { "" };
        args.extend(format!("{comma}{{\"pid\":{pid},\"old_pid\":").into_bytes());
        args.extend(text(old_pid));
        args.push(b'}');
    }
    args.push(b']');
    push_own_fields(&mut args, fields, shared);
    args.push(b'}');
    // Values of the file are copied unchanged.
    let args = mend_texts(&args).unwrap_or(args);
    let args = repair_numbers(&args);
    let pid = input.processes.first().map_or(0, |process| process.pid);
    let mut edits = Edits::default();
    edits.set(ARGS_STRIPPED, "true");
    let event = edits.apply(&metadata(MERGE, pid, None, &args), None);
    if form != MergedForm::Perfetto {
        return event;
    }
    // Perfetto has no custom metadata: there it is an instant of the process, which our reader turns into metadata
    // again.
    let head = format!(
        "{{\"ph\":\"i\",\"s\":\"p\",\"name\":\"{MERGE}\",\"cat\":\"{METADATA_CATEGORY}\",\"ts\":0,\"pid\":{pid},\"args\":"
    );
    [head.as_bytes(), &args, b"}"].concat()
}

/// Adds the fields around the events that the inputs do not share.
fn push_own_fields(args: &mut Vec<u8>, fields: &Fields, shared: &HashSet<&[u8]>) {
    let own = fields.kept.iter().filter(|(key, _)| !shared.contains(&key[..]) && key != b"traceEvents");
    let mut is_first = true;
    for (key, value) in own {
        args.extend_from_slice(if is_first { b",\"fields\":{\"" } else { b",\"" });
        is_first = false;
        args.extend_from_slice(key);
        args.extend_from_slice(b"\":");
        args.extend_from_slice(value);
    }
    if !is_first {
        args.push(b'}');
    }
}
