//! ferrum-trace against a floor and its peers.

fn main() {}
