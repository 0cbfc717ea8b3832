//! The object of `baseline`.

use super::report::{BaselineReport, MetricRange};
use crate::render::json::FileObject;
use crate::sides::{Build, Machine, Settings};
use ferrum_trace_analyze::runs::metric::MetricUnit;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct BaselineObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    name: &'a str,
    saved_unix_s: u64,
    machine: &'a Machine,
    build: &'a Build,
    settings: &'a Settings,
    runs: usize,
    steps: u64,
    metrics: Vec<MetricObject>,
}

impl<'a> BaselineObject<'a> {
    pub(crate) fn new(report: &'a BaselineReport, file: &'a str) -> Self {
        let baseline = &report.baseline;
        Self {
            file: FileObject::new(file),
            name: &baseline.name,
            saved_unix_s: baseline.saved_unix_s,
            machine: &baseline.machine,
            build: &baseline.build,
            settings: &baseline.settings,
            runs: baseline.runs.len(),
            steps: report.n_steps(),
            metrics: report.metrics.iter().map(MetricObject::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct MetricObject {
    name: &'static str,
    unit: &'static str,
    median: f64,
    min: f64,
    max: f64,
}

impl MetricObject {
    fn new(metric: &MetricRange) -> Self {
        let unit = match metric.unit {
            MetricUnit::Nanoseconds => "ns",
            MetricUnit::PerSecond => "1/s",
        };
        Self { name: metric.name, unit, median: metric.median, min: metric.min, max: metric.max }
    }
}
