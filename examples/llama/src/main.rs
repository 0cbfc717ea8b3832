//! A small language model that serves a few requests on the CPU, recorded.

fn main() {}
