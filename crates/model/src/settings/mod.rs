//! The settings of a recording, as text: one reader for the recorder's environment and for the flags of the command.

mod amount;
mod categories;
mod dumps;
mod error;
mod ring;
mod rotate;
mod signal;
mod trigger;
mod window;

pub use amount::{parse_bytes, parse_time, read_limit, time_text};
pub use categories::Categories;
pub use dumps::DumpLimits;
pub use error::SettingError;
pub use ring::Extent;
pub use rotate::Rotate;
pub use signal::Signal;
pub use trigger::{StepLimit, Trigger, parse_triggers};
pub use window::Window;

/// Values that mean off.
const OFF_WORDS: [&str; 6] = ["", "0", "off", "false", "no", "none"];

/// Whether a setting is switched off by this text.
pub fn is_off(text: &str) -> bool {
    OFF_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
