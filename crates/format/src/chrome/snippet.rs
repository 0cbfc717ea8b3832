//! Text that is appended many times.

/// Bytes that are always copied: a copy of fixed length is a few instructions, a copy of variable length is a call.
const SHORT_BYTES: usize = 64;

/// A text prepared for being appended many times.
#[derive(Clone, Debug)]
pub(crate) struct Snippet {
    /// The text if it is short, padded.
    padded: [u8; SHORT_BYTES],
    /// The text if it is long, otherwise empty.
    long: Box<[u8]>,
    len: usize,
}

impl Snippet {
    /// Prepares a text.
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut padded = [0; SHORT_BYTES];
        let long = match padded.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text);
                Box::default()
            }
            None => text.into(),
        };
        Self { padded, long, len: text.len() }
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &[u8] {
        self.padded.get(..self.len).unwrap_or(&self.long)
    }

    /// Appends the text.
    #[inline(always)]
    pub(crate) fn push_to(&self, out: &mut Vec<u8>) {
        if self.len > SHORT_BYTES {
            out.extend_from_slice(&self.long);
            return;
        }
        let end = out.len() + self.len;
        out.extend_from_slice(&self.padded);
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_appended_whole() {
        let text: Vec<u8> = (0..200).collect();
        for len in 0..text.len() {
            let mut out = b"before".to_vec();
            Snippet::new(&text[..len]).push_to(&mut out);
            assert_eq!(out, [b"before", &text[..len]].concat());
        }
    }
}
