//! What the user asks for.

/// What `--help` prints.
pub const HELP: &str = "\
A small language model that serves a few requests on the CPU, recorded.

Usage: llama [--requests N] [--tokens N] [--layers N] [--width N]

  --requests N  how many requests to serve, 1 to 256 (4)
  --tokens N    how many tokens to generate for each, 1 to 1024 (96)
  --layers N    how many layers the model has, 1 to 64 (8)
  --width N     how wide they are, a multiple of 24 up to 1536 (384)
  --help        this text

The trace goes to trace.json, or to where FERRUM_TRACE_OUT says.
";

/// How much to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    pub requests: usize,
    /// For each request.
    pub tokens: usize,
    pub layers: usize,
    /// Numbers that a token is between layers.
    pub width: usize,
}

impl Default for Flags {
    fn default() -> Self {
        Self { requests: 4, tokens: 96, layers: 8, width: 384 }
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Help,
    Run(Flags),
}

/// Reads the words after the program's name, or says what is wrong with them.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Wish, String> {
    let mut flags = Flags::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        // Both `--tokens 8` and `--tokens=8`.
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut number = |unit, most| number(name, value.clone().or_else(|| words.next()), unit, most);
        match name {
            "--requests" => flags.requests = number(1, 256)?,
            "--tokens" => flags.tokens = number(1, 1024)?,
            "--layers" => flags.layers = number(1, 64)?,
            // Twelve heads of an even size.
            "--width" => flags.width = number(24, 1536)?,
            "--help" | "-h" => return Ok(Wish::Help),
            _ => return Err(format!("expected one of the flags below, found `{word}`")),
        }
    }
    Ok(Wish::Run(flags))
}

/// A multiple of `unit`, up to `most`.
fn number(name: &str, value: Option<String>, unit: usize, most: usize) -> Result<usize, String> {
    let value = value.ok_or_else(|| format!("expected a number after `{name}`"))?;
    let number = value.parse().ok().filter(|number| (unit..=most).contains(number) && number % unit == 0);
    let expected = match unit {
        1 => format!("a number from 1 to {most}"),
        _ => format!("a multiple of {unit} up to {most}"),
    };
    number.ok_or_else(|| format!("expected {expected} after `{name}`, found `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Wish, String> {
        parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_are_read_in_both_spellings_and_the_rest_keeps_its_default() {
        assert_eq!(parsed(""), Ok(Wish::Run(Flags::default())));
        let expected = Flags { requests: 2, tokens: 8, ..Flags::default() };
        assert_eq!(parsed("--requests 2 --tokens=8"), Ok(Wish::Run(expected)));
        assert_eq!(parsed("--tokens 8 --help"), Ok(Wish::Help));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("--tokens", "a number after `--tokens`"),
            ("--tokens no", "found `no`"),
            ("--layers 0", "from 1 to 64"),
            ("--width 25", "a multiple of 24"),
            ("--tokns 3", "found `--tokns`"),
        ];
        for (words, wrong) in cases {
            assert!(parsed(words).unwrap_err().contains(wrong), "{words}");
        }
    }
}
