//! One sample of a profile (`P`), as V8 writes it.

use ferrum_trace_format::chrome::read::{Event, Scalar, for_each_element, for_each_member};

/// Name of samples in the legacy format.
const LEGACY_SAMPLE: &str = "V8Sample";

/// Sample that viewers can read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProfileSample {
    /// True if it states the begin of the profile.
    pub has_start: bool,
    /// Nodes that it defines, with the ids of their parents.
    pub nodes: Vec<(u32, Option<u32>)>,
    /// Nodes that it refers to.
    pub samples: Vec<u32>,
}

impl ProfileSample {
    /// Returns true if the sample has no data.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Error: some viewer cannot read the sample.
#[derive(Debug, PartialEq)]
pub(super) struct Unreadable;

/// Reads the data of a sample. Returns `None` if there is none, or if it is in the legacy format.
pub(super) fn read_sample(event: &Event<'_>) -> Result<Option<ProfileSample>, Unreadable> {
    let args = event.args.unwrap_or(b"{}");
    if args == b"null" {
        return Err(Unreadable);
    }
    let is_legacy = event.name.is_some_and(|name| name.decode() == LEGACY_SAMPLE);
    match (member(args, b"data"), is_legacy) {
        (Some(Scalar::Other(data)), true) if is_legacy_data(data) => Ok(None),
        (_, true) => Err(Unreadable),
        (None, false) => Ok(None),
        (Some(Scalar::Other(data)), false) if data.starts_with(b"{") => read_data(data).map(Some),
        (Some(_), false) => Err(Unreadable),
    }
}

fn is_legacy_data(data: &[u8]) -> bool {
    let has_stack = matches!(member(data, b"stack"), Some(Scalar::Other([b'[', ..])));
    has_stack && matches!(member(data, b"vm_state"), Some(Scalar::Text(_)))
}

fn read_data(data: &[u8]) -> Result<ProfileSample, Unreadable> {
    let mut sample = ProfileSample::default();
    let mut n_times = 0;
    let mut read = |key: &[u8], value: Scalar<'_>| {
        match (key, value) {
            (b"startTime", value) => {
                sample.has_start = true;
                time(value)?;
            }
            (b"timeDeltas", Scalar::Other(times @ [b'[', ..])) => {
                n_times = each(times, |element| time(Scalar::Other(element)).map(|_| ()))?;
            }
            (b"cpuProfile", Scalar::Other(profile @ [b'{', ..])) => read_profile(profile, &mut sample)?,
            (b"timeDeltas" | b"cpuProfile", _) | (_, Scalar::Other(b"null")) => return Err(Unreadable),
            // chrome://tracing takes it for a profile of an unknown kind.
            (_, Scalar::Other(other)) if [&b"nodes"[..], b"samples"].iter().any(|key| member(other, key).is_some()) => {
                return Err(Unreadable);
            }
            _ => {}
        }
        Ok(())
    };
    all_members(data, &mut read)?;
    if n_times == sample.samples.len() { Ok(sample) } else { Err(Unreadable) }
}

fn read_profile(profile: &[u8], sample: &mut ProfileSample) -> Result<(), Unreadable> {
    all_members(profile, |key, value| match (key, value) {
        (b"nodes", Scalar::Other(nodes @ [b'[', ..])) => {
            each(nodes, |node| {
                sample.nodes.push(read_node(node)?);
                Ok(())
            })?;
            Ok(())
        }
        (b"samples", Scalar::Other(samples @ [b'[', ..])) => {
            each(samples, |element| {
                sample.samples.push(whole(Scalar::Other(element))?);
                Ok(())
            })?;
            Ok(())
        }
        (b"nodes" | b"samples", _) => Err(Unreadable),
        _ => Ok(()),
    })
}

fn read_node(node: &[u8]) -> Result<(u32, Option<u32>), Unreadable> {
    let Some(Scalar::Other(frame)) = member(node, b"callFrame") else {
        return Err(Unreadable);
    };
    let is_text = |value: Option<Scalar<'_>>| matches!(value, Some(Scalar::Text(_)));
    let url = member(frame, b"url");
    if !is_text(member(frame, b"functionName")) || (url.is_some() && !is_text(url)) {
        return Err(Unreadable);
    }
    let id = whole(member(node, b"id").ok_or(Unreadable)?)?;
    Ok((id, member(node, b"parent").map(whole).transpose()?))
}

/// Parses an integer of 32 bits.
fn whole(value: Scalar<'_>) -> Result<u32, Unreadable> {
    let number = time(value)?;
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    if is_whole { Ok(number as u32) } else { Err(Unreadable) }
}

