//! Reading Perfetto traces.
/// x
pub fn is_pftrace(b: &[u8]) -> bool {
    b.first() == Some(&0x0a)
}
