//! The stacks that are drawn.

/// Stacks as a tree of frames. The first frame is the root; every other one comes after its parent.
pub(crate) trait Frames {
    /// Returns the number of frames, with the root.
    fn len(&self) -> usize;
    /// Returns the frame around a frame; that of the root is the root.
    fn parent(&self, frame: usize) -> usize;
    /// Returns the name of a frame.
    fn name(&self, frame: usize) -> &str;
    /// Returns the category of a frame; empty if it has none.
    fn category(&self, frame: usize) -> &str;
    /// Returns the time of a frame without the frames in it.
    fn self_ns(&self, frame: usize) -> u64;
    /// Returns the number of slices that a frame stands for.
    fn n_slices(&self, frame: usize) -> u64;
}

#[cfg(test)]
pub(super) mod test_frames {
    use super::Frames;

    /// A frame: parent, name, category and self time.
    pub(in crate::flame_graph) type TestFrame = (usize, String, &'static str, u64);

    impl Frames for Vec<TestFrame> {
        fn len(&self) -> usize {
            self.as_slice().len()
        }

        fn parent(&self, frame: usize) -> usize {
            self[frame].0
        }

        fn name(&self, frame: usize) -> &str {
            &self[frame].1
        }

        fn category(&self, frame: usize) -> &str {
            self[frame].2
        }

        fn self_ns(&self, frame: usize) -> u64 {
            self[frame].3
        }

        fn n_slices(&self, _frame: usize) -> u64 {
            2
        }
    }

    pub(in crate::flame_graph) fn frames(frames: &[(usize, &str, &'static str, u64)]) -> Vec<TestFrame> {
        frames.iter().map(|&(parent, name, category, ns)| (parent, name.to_owned(), category, ns)).collect()
    }
}
