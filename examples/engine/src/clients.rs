//! Who wants something of the engine, and when.

use crate::config::Config;
use crate::flags::Flags;
use crate::sequence::{Sequence, Wish};
use crate::watch;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Requests that are to come, with the time between them.
#[derive(Clone, Debug)]
pub struct Clients {
    wishes: Vec<(Duration, Wish)>,
}

impl Clients {
    /// As many as the user wants, at moments of a Poisson process.
    pub fn new(flags: &Flags, config: &Config) -> Self {
        let mut random = StdRng::seed_from_u64(flags.seed);
        let pauses = Exp::new(flags.rate).ok().filter(|_| flags.rate > 0.0);
        let wishes = (1..=flags.requests as u64).map(|id| {
            let pause = pauses.map_or(0.0, |pauses| pauses.sample(&mut random));
            (Duration::try_from_secs_f64(pause).unwrap_or_default(), wish(id, flags, config))
        });
        Self { wishes: wishes.collect() }
    }

    /// Sends them, from a thread of their own.
    pub fn start(self) -> Receiver<Sequence> {
        let (sender, receiver) = channel();
        let send = move || {
            let mut due = watch::now();
            for (pause, wish) in self.wishes {
                due += pause;
                thread::sleep(due.saturating_duration_since(watch::now()));
                if sender.send(Sequence::new(wish)).is_err() {
                    // The engine has ended early.
                    return;
                }
            }
        };
        // Without a thread nobody sends, and the receiver tells so at once.
        let _ = thread::Builder::new().name("clients".to_owned()).spawn(send);
        receiver
    }
}

/// What a request wants depends on its number and the seed, not on others or on when it comes.
fn wish(id: u64, flags: &Flags, config: &Config) -> Wish {
    let mut random = StdRng::seed_from_u64(flags.seed.wrapping_add(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let n_prompt = random.random_range(flags.prompt.div_ceil(2)..=flags.prompt);
    let n_wanted = random.random_range(flags.tokens.div_ceil(2)..=flags.tokens);
    let prompt = (0..n_prompt).map(|_| random.random_range(0..config.vocab_size as u32)).collect();
    Wish { id, prompt, n_wanted, seed: random.random() }
}
