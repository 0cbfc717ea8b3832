//! Styles of text on terminals.

use anstyle::{AnsiColor, Style};

pub(crate) const TITLE: Style = Style::new().bold();
const KEY: Style = Style::new().dimmed();
/// Rows and columns that are left out.
pub(crate) const REST: Style = Style::new().dimmed();
/// Damage, losses and anomalies.
pub(crate) const DAMAGE: Style = AnsiColor::Yellow.on_default();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Returns a line of an overview.
pub(crate) fn key_value(key: &str, value: &str) -> String {
    format!("{KEY}{key:<9}{KEY:#} {value}\n")
}
