use super::*;
use crate::names_device;
use ferrum_trace_format::chrome::read::{LoadOptions, load};

/// Loads a trace and computes its roofline.
fn of(events: &[&str], device: Option<&str>) -> Roofline {
    let options = LoadOptions { args: roofline_args(), ..LoadOptions::default() };
    let loaded = load(format!("[{}]", events.join(",")).as_bytes(), &options).unwrap();
    let mut table = DeviceTable::default();
    table.extend(device.unwrap_or_default()).unwrap();
    let device = table.devices().first().cloned();
    let options = RooflineOptions {
        device,
        ranks: Some(2),
        names_device: names_device(&loaded.fields),
        ..RooflineOptions::default()
    };
    roofline(&loaded.trace, &Nesting::of(&loaded.trace), &options)
}

const DEVICE: &str = "[test]\nmemory = 100\nmatrix.fp32 = 1\nvector.fp32 = 0.1\n";
const LINEAR: &str = r#"{"ph":"X","cat":"cpu_op","name":"aten::linear","ts":0,"dur":50,"pid":1,"tid":1,
    "args":{"Input Dims":[[100,200],[300,200],[]],"Input type":["float","float",""],"Concrete Inputs":["","",""]}}"#;
const MM: &str = r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":10,"dur":30,"pid":1,"tid":1,
    "args":{"Input Dims":[[100,200],[200,300]],"Input type":["float","float"],"Concrete Inputs":["",""]}}"#;
const LAUNCH: &str = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":20,"dur":5,"pid":1,"tid":1,
    "args":{"correlation":7}}"#;
const KERNEL: &str = r#"{"ph":"X","cat":"kernel","name":"sgemm","ts":100,"dur":24,"pid":0,"tid":7,
    "args":{"correlation":7}}"#;
const STEP: &str = r#"{"ph":"X","cat":"step","name":"decode","ts":0,"dur":60,"pid":1,"tid":1}"#;

fn row<'a>(roofline: &'a Roofline, name: &str) -> &'a RooflineRow {
    roofline.rows.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn an_operation_takes_as_long_as_the_kernels_that_it_launched() {
    let found = of(&[LINEAR, MM, LAUNCH, KERNEL], Some(DEVICE));
    let (linear, mm) = (row(&found, "aten::linear"), row(&found, "aten::mm"));
    assert_eq!((linear.time, mm.time, linear.work.flop), (24_000, 24_000, 12_000_000));
    assert_eq!((linear.n_inside, mm.n_inside), (0, 1));
    assert_eq!((found.modelled_time, found.unmodelled_time, found.is_on_device), (24_000, 0, true));
    // 12 MFLOP at 1 TFLOP/s take 12 µs, of 24.
    assert_eq!((mm.share(), mm.bound()), (Some((0.5, Roof::Compute)), Some(RooflineBound::By(Roof::Compute))));
    assert_eq!(mm.flop_rate().map(f64::round), Some(5e11));
}

#[test]
fn without_device_work_durations_count() {
    let found = of(&[LINEAR, MM], None);
    assert_eq!((row(&found, "aten::linear").time, row(&found, "aten::mm").time), (50_000, 30_000));
    assert_eq!((found.modelled_time, found.is_on_device, row(&found, "aten::mm").share()), (50_000, false, None));
}

#[test]
fn faster_than_the_device_is_above_peak() {
    let found = of(&[LINEAR, MM, LAUNCH, KERNEL], Some("[slow]\nmemory = 1000\nmatrix.fp32 = 0.1\n"));
    let mm = row(&found, "aten::mm");
    assert!(mm.is_above_peak(), "{:?}", mm.share());
    assert_eq!(mm.bound(), None);
}

#[test]
fn a_short_share_is_bound_by_nothing() {
    let found = of(&[LINEAR, MM, LAUNCH, KERNEL], Some("[fast]\nmemory = 1000\nmatrix.fp32 = 100\n"));
    assert_eq!(row(&found, "aten::mm").bound(), Some(RooflineBound::Neither));
}

