//! Work done in a process of its own: this program started again with one job as its argument.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::contenders::{self, Contender, Outcome, Work};
use crate::figures;
use crate::start::Start;

/// The first argument that makes this program a child.
pub const CHILD: &str = "child";

/// What a child is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
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
    #[cfg(feature = "engine")]
    Engine,
}

/// One job, passed as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub task: Task,
    pub contender: String,
    pub threads: usize,
    pub spans: u64,
    pub args: bool,
    pub dir: PathBuf,
}

/// Figures by name, printed as one line of JSON.
pub type Answer = BTreeMap<String, f64>;

impl Job {
    /// A job on one thread with nothing to count, to be completed by struct update.
    pub fn new(task: Task, contender: &str) -> Self {
        Self { task, contender: contender.to_owned(), threads: 1, spans: 0, args: false, dir: PathBuf::new() }
    }

    pub fn work(&self) -> Work {
        Work { spans: self.spans, args: self.args }
    }

    pub fn contender(&self) -> Outcome<&'static dyn Contender> {
        contenders::find(&self.contender).ok_or_else(|| format!("no contender `{}`", self.contender).into())
    }

    /// Starts the child with its answer on a pipe and without the variables that would switch our recorder on.
    pub fn spawn(&self) -> Outcome<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(CHILD).arg(serde_json::to_string(self)?);
        // Only the engine has a pool of threads. Two that wait for each other spin, and their CPU time tells nothing then.
        command.env("RAYON_NUM_THREADS", "1");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FERRUM_TRACE_") {
                command.env_remove(name);
            }
        }
        // candle computes on the thread that is measured.
        command.env("RAYON_NUM_THREADS", "1");
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    /// Runs the child to its end and returns what it measured.
    pub fn run(&self) -> Outcome<Answer> {
        let output = self.spawn()?.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let answer = text.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        answer.ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("`{}` {:?}: no answer ({}); it said: {}", self.contender, self.task, output.status, said.trim())
                .into()
        })
    }
}

/// Reads the first answer of a child that goes on running.
pub fn first_answer(child: &mut Child) -> Outcome<Answer> {
    let stdout = child.stdout.as_mut().ok_or("the child has no pipe")?;
    for line in BufReader::new(stdout).lines() {
        if let Ok(answer) = serde_json::from_str(&line?) {
            return Ok(answer);
        }
    }
    Err("the child ended without an answer".into())
}

/// Prints an answer and makes sure it has left the process.
#[allow(clippy::print_stdout, reason = "the pipe to the parent is standard output")]
pub fn tell(answer: &Answer) -> Outcome {
    println!("{}", serde_json::to_string(answer)?);
    std::io::stdout().flush()?;
    Ok(())
}

/// The child's `main`.
pub fn serve(job: &str, start: Start) -> Outcome {
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
        #[cfg(feature = "engine")]
        Task::Engine => figures::engine::child(&job),
    }
}
