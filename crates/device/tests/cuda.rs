//! CUDA without a driver. Its logic is tested in `event_timeline.rs`, on a simulated device.
#![cfg(feature = "cuda")]

use ferrum_trace_device::CudaTimeline;

/// On a machine with a GPU this creates a timeline instead.
#[test]
fn without_a_driver_there_is_an_error_and_no_panic() {
    match CudaTimeline::new("GPU 0 / stream 0", 0, 4) {
        Ok(timeline) => assert_eq!(timeline.counts(), Default::default()),
        Err(error) => assert!(error.is_unsupported() && error.to_string().contains("CUDA"), "{error}"),
    }
}
