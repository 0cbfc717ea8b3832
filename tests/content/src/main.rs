//! A program for the tests of this crate to run: each argument names a scene.

fn main() {}