/// Parses a number of microseconds, or any other number that fits into 64 bits.
fn time(value: Scalar<'_>) -> Result<f64, Unreadable> {
    let Scalar::Other(spelling) = value else {
        return Err(Unreadable);
    };
    let number = std::str::from_utf8(spelling).ok().and_then(|spelling| spelling.parse::<f64>().ok());
    number.filter(|number| number.abs() < i64::MAX as f64).ok_or(Unreadable)
}

/// Returns the last member of an object with the given key.
fn member<'a>(object: &'a [u8], wanted: &[u8]) -> Option<Scalar<'a>> {
    let mut found = None;
    for_each_member(object, |key, value| {
        if key.raw == wanted {
            found = Some(value);
        }
    });
    found
}

fn all_members<'a>(
    object: &'a [u8],
    mut look: impl FnMut(&[u8], Scalar<'a>) -> Result<(), Unreadable>,
) -> Result<(), Unreadable> {
    let mut result = Ok(());
    for_each_member(object, |key, value| {
        if result.is_ok() {
            result = look(key.raw, value);
        }
    });
    result
}

/// Visits all elements of a list, and returns their number.
fn each<'a>(list: &'a [u8], mut look: impl FnMut(&'a [u8]) -> Result<(), Unreadable>) -> Result<usize, Unreadable> {
    let (mut n, mut result) = (0, Ok(()));
    for_each_element(list, |element| {
        n += 1;
        if result.is_ok() {
            result = look(element);
        }
    });
    result.map(|()| n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::chrome::read::Cursor;

    fn read(name: &str, args: &str) -> Result<Option<ProfileSample>, Unreadable> {
        let json = format!(r#"{{"ph":"P","name":"{name}","args":{args}}}"#);
        read_sample(&Event::read(&mut Cursor::new(json.as_bytes(), 0), 0).unwrap())
    }

    #[test]
    fn usable_samples_are_read() {
        let node = r#"{"id":1,"callFrame":{"functionName":"f"}},{"id":2.0,"parent":1,"callFrame":{"functionName":"g","url":"u"}}"#;
        let data = format!(
            r#"{{"data":{{"cpuProfile":{{"nodes":[{node}],"samples":[2,1]}},"timeDeltas":[1,-2.5],"lines":[3]}}}}"#
        );
        let expected = ProfileSample { has_start: false, nodes: vec![(1, None), (2, Some(1))], samples: vec![2, 1] };
        assert_eq!(read("ProfileChunk", &data), Ok(Some(expected)));
        let start = ProfileSample { has_start: true, ..ProfileSample::default() };
        assert_eq!(read("Profile", r#"{"data":{"startTime":1}}"#), Ok(Some(start)));
        assert_eq!(read("Profile", "{}"), Ok(None));
        assert_eq!(read("V8Sample", r#"{"data":{"vm_state":"js","stack":[]}}"#), Ok(None));
    }

    #[test]
    fn samples_that_a_viewer_refuses_are_unreadable() {
        let frame = r#""callFrame":{"functionName":"f"}"#;
        let cases = [
            "null".to_owned(),
            r#"{"data":null}"#.to_owned(),
            r#"{"data":5}"#.to_owned(),
            r#"{"data":{"source":null}}"#.to_owned(),
            r#"{"data":{"startTime":"1"}}"#.to_owned(),
            r#"{"data":{"timeDeltas":[1]}}"#.to_owned(),
            r#"{"data":{"other":{"nodes":[]}}}"#.to_owned(),
            r#"{"data":{"cpuProfile":{"nodes":{}}}}"#.to_owned(),
            r#"{"data":{"cpuProfile":{"nodes":[{"id":1}]}}}"#.to_owned(),
            r#"{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{}}]}}}"#.to_owned(),
            format!(r#"{{"data":{{"cpuProfile":{{"nodes":[{{"id":-1,{frame}}}]}}}}}}"#),
            format!(r#"{{"data":{{"cpuProfile":{{"nodes":[{{"id":"1",{frame}}}]}}}}}}"#),
            r#"{"data":{"cpuProfile":{"samples":[1,1]},"timeDeltas":[1]}}"#.to_owned(),
        ];
        for args in cases {
            assert_eq!(read("ProfileChunk", &args), Err(Unreadable), "{args}");
        }
        assert_eq!(read("V8Sample", r#"{"data":{}}"#), Err(Unreadable));
    }
}
