//! Writer of flame graphs: an interactive SVG of times by stack.
//!
//! ```text
//! Self time by stack                                  Reset zoom  Search
//! ■ attention 61.0 %  ■ gemm 30.2 %  ■ other 8.8 %
//! | all                                                                |
//! | process 1                                                          |
//! | decode                                   | prefill        | 7 narr…|
//! | sdpa                    | matmul | norm  | matmul         |
//! ```
//!
//! The width of a frame is the time of its stack, the color its category. Siblings are ordered by time, the longest
//! first. A browser shows figures of the frame under the pointer, zooms into a frame that is clicked, and searches; the
//! picture is complete without its script. It contains no text of a trace outside of text elements, where all markup is
//! escaped.

mod colors;
mod frames;
mod layout;
mod style;
mod svg;
mod text;

pub(crate) use frames::Frames;
pub(crate) use svg::{Heading, write};
