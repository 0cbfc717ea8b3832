//! Measurements in a separate process: this program started again with one job as its argument.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::contenders::{self, Contender, Outcome, Work};
use crate::figures;
use crate::start::Start;

/// The first argument that makes this program a child.
pub(crate) const CHILD: &str = "child";

/// The measurement that a child makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    Span,
    Off,
    Laps,
    Push,
    Process,
    Kill,
    #[cfg(feature = "peers")]
    Candle,
    Spool,
    Convert,
    Serde,
    Forms,
    Read,
    Startup,
    Latency,
    Clock,
    Modes,
    Soak,
    Stopping,
    Busy,
    #[cfg(feature = "engine")]
    Engine,
}

/// One job, passed as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub task: Task,
    pub contender: String,
    pub threads: usize,
    pub spans: u64,
    pub args: bool,
    pub dir: PathBuf,
}

/// Results by name, printed as one line of JSON.
pub(crate) type Answer = BTreeMap<String, f64>;

impl Job {
    /// A job on one thread without counts; set the other fields with struct update syntax.
    pub(crate) fn new(task: Task, contender: &str) -> Self {
        Self { task, contender: contender.to_owned(), threads: 1, spans: 0, args: false, dir: PathBuf::new() }
    }

    pub(crate) fn work(&self) -> Work {
        Work { spans: self.spans, args: self.args }
    }

    pub(crate) fn contender(&self) -> Outcome<&'static dyn Contender> {
        contenders::find(&self.contender).ok_or_else(|| format!("unknown contender `{}`", self.contender).into())
    }

    /// Starts the child with a pipe for its result and without the variables that would switch our recorder on.
    pub(crate) fn spawn(&self) -> Outcome<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(CHILD).arg(serde_json::to_string(self)?);
        // Only the engine has a thread pool. Two threads that wait for each other spin, which makes their CPU time
        // meaningless.
        command.env("RAYON_NUM_THREADS", "1");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FERRUM_TRACE_") {
                command.env_remove(name);
            }
        }
        // candle computes on the measured thread.
        command.env("RAYON_NUM_THREADS", "1");
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    /// Runs the child to its end and returns its result.
    pub(crate) fn run(&self) -> Outcome<Answer> {
        let output = self.spawn()?.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let answer = text.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        answer.ok_or_else(|| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("`{}` {:?}: no result ({}); stderr: {}", self.contender, self.task, output.status, stderr.trim())
                .into()
        })
    }
}

/// Reads the first result of a child that continues to run.
pub(crate) fn first_answer(child: &mut Child) -> Outcome<Answer> {
    let stdout = child.stdout.as_mut().ok_or("the child has no pipe")?;
    for line in BufReader::new(stdout).lines() {
        if let Ok(answer) = serde_json::from_str(&line?) {
            return Ok(answer);
        }
    }
    Err("the child ended without a result".into())
}

/// Prints a result and flushes it.
#[allow(clippy::print_stdout, reason = "the pipe to the parent is standard output")]
pub(crate) fn print_answer(answer: &Answer) -> Outcome {
    println!("{}", serde_json::to_string(answer)?);
    std::io::stdout().flush()?;
    Ok(())
}

/// The child's `main`.
pub(crate) fn serve(job: &str, start: Start) -> Outcome {
    let job: Job = serde_json::from_str(job)?;
    match job.task {
        Task::Span => figures::span::child(&job),
        Task::Off => figures::off::child(&job),
        Task::Process => figures::process::child(&job, start),
        Task::Kill => figures::process::child_to_kill(&job),
        #[cfg(feature = "peers")]
        Task::Candle => figures::candle::child(&job),
        Task::Push => figures::push::child(&job),
        Task::Serde => figures::convert::serde_child(&job),
        Task::Latency => figures::latency::child(&job),
        Task::Laps => figures::laps::child(&job),
        Task::Spool => figures::convert::spool_child(&job),
        Task::Convert => figures::convert::child(&job),
        Task::Forms => figures::forms::child(&job, start),
        Task::Read => figures::read::child(&job),
        Task::Startup => figures::startup::child(&job, start),
        Task::Clock => figures::clock::child(&job),
        Task::Modes => figures::modes::child(&job),
        Task::Soak => figures::soak::child(&job),
        Task::Stopping => figures::stopping::child(&job),
        Task::Busy => figures::busy::child(&job),
        #[cfg(feature = "engine")]
        Task::Engine => figures::engine::child(&job),
    }
}
