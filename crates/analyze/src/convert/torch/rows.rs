//! Output tracks: tracks of hosts stay as they are, tracks of devices move to a process per device.

use super::super::output_numbers::OutputNumbers;
use crate::rewrite::json::text;
use ferrum_trace_model::vocab::device_track::{self, PREFIX};
use ferrum_trace_model::{ProcessId, StringId, Strings, TrackId, Tracks};
use hashbrown::HashSet;

/// Track in the output, with ids as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub pid: Vec<u8>,
    pub tid: Vec<u8>,
    /// The device stream, if any.
    pub stream: Option<Stream>,
}

/// A stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    /// Index of its device in [`Rows::devices`].
    pub device: u32,
    /// Number of the device.
    pub number: u32,
    /// Number of the stream; that of its track, if its name has none.
    pub stream: u32,
}

/// A device of a process.
#[derive(Clone, Debug)]
pub(super) struct DeviceProcess {
    /// The process that owns the device.
    pub host: ProcessId,
    /// Its number.
    pub number: u32,
    /// Number of the process that represents the device.
    pub pid: i32,
}

/// All tracks of a trace.
#[derive(Debug)]
pub(super) struct Rows {
    numbering: OutputNumbers,
    rows: Vec<Row>,
    /// Ids of processes, as JSON.
    pids: Vec<Vec<u8>>,
    /// Names of streams, by track; empty for tracks of hosts.
    queues: Vec<String>,
    processes: Vec<ProcessId>,
    /// The devices, in file order.
    pub devices: Vec<DeviceProcess>,
    taken_streams: HashSet<(u32, u32)>,
}

impl Rows {
    /// Assigns the output tracks of a trace.
    pub(super) fn of(tracks: &Tracks, strings: &Strings) -> Self {
        let spelled = |id: Option<StringId>| id.map_or_else(|| b"0".to_vec(), |id| id_json(strings.get(id)));
        let mut rows = Self {
            numbering: OutputNumbers::of(tracks, strings),
            rows: Vec::new(),
            pids: tracks.processes().map(|(_, process)| spelled(process.pid)).collect(),
            queues: Vec::new(),
            processes: tracks.iter().map(|(_, track)| track.process).collect(),
            devices: Vec::new(),
            taken_streams: HashSet::new(),
        };
        for (id, track) in tracks.iter() {
            let device = track.name.and_then(|name| device_track::parse(strings.get(name)));
            let row = match device {
                Some(it) => rows.device_row(track.process, it.device, it.stream(), rows.numbering.tid(id)),
                None => Row { pid: rows.pids[track.process.index()].clone(), tid: spelled(track.tid), stream: None },
            };
            let queue = device.map_or("", |it| if it.queue.is_empty() { "queue" } else { it.queue });
            rows.queues.push(queue.to_owned());
            rows.rows.push(row);
        }
        rows
    }

    /// Returns the output track of a track.
    pub(super) fn of_track(&self, track: TrackId) -> &Row {
        &self.rows[track.index()]
    }

    /// Returns the name of the stream of a track.
    pub(super) fn queue(&self, track: TrackId) -> &str {
        &self.queues[track.index()]
    }

    /// Returns an extra track of a stream, for slices that overlap others.
    pub(super) fn beside(&mut self, track: TrackId) -> Row {
        let host = self.processes[track.index()];
        let number = self.rows[track.index()].stream.map_or(0, |stream| stream.number);
        let tid = self.numbering.another_tid();
        self.device_row(host, number, None, tid)
    }

    /// Returns a track of a host that the trace does not have.
    pub(super) fn another_of_host(&mut self, host: ProcessId) -> Row {
        Row { pid: self.pids[host.index()].clone(), tid: self.numbering.another_tid().to_string().into(), stream: None }
    }

    /// Returns the field in which torch's traces list their devices.
    pub(super) fn device_properties(&self) -> Vec<u8> {
        let spell = |device: &DeviceProcess| format!("{{\"id\":{0},\"name\":\"{PREFIX}{0}\"}}", device.number);
        let devices: Vec<String> = self.devices.iter().map(spell).collect();
        format!("[{}]", devices.join(",")).into()
    }

    fn device_row(&mut self, host: ProcessId, number: u32, stream: Option<u32>, tid: i32) -> Row {
        let known = self.devices.iter().position(|device| (device.host, device.number) == (host, number));
        let device = known.unwrap_or_else(|| {
            let pid = self.numbering.another_pid();
            self.devices.push(DeviceProcess { host, number, pid });
            self.devices.len() - 1
        }) as u32;
        let stream = stream.filter(|stream| !self.taken_streams.contains(&(device, *stream)));
        let stream = stream.unwrap_or(tid.unsigned_abs());
        self.taken_streams.insert((device, stream));
        let pid = self.devices[device as usize].pid.to_string().into();
        Row { pid, tid: tid.to_string().into(), stream: Some(Stream { device, number, stream }) }
    }
}

/// Returns an id as JSON: a number if it is spelled as one.
fn id_json(id: &str) -> Vec<u8> {
    let is_number = id.parse::<i64>().is_ok_and(|number| number.to_string() == id);
    if is_number { id.into() } else { text(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_move_to_a_process_per_device() {
        let (mut strings, mut tracks) = (Strings::default(), Tracks::default());
        let names = ["main", "GPU 0 / stream 7", "GPU 0 / queue", "GPU 1 / stream 7", "GPU 0 / stream 7 (2)"];
        for (tid, name) in (10..).zip(names) {
            let [pid, tid, name] = ["1", &tid.to_string(), name].map(|text| strings.intern(text));
            let track = tracks.track(Some(pid), Some(tid));
            tracks.get_mut(track).name = Some(name);
        }
        let text_id = Some(strings.intern("stream 7"));
        tracks.track(text_id, text_id);
        let mut rows = Rows::of(&tracks, &strings);
        let spelled = |row: &Row| {
            let stream = row.stream.map(|it| (it.number, it.stream));
            (String::from_utf8(row.pid.clone()).unwrap(), String::from_utf8(row.tid.clone()).unwrap(), stream)
        };
        let [first, second] = [rows.devices[0].pid.to_string(), rows.devices[1].pid.to_string()];
        let of = |rows: &Rows, n| spelled(rows.of_track(TrackId(n)));
        assert_eq!(of(&rows, 0), ("1".into(), "10".into(), None));
        assert_eq!(of(&rows, 1), (first.clone(), "11".into(), Some((0, 7))));
        assert_eq!(of(&rows, 2), (first.clone(), "12".into(), Some((0, 12))));
        assert_eq!(of(&rows, 3), (second, "13".into(), Some((1, 7))));
        assert_eq!(of(&rows, 4), (first.clone(), "14".into(), Some((0, 14))));
        assert_eq!(of(&rows, 5), ("\"stream 7\"".into(), "\"stream 7\"".into(), None));
        let beside = spelled(&rows.beside(TrackId(1)));
        assert_eq!((beside.0, beside.2.map(|it| it.0)), (first, Some(0)));
        assert_eq!(rows.queue(TrackId(1)), "stream 7");
        let properties = String::from_utf8(rows.device_properties()).unwrap();
        assert_eq!(properties, r#"[{"id":0,"name":"GPU 0"},{"id":1,"name":"GPU 1"}]"#);
    }
}
