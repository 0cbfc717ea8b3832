//! Names and order of processes in the merged trace.

use super::merged::MergedProcess;
use super::survey::Surveyed;
use crate::rewrite::json::{metadata, naming, text};
use crate::rewrite::numbering::Numbers;
use ferrum_trace_model::vocab::about::RANK_LABEL;
use ferrum_trace_model::{ProcessId, StringId};

/// Maximum number of processes of a rank that keep their relative order.
const PLACES_OF_RANK: usize = 1024;

/// Returns the processes of a file with their names in the merged trace, in order.
pub(super) fn processes(file: &Surveyed, numbers: &Numbers) -> Vec<(ProcessId, MergedProcess)> {
    let mut processes: Vec<(ProcessId, MergedProcess)> =
        file.tracks.processes().filter_map(|(id, _)| Some((id, process(file, numbers, id)?))).collect();
    let sort_index = |id: ProcessId| file.tracks.get_process(id).sort_index.unwrap_or(i64::MAX);
    processes.sort_by_key(|(id, process)| (process.rank.unwrap_or(u32::MAX), sort_index(*id), *id));
    processes
}

fn process(file: &Surveyed, numbers: &Numbers, id: ProcessId) -> Option<MergedProcess> {
    let process = file.tracks.get_process(id);
    let text = |text: Option<StringId>| text.map_or("", |text| file.strings.get(text));
    let (pid, old_pid, rank) = (numbers.pid(id)?.number, text(process.pid).to_owned(), file.rank_of(id));
    let labels = text(process.labels);
    let name = match text(process.name) {
        // Torch gives devices the name of the program, and identifies them in the label.
        _ if labels.starts_with("GPU") => labels.to_owned(),
        "" if old_pid.is_empty() => "no process".to_owned(),
        "" if old_pid.bytes().all(|byte| byte.is_ascii_digit()) => format!("process {old_pid}"),
        "" => old_pid.clone(),
        name => name.to_owned(),
    };
    Some(MergedProcess { name: ranked(&name, &old_pid, rank), pid, old_pid, rank })
}

/// Returns a name like `rank 3: python 1234`.
fn ranked(name: &str, old_pid: &str, rank: Option<u32>) -> String {
    let Some(rank) = rank else {
        return name.to_owned();
    };
    let prefix = format!("{RANK_LABEL}{rank}: ");
    let is_number = !old_pid.is_empty() && old_pid != "0" && old_pid.bytes().all(|byte| byte.is_ascii_digit());
    match name.strip_prefix(&prefix) {
        // The name has the prefix already, from an earlier merge.
        Some(_) => name.to_owned(),
        None if is_number && !name.ends_with(old_pid) && !name.starts_with("GPU") => {
            format!("{prefix}{name} {old_pid}")
        }
        None => format!("{prefix}{name}"),
    }
}

/// Returns the metadata events for this: name, labels and order of each process, names of threads that have another
/// number.
pub(super) fn describe(
    file: &Surveyed,
    numbers: &Numbers,
    processes: &[(ProcessId, MergedProcess)],
    place: usize,
) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    for (n, (id, process)) in processes.iter().enumerate() {
        events.push(naming("process_name", process.pid, None, &process.name));
        let labels = labels(file, *id, process);
        if !labels.is_empty() {
            let labels = [b"{\"labels\":", &text(&labels)[..], b"}"].concat();
            events.push(metadata("process_labels", process.pid, None, &labels));
        }
        let index = place.saturating_mul(PLACES_OF_RANK).saturating_add(n).min(i32::MAX as usize);
        events.push(metadata(
            "process_sort_index",
            process.pid,
            None,
            format!("{{\"sort_index\":{index}}}").as_bytes(),
        ));
    }
    for (id, track) in file.tracks.iter() {
        let old = track.tid.map_or("no thread", |tid| file.strings.get(tid));
        let (Some(pid), Some(tid)) =
            (numbers.pid(track.process).map(|pid| pid.number), numbers.tid(id).map(|tid| tid.number))
        else {
            continue;
        };
        if track.name.is_none() && tid.to_string() != old {
            let old = if old.is_empty() { "no thread" } else { old };
            events.push(naming("thread_name", pid, Some(tid), old));
        }
    }
    events
}

/// Returns the labels of a process in the file, its rank, and its old number if it has another one now.
fn labels(file: &Surveyed, id: ProcessId, process: &MergedProcess) -> String {
    let old = file.tracks.get_process(id).labels.map_or("", |labels| file.strings.get(labels));
    let rank = process.rank.map(|rank| format!("{RANK_LABEL}{rank}"));
    let old_pid = Some(format!("pid {}", process.old_pid))
        .filter(|_| !process.old_pid.is_empty() && process.old_pid != process.pid.to_string());
    let mut labels: Vec<String> = old.split(", ").filter(|label| !label.is_empty()).map(str::to_owned).collect();
    for label in [rank, old_pid].into_iter().flatten() {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_rank_and_process_once() {
        assert_eq!(ranked("python", "1234", Some(3)), "rank 3: python 1234");
        assert_eq!(ranked("rank 3: python 1234", "1234", Some(3)), "rank 3: python 1234");
        assert_eq!(ranked("GPU 0", "0", Some(3)), "rank 3: GPU 0");
        assert_eq!(ranked("Spans", "Spans", Some(3)), "rank 3: Spans");
        assert_eq!(ranked("python", "1234", None), "python");
    }
}
