//! The input of one step: tokens of several sequences.

use crate::cache::BLOCK;
use crate::config::Config;
use crate::sequence::Sequence;
use crate::slow::Slowdowns;
use candle_core::{Device, Result, Tensor};
use ferrum_trace::llm::{self, AttentionSums};

/// Some tokens of some sequences, one row each. The rows of a sequence are consecutive and in order.
#[derive(Debug)]
pub struct Batch {
    pub tokens: Tensor,
    pub positions: Tensor,
    pub members: Vec<Member>,
    /// The rows whose next token is sampled.
    pub last_rows: Tensor,
    pub n_rows: usize,
    /// Number of tokens in the context of all sequences.
    pub n_context: usize,
}

/// A sequence in a batch.
#[derive(Debug)]
pub struct Member {
    pub first_row: usize,
    pub n_rows: usize,
    /// The position of its first row.
    pub begin: usize,
    /// Its blocks, as far as they are needed.
    pub table: Vec<u32>,
    /// The same blocks as a tensor, for gathering.
    pub blocks: Tensor,
    /// Attention mask of each row: zero, or minus infinity for later tokens. Repeated for all heads that share keys.
    pub mask: Tensor,
}

impl Batch {
    /// Creates the batch of a step from the sequences that take part in it.
    pub fn of(sequences: &[Sequence], config: &Config, slow: &Slowdowns) -> Result<Self> {
        let _op = llm::op!("gather_inputs", Memory, sequences = sequences.len());
        let _slow = slow.op("gather_inputs");
        let (mut tokens, mut positions, mut members, mut last_rows) = (vec![], vec![], vec![], vec![]);
        for sequence in sequences.iter().filter(|sequence| sequence.n_planned > 0) {
            let (begin, n_rows) = (sequence.n_computed, sequence.n_planned);
            let end = begin + n_rows;
            members.push(Member::new(sequence, tokens.len(), config)?);
            tokens.extend_from_slice(&sequence.tokens()[begin..end]);
            positions.extend(begin as u32..end as u32);
            if sequence.gives_token() {
                last_rows.push(tokens.len() as u32 - 1);
            }
        }
        let (n_rows, n_context) = (tokens.len(), members.iter().map(|member| member.begin + member.n_rows).sum());
        let [tokens, positions, last_rows] = [tokens, positions, last_rows].map(|list| Tensor::new(list, &Device::Cpu));
        Ok(Self { tokens: tokens?, positions: positions?, members, last_rows: last_rows?, n_rows, n_context })
    }

    /// The tokens that its attention reads.
    pub fn attention_sums(&self) -> AttentionSums {
        let mut sums = AttentionSums::default();
        for member in &self.members {
            sums.add_causal(member.n_rows, member.begin + member.n_rows);
        }
        sums
    }
}

impl Member {
    fn new(sequence: &Sequence, first_row: usize, config: &Config) -> Result<Self> {
        let (begin, n_rows) = (sequence.n_computed, sequence.n_planned);
        let table = sequence.table[..(begin + n_rows).div_ceil(BLOCK)].to_vec();
        let blocks = Tensor::new(table.as_slice(), &Device::Cpu)?;
        let mask = mask(begin, n_rows, table.len() * BLOCK, config.heads_sharing())?;
        Ok(Self { first_row, n_rows, begin, table, blocks, mask })
    }
}

fn mask(begin: usize, n_rows: usize, n_columns: usize, n_repeated: usize) -> Result<Tensor> {
    let row = |n| (0..n_columns).map(move |column| if column <= begin + n { 0f32 } else { f32::NEG_INFINITY });
    let numbers: Vec<f32> = (0..n_repeated).flat_map(|_| (0..n_rows).flat_map(row)).collect();
    Tensor::from_vec(numbers, (1, n_repeated * n_rows, n_columns), &Device::Cpu)
}
