use ferrum_trace::*;
fn main() {
    for layer in 0..3u32 {
        let _s = span!("step", "engine", layer);
        {
            let _t = span!(
                "inner",
                tokens = 3usize,
                name = "a long string value",
                short = "abc",
                f = 1.5,
                nan = f64::NAN
            );
        }
        let mut lap = laps!("layer", layer = layer);
        lap.mark("attention");
        lap.mark("mlp");
        drop(lap);
        instant!("preempt", "scheduler", request = layer);
        counter!("kv", used = layer, free = 10 - layer);
        let _d = Span::dynamic(&format!("dyn {layer}"), "x");
    }
    let f = Flow::new();
    {
        let s = span!("produce");
        s.flow_out(f);
    }
    let a = async_span!("request", "llm", id = 3);
    std::thread::Builder::new()
        .name("worker".into())
        .spawn(move || {
            let s = span!("consume");
            s.flow_in(f);
            a.instant("half");
            drop(a);
        })
        .unwrap()
        .join()
        .unwrap();
    let track = Track::new("GPU 0").sort(2);
    let t0 = Timestamp::now();
    std::thread::sleep(std::time::Duration::from_millis(1));
    let t1 = Timestamp::now();
    complete_at!(track, t0, t1, "gemm", "gemm", m = 3);
    complete_at!(
        track,
        t0 + std::time::Duration::from_micros(100),
        t1 + std::time::Duration::from_micros(100),
        "gemm2",
        "gemm",
        m = 3
    );
    let a = span!("a");
    let b = span!("b");
    drop(a);
    drop(b);
    println!("{:?}", stats());
}
