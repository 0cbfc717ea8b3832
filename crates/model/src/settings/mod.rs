//! The settings of a recording, parsed from text. Both the recorder's environment variables and the command's flags use
//! this module.

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

/// Values that switch a setting off.
const OFF_WORDS: [&str; 6] = ["", "0", "off", "false", "no", "none"];

/// Returns true if this text switches a setting off.
pub fn is_off(text: &str) -> bool {
    OFF_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
