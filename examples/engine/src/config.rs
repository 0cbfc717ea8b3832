//! The shape of a model: `config.json` of a checkpoint.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Heads of a random model, and the number of heads that share keys and values.
const HEADS: usize = 8;
const HEADS_SHARING: usize = 2;
const VOCABULARY: usize = 4096;

/// The fields of `config.json` that the engine needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    pub model_type: String,
    pub num_hidden_layers: usize,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub vocab_size: usize,
    pub num_attention_heads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_key_value_heads: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<usize>,
    pub rms_norm_eps: f64,
    pub max_position_embeddings: usize,
    #[serde(default = "usual_rope_theta")]
    pub rope_theta: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rope_scaling: Option<serde_json::Value>,
    #[serde(default)]
    pub tie_word_embeddings: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eos_token_id: Option<StopTokens>,
}

/// One or several tokens that end a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StopTokens {
    One(u32),
    Several(Vec<u32>),
}

fn usual_rope_theta() -> f64 {
    10_000.0
}

impl Config {
    /// The proportions of a Llama model.
    pub fn made(layers: usize, width: usize) -> Self {
        Self {
            model_type: "llama".to_owned(),
            num_hidden_layers: layers,
            hidden_size: width,
            intermediate_size: width * 8 / 3,
            vocab_size: VOCABULARY,
            num_attention_heads: HEADS,
            num_key_value_heads: Some(HEADS / HEADS_SHARING),
            head_dim: None,
            rms_norm_eps: 1e-5,
            max_position_embeddings: 1_000_000,
            rope_theta: usual_rope_theta(),
            rope_scaling: None,
            tie_word_embeddings: false,
            eos_token_id: None,
        }
    }

    /// Reads the file, and checks that the engine supports the model.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| path.display().to_string())?;
        let config: Self = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        config.check().with_context(|| path.display().to_string())?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let Self { model_type, num_attention_heads, .. } = self;
        ensure!(model_type == "llama", "expected `model_type` to be `llama`, found `{model_type}`");
        ensure!(self.rope_scaling.is_none(), "expected no `rope_scaling`, which this engine does not support");
        ensure!(*num_attention_heads > 0 && self.kv_heads() > 0, "expected heads, found none");
        ensure!(num_attention_heads % self.kv_heads() == 0, "heads cannot share {} heads of keys", self.kv_heads());
        ensure!(self.head_size() > 0 && self.head_size().is_multiple_of(2), "expected heads of an even size");
        ensure!(self.vocab_size > 0, "expected a vocabulary, found none");
        Ok(())
    }

    /// Number of key-value heads: several query heads share one.
    pub fn kv_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    /// Query heads per key-value head.
    pub fn heads_sharing(&self) -> usize {
        self.num_attention_heads / self.kv_heads()
    }

    /// Length of a head's vector for one token.
    pub fn head_size(&self) -> usize {
        self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads)
    }

    /// Length of a token's queries.
    pub fn query_width(&self) -> usize {
        self.num_attention_heads * self.head_size()
    }

    /// Length of a token's keys, and of its values.
    pub fn kv_width(&self) -> usize {
        self.kv_heads() * self.head_size()
    }

    /// Returns true if a text ends with this token.
    pub fn is_stop(&self, token: u32) -> bool {
        match &self.eos_token_id {
            None => false,
            Some(StopTokens::One(stop)) => token == *stop,
            Some(StopTokens::Several(stops)) => stops.contains(&token),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_of_hugging_face_is_read() {
        let text = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 22,
            "hidden_size": 2048, "intermediate_size": 5632, "vocab_size": 32000, "num_attention_heads": 32,
            "num_key_value_heads": 4, "rms_norm_eps": 1e-05, "max_position_embeddings": 2048, "rope_scaling": null,
            "eos_token_id": [2, 7], "torch_dtype": "bfloat16"}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        config.check().unwrap();
        assert_eq!((config.head_size(), config.kv_width(), config.heads_sharing()), (64, 256, 8));
        assert!(config.is_stop(7) && !config.is_stop(3) && config.rope_theta == 10_000.0);
    }

    #[test]
    fn unsupported_models_are_refused() {
        let made = Config::made(1, 64);
        let wrong = [
            (Config { model_type: "mamba".into(), ..made.clone() }, "found `mamba`"),
            (Config { rope_scaling: Some(serde_json::json!({"factor": 8})), ..made.clone() }, "rope_scaling"),
            (Config { num_key_value_heads: Some(3), ..made.clone() }, "3 heads"),
            (Config { num_attention_heads: 0, ..made }, "found none"),
        ];
        for (config, words) in wrong {
            assert!(config.check().unwrap_err().to_string().contains(words), "{words}");
        }
    }
}
