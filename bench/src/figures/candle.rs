//! Cost of recording for an engine with existing spans: a Llama of candle, decoding, with the spans of candle itself.

use candle_core::utils::with_threadpool;
use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};
use candle_transformers::models::llama::{Cache, Config, Llama};

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::tracing_chrome::TRACING_CHROME;
use crate::contenders::tracing_ours::TRACING_OURS;
use crate::contenders::{self, Contender as _, Outcome, Readable, Work};
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// No subscriber, measured twice: the difference of the two is the noise of this machine.
const NOBODY: &str = "no subscriber";
const NOBODY_AGAIN: &str = "no subscriber, again";

/// With these layers candle enters 114 spans per step: 228 events for formats with separate begin and end.
const LAYERS: usize = 8;
const SPANS_A_STEP: u64 = 14 * LAYERS as u64 + 2;
/// Small, so that the spans are visible above the noise of the matrix products.
const WIDTH: usize = 64;

const SEQUENCES: usize = 40;
const STEPS_A_SEQUENCE: usize = 64;
const STEPS: f64 = (SEQUENCES * STEPS_A_SEQUENCE) as f64;

/// Results of one contender, one value per round: microseconds per step.
#[derive(Default)]
struct Figures {
    thread: Rounds,
    process: Rounds,
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let names = [NOBODY, NOBODY_AGAIN, TRACING_CHROME.name(), TRACING_OURS.name()];
    let mut figures: [Figures; 4] = Default::default();
    for _ in 0..args.rounds {
        for (name, figures) in names.iter().zip(&mut figures) {
            let answer = measure(name)?;
            figures.thread.push(answer["thread_us"]);
            figures.process.push(answer["process_us"]);
        }
    }
    let chrome = names.iter().position(|&name| name == TRACING_CHROME.name()).ok_or("tracing-chrome is missing")?;
    let added: Vec<[Rounds; 2]> = figures
        .iter()
        .map(|those| [added(&those.thread, &figures[0].thread), added(&those.process, &figures[0].process)])
        .collect();
    let row = |(n, name): (usize, &&str)| {
        let mut cells = vec![Cell::text(*name)];
        for (kind, all) in [&figures[n].thread, &figures[n].process].into_iter().enumerate() {
            let (mine, theirs) = (&added[n][kind], &added[chrome][kind]);
            cells.push(Cell::maybe(all.median(), 1));
            cells.extend(if n == 0 {
                [Cell::Absent("-"), Cell::Absent("-")]
            } else {
                [Cell::maybe(mine.median(), 2), Cell::ratio(mine.median(), theirs.median())]
            });
        }
        cells
    };
    Ok(vec![Table {
        title: "Candle".to_owned(),
        note: format!(
            "A Llama of candle-transformers with {LAYERS} layers of width {WIDTH}, {STEPS:.0} decode steps on 1 thread, {SPANS_A_STEP} \
             spans of candle's own each. Microseconds of CPU a step: of the decoding thread, and of the whole process until the file is \
             finished. Added is the median over the rounds of the distance from `{NOBODY}` in the same round; the ratio is to \
             what tracing-chrome adds."
        ),
        columns: vec!["who listens", "thread us", "added us", "x", "process us", "added us", "x"],
        rows: names.iter().enumerate().map(row).collect(),
    }])
}

/// Runs a decoding child, and returns an error if the file does not have every span.
fn measure(name: &str) -> Outcome<Answer> {
    let scratch = tempfile::tempdir()?;
    let answer = Job { dir: scratch.path().to_owned(), ..Job::new(Task::Candle, name) }.run()?;
    if let Some(listener) = contenders::find(name) {
        let expected = Readable::Spans(((SEQUENCES + 1) * STEPS_A_SEQUENCE) as u64 * SPANS_A_STEP);
        let found = listener.readable(scratch.path())?;
        if found != expected {
            return Err(format!("`{name}`: expected {expected:?}, found {found:?}").into());
        }
    }
    Ok(answer)
}

/// The difference of each round from the same round of the base.
fn added(rounds: &Rounds, base: &Rounds) -> Rounds {
    rounds.iter().zip(base.iter()).map(|(value, base)| value - base).collect()
}

/// Decodes with one contender as subscriber.
pub(crate) fn child(job: &Job) -> Outcome {
    let listener = job.contender().ok();
    if let Some(listener) = listener {
        listener.start(&job.dir, Work { spans: 0, args: false })?;
    }
    // On a thread of candle's own pool, which has one: from any other thread it would hand over each product.
    let (thread, process) = with_threadpool(decode)?;
    if let Some(listener) = listener {
        listener.finish(&job.dir)?;
    }
    let process = sys::process_cpu_ns() - process;
    let a_step = |nanos: u64| nanos as f64 / 1e3 / STEPS;
    child::print_answer(&Answer::from([
        ("thread_us".to_owned(), a_step(thread)),
        ("process_us".to_owned(), a_step(process)),
    ]))?;
    sys::exit_now()
}

/// Decodes some sequences. Returns the CPU time of the thread for that, and the CPU time of the process before.
fn decode() -> Outcome<(u64, u64)> {
    let engine = Engine::load()?;
    engine.sequence()?;
    let (thread, process) = (sys::thread_cpu_ns(), sys::process_cpu_ns());
    for _ in 0..SEQUENCES {
        engine.sequence()?;
    }
    Ok((sys::thread_cpu_ns() - thread, process))
}

struct Engine {
    model: Llama,
    config: Config,
}

impl Engine {
    /// candle creates its spans here.
    fn load() -> Outcome<Self> {
        let config = Config {
            hidden_size: WIDTH,
            intermediate_size: 2 * WIDTH,
            vocab_size: 256,
            num_hidden_layers: LAYERS,
            num_attention_heads: 4,
            num_key_value_heads: 4,
            use_flash_attn: false,
            rms_norm_eps: 1e-5,
            rope_theta: 10_000.0,
            bos_token_id: None,
            eos_token_id: None,
            rope_scaling: None,
            max_position_embeddings: STEPS_A_SEQUENCE,
            tie_word_embeddings: false,
        };
        let weights = VarMap::new();
        let model = Llama::load(VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu), &config)?;
        Ok(Self { model, config })
    }

    /// Decodes one token after the other.
    fn sequence(&self) -> Outcome {
        let mut cache = Cache::new(true, DType::F32, &self.config, &Device::Cpu)?;
        let mut token = 1;
        for place in 0..STEPS_A_SEQUENCE {
            let input = Tensor::new(&[[token]], &Device::Cpu)?;
            let logits = self.model.forward(&input, place, &mut cache)?;
            token = logits.argmax(candle_core::D::Minus1)?.to_vec1::<u32>()?[0];
        }
        Ok(())
    }
}
