//! Sampling of the next token.

use rand::RngExt;
use rand::rngs::StdRng;

/// Number of tokens to sample from.
const TOP: usize = 8;

/// Samples one of the eight tokens with the best scores, by their probabilities.
pub fn sample(scores: &[f32], random: &mut StdRng) -> u32 {
    let mut tokens: Vec<usize> = (0..scores.len()).collect();
    // Equal scores are sorted by token, so that only the seed decides.
    let best_first = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if tokens.len() > TOP {
        tokens.select_nth_unstable_by(TOP, best_first);
        tokens.truncate(TOP);
    }
    tokens.sort_unstable_by(best_first);
    let weights: Vec<f32> = tokens.iter().map(|&token| (scores[token] - scores[tokens[0]]).exp()).collect();
    let mut left = random.random::<f32>() * weights.iter().sum::<f32>();
    let chosen = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a remainder after the last.
    tokens[chosen.unwrap_or(tokens.len() - 1)] as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn better_tokens_come_more_often_and_bad_ones_never() {
        let scores: Vec<f32> = (0..50).map(|token| if token % 5 == 0 { token as f32 / 20.0 } else { -9.0 }).collect();
        let (mut times, mut random) = ([0; 50], StdRng::seed_from_u64(10));
        (0..10_000).for_each(|_| times[sample(&scores, &mut random) as usize] += 1);
        assert!(times[45] > times[30] && times[30] > times[15] && times[15] > 0, "{times:?}");
        assert_eq!(times.iter().filter(|times| **times > 0).count(), TOP);
    }
}
