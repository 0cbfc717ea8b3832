//! The ferrum-trace command.

fn main() {}
