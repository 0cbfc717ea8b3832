//! Simulated clients that send requests.

use crate::config::Config;
use crate::flags::Flags;
use crate::sequence::{RequestSpec, Sequence};
use crate::watch;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Future requests, with the time between them.
#[derive(Clone, Debug)]
pub struct Clients {
    requests: Vec<(Duration, RequestSpec)>,
}

impl Clients {
    /// Creates the selected number of requests, with the arrival times of a Poisson process.
    pub fn new(flags: &Flags, config: &Config) -> Self {
        let mut random = StdRng::seed_from_u64(flags.seed);
        let pauses = Exp::new(flags.rate).ok().filter(|_| flags.rate > 0.0);
        let requests = (1..=flags.requests as u64).map(|id| {
            let pause = pauses.map_or(0.0, |pauses| pauses.sample(&mut random));
            (Duration::try_from_secs_f64(pause).unwrap_or_default(), spec(id, flags, config))
        });
        Self { requests: requests.collect() }
    }

    /// Sends the requests from a separate thread, or before it returns if none of them has to wait. The batches then
    /// do not depend on the timing of threads.
    pub fn start(self) -> Receiver<Sequence> {
        let (sender, receiver) = channel();
        if self.requests.iter().all(|(pause, _)| pause.is_zero()) {
            self.send(&sender);
        } else {
            // Without a thread the sender is dropped, and the receiver ends immediately.
            let _ = thread::Builder::new().name("clients".to_owned()).spawn(move || self.send(&sender));
        }
        receiver
    }

    fn send(self, sender: &Sender<Sequence>) {
        let mut due = watch::now();
        for (pause, spec) in self.requests {
            due += pause;
            thread::sleep(due.saturating_duration_since(watch::now()));
            if sender.send(Sequence::new(spec)).is_err() {
                // The engine has ended early.
                return;
            }
        }
    }
}

/// A request depends on its number and the seed, not on others or on its arrival time.
fn spec(id: u64, flags: &Flags, config: &Config) -> RequestSpec {
    let mut random = StdRng::seed_from_u64(flags.seed.wrapping_add(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let n_prompt = random.random_range(flags.prompt.div_ceil(2)..=flags.prompt);
    let n_tokens_max = random.random_range(flags.tokens.div_ceil(2)..=flags.tokens);
    let prompt = (0..n_prompt).map(|_| random.random_range(0..config.vocab_size as u32)).collect();
    RequestSpec { id, prompt, n_tokens_max, seed: random.random() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn requests_without_pauses_have_all_arrived_before_the_first_step() {
        let flags = Flags::parse_from("engine --rate=0 --requests=50".split(' '));
        let coming = Clients::new(&flags, &Config::made(1, 16)).start();
        let ids: Vec<u64> = coming.try_iter().map(|sequence| sequence.id()).collect();
        assert_eq!(ids, (1..=50).collect::<Vec<_>>());
    }
}