#[test]
fn time_without_a_model_is_listed_with_its_reason() {
    let events = [
        r#"{"ph":"X","cat":"cpu_op","name":"aten::sort","ts":0,"dur":50,"pid":1,"tid":1,"args":{"Input Dims":[[3]]}}"#,
        LAUNCH,
        KERNEL,
        r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":200,"dur":50,"pid":1,"tid":1,"args":{"External id":5}}"#,
        r#"{"ph":"X","cat":"kernel","name":"gemm","ts":300,"dur":10,"pid":0,"tid":7,"args":{"External id":5}}"#,
        r#"{"ph":"X","cat":"kernel","name":"alone","ts":400,"dur":5,"pid":0,"tid":7,"args":{"correlation":99}}"#,
        r#"{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":500,"dur":5,"pid":1,"tid":1,
            "args":{"correlation":8}}"#,
        r#"{"ph":"X","cat":"kernel","name":"replayed","ts":600,"dur":2,"pid":0,"tid":7,"args":{"correlation":8}}"#,
    ];
    let found = of(&events, None);
    let listed: Vec<_> = found.unmodelled.iter().map(|row| (row.name.as_str(), row.missing, row.time)).collect();
    let expected = [
        ("aten::sort", Missing::UnknownOperation, 24_000),
        ("aten::mm", Missing::NoShapes, 10_000),
        ("alone", Missing::NoOperation, 5_000),
        ("replayed", Missing::ReplayedGraph, 2_000),
    ];
    assert_eq!(listed, expected);
    assert_eq!((found.unmodelled_time, found.rows.len()), (41_000, 0));
}

#[test]
fn steps_have_the_work_that_they_launched() {
    let found = of(&[STEP, LINEAR, MM, LAUNCH, KERNEL], Some(DEVICE));
    let [phase] = &found.phases[..] else { panic!("{:?}", found.phases) };
    // From the begin of the mark to the end of the kernel.
    assert_eq!((phase.n_steps, phase.utilization.flop, phase.utilization.time), (1, 12_000_000, 124_000));
    let mfu = phase.utilization.mfu().unwrap();
    assert!((mfu - 12.0 / 124.0).abs() < 1e-9, "{mfu}");
    let mbu = phase.utilization.mbu().unwrap();
    assert!((mbu - 4.4 / 124.0).abs() < 1e-9, "{mbu}");
}

#[test]
fn copies_and_collectives_are_device_work_with_their_own_figures() {
    let events = [
        r#"{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","ts":0,"dur":10,"pid":0,"tid":7,
            "args":{"bytes":1000}}"#,
        r#"{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","ts":20,"dur":10,"pid":0,"tid":7,
            "args":{"bytes":1000}}"#,
        r#"{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","ts":40,"dur":10,"pid":0,"tid":8,
            "args":{"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"Group size":4,
            "dtype":"BFloat16"}}"#,
    ];
    let found = of(&events, Some("[d]\nmemory = 1\nlink = 1\n"));
    let bytes: Vec<_> = found.rows.iter().map(|row| (row.kind.name(), row.work.bytes.unwrap())).collect();
    assert_eq!(bytes, [("copy", 2000), ("transfer", 1000), ("collective", 3000)]);
    assert_eq!(found.rows[1].share(), None, "devices have no figure for the connection to the host");
    assert_eq!(found.rows[2].share(), Some((0.3, Roof::Link)));
    assert_eq!(found.whole.bytes, 2000);
}

#[test]
fn operations_of_this_recorder_state_their_shapes() {
    let events = [
        r#"{"ph":"X","cat":"gemm","name":"qkv","ts":0,"dur":10,"pid":1,"tid":1,
            "args":{"m":10,"n":20,"k":30,"dtype":"f32"}}"#,
        r#"{"ph":"X","cat":"gemm","name":"qkv","ts":20,"dur":30,"pid":1,"tid":1,
            "args":{"m":10,"n":20,"k":30,"dtype":"f32"}}"#,
        r#"{"ph":"X","cat":"sampling","name":"sample","ts":60,"dur":5,"pid":1,"tid":1}"#,
    ];
    let found = of(&events, None);
    let [qkv] = &found.rows[..] else { panic!("{:?}", found.rows) };
    assert_eq!((qkv.count, qkv.time, qkv.work.flop, qkv.work.bytes), (2, 40_000, 12_000, Some(4400)));
    assert_eq!((found.unmodelled[0].name.as_str(), found.unmodelled[0].missing), ("sample", Missing::NoShapes));
}

#[test]
fn a_flow_leads_from_a_kernel_to_the_operation_that_launched_it() {
    let events = [
        r#"{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / queue"}}"#,
        r#"{"ph":"X","cat":"gemm","name":"qkv","ts":0,"dur":10,"pid":1,"tid":1,
            "args":{"m":10,"n":20,"k":30,"dtype":"f32"}}"#,
        r#"{"ph":"s","cat":"launch","name":"launch","id":1,"ts":5,"pid":1,"tid":1}"#,
        r#"{"ph":"f","cat":"launch","name":"launch","id":1,"bp":"e","ts":50,"pid":1,"tid":9}"#,
        r#"{"ph":"X","cat":"","name":"kernel","ts":50,"dur":7,"pid":1,"tid":9}"#,
    ];
    let found = of(&events, None);
    let [qkv] = &found.rows[..] else { panic!("{:?} {:?}", found.rows, found.unmodelled) };
    assert_eq!((qkv.name.as_str(), qkv.time), ("qkv", 7_000));
}
