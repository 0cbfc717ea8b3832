//! Weights in files, with the names and format of Hugging Face.

use crate::config::Config;
use crate::flags::Flags;
use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor, safetensors};
use ferrum_trace::span;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const CONFIG_FILE: &str = "config.json";
const WEIGHTS_FILE: &str = "model.safetensors";
const WEIGHTS_ENDING: &str = "safetensors";

/// A model's shape and its weights by name.
#[derive(Debug)]
pub struct Checkpoint {
    pub config: Config,
    weights: HashMap<String, Tensor>,
}

/// Opens the selected checkpoint: an existing one, or a random one that is created, saved and read like any other.
pub fn open(flags: &Flags) -> Result<Checkpoint> {
    if let Some(path) = &flags.weights {
        return Checkpoint::read(path);
    }
    let config = Config::made(flags.layers, flags.width);
    match &flags.save {
        Some(folder) => make_and_read(folder, &config, flags.seed),
        None => make_and_read(tempfile::tempdir()?.path(), &config, flags.seed),
    }
}

fn make_and_read(folder: &Path, config: &Config, seed: u64) -> Result<Checkpoint> {
    make(folder, config, seed).with_context(|| folder.display().to_string())?;
    Checkpoint::read(folder)
}

/// Writes random weights for a model of this shape into a folder.
pub fn make(folder: &Path, config: &Config, seed: u64) -> Result<()> {
    let _span = span!("make_weights", "load", layers = config.num_hidden_layers, width = config.hidden_size);
    fs::create_dir_all(folder)?;
    let mut random = StdRng::seed_from_u64(seed);
    let weights = shapes(config).into_iter().map(|(name, shape)| Ok((name, random_weight(&shape, &mut random)?)));
    let weights: HashMap<String, Tensor> = weights.collect::<Result<_>>()?;
    safetensors::save(&weights, folder.join(WEIGHTS_FILE))?;
    fs::write(folder.join(CONFIG_FILE), serde_json::to_string_pretty(config)?)?;
    Ok(())
}

/// A matrix whose products keep the magnitude of the input, or the gains of a norm.
fn random_weight(shape: &[usize], random: &mut StdRng) -> Result<Tensor> {
    let [rows, columns] = shape else { return Ok(Tensor::ones(shape, DType::F32, &Device::Cpu)?) };
    let half_width = (3.0 / *columns as f32).sqrt();
    let numbers = (0..rows * columns).map(|_| random.random_range(-half_width..half_width)).collect();
    Ok(Tensor::from_vec(numbers, shape, &Device::Cpu)?)
}

/// The names of all weights, with their shapes.
fn shapes(config: &Config) -> Vec<(String, Vec<usize>)> {
    let (width, hidden, vocabulary) = (config.hidden_size, config.intermediate_size, config.vocab_size);
    let (queries, keys) = (config.query_width(), config.kv_width());
    let mut shapes = vec![("model.embed_tokens.weight".to_owned(), vec![vocabulary, width])];
    for layer in 0..config.num_hidden_layers {
        let of_layer: [(&str, Vec<usize>); 9] = [
            ("input_layernorm", vec![width]),
            ("self_attn.q_proj", vec![queries, width]),
            ("self_attn.k_proj", vec![keys, width]),
            ("self_attn.v_proj", vec![keys, width]),
            ("self_attn.o_proj", vec![width, queries]),
            ("post_attention_layernorm", vec![width]),
            ("mlp.gate_proj", vec![hidden, width]),
            ("mlp.up_proj", vec![hidden, width]),
            ("mlp.down_proj", vec![width, hidden]),
        ];
        shapes.extend(of_layer.map(|(name, shape)| (format!("model.layers.{layer}.{name}.weight"), shape)));
    }
    shapes.push(("model.norm.weight".to_owned(), vec![width]));
    if !config.tie_word_embeddings {
        shapes.push(("lm_head.weight".to_owned(), vec![vocabulary, width]));
    }
    shapes
}

impl Checkpoint {
    /// Reads a folder, or a file that has its `config.json` beside it.
    pub fn read(path: &Path) -> Result<Self> {
        let _span = span!("load_weights", "load");
        let (folder, files) = files_of(path)?;
        let config = Config::read(&folder.join(CONFIG_FILE))?;
        let mut weights = HashMap::new();
        for file in files {
            let loaded = safetensors::load(&file, &Device::Cpu).with_context(|| file.display().to_string())?;
            weights.extend(loaded);
        }
        let checkpoint = Self { config, weights };
        checkpoint.check().with_context(|| path.display().to_string())?;
        Ok(checkpoint)
    }

    fn check(&self) -> Result<()> {
        for (name, shape) in shapes(&self.config) {
            let Some(found) = self.weights.get(&name) else { bail!("expected a tensor `{name}`, found none") };
            ensure!(found.dims() == shape, "expected `{name}` to be {shape:?}, found {:?}", found.dims());
        }
        Ok(())
    }

    /// Concatenates weights that share their input, in single precision.
    pub fn take(&mut self, names: &[&str]) -> Result<Tensor> {
        let parts = names.iter().map(|name| self.take_one(&format!("{name}.weight")));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(Tensor::cat(&parts, 0)?)
    }

    /// The weights of the output, which may be those of the input.
    pub fn head(&mut self, embedding: &Tensor) -> Result<Tensor> {
        if self.config.tie_word_embeddings { Ok(embedding.clone()) } else { self.take(&["lm_head"]) }
    }

    fn take_one(&mut self, name: &str) -> Result<Tensor> {
        let weight = self.weights.remove(name).with_context(|| format!("expected a tensor `{name}`, found none"))?;
        Ok(weight.to_dtype(DType::F32)?)
    }
}

/// The folder of a checkpoint and its files of weights.
fn files_of(path: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    let words = || path.display().to_string();
    if !fs::metadata(path).with_context(words)?.is_dir() {
        return Ok((path.parent().unwrap_or(Path::new("")).to_owned(), vec![path.to_owned()]));
    }
    let entries = fs::read_dir(path).with_context(words)?.collect::<std::io::Result<Vec<_>>>().with_context(words)?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == WEIGHTS_ENDING));
    files.sort();
    ensure!(!files.is_empty(), "{}: expected files that end in .{WEIGHTS_ENDING}, found none", path.display());
    Ok((path.to_owned(), files))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    #[test]
    fn a_created_checkpoint_can_be_read_and_depends_on_the_seed() {
        let (folder, config) = (tempdir().unwrap(), Config::made(1, 32));
        let weights = |seed| {
            let mut checkpoint = make_and_read(folder.path(), &config, seed).unwrap();
            checkpoint.take(&["lm_head"]).unwrap().to_vec2::<f32>().unwrap()
        };
        assert_eq!(weights(1), weights(1));
        assert_ne!(weights(1), weights(2));
    }

    #[test]
    fn an_invalid_checkpoint_is_refused_with_the_name_of_the_tensor() {
        let folder = tempdir().unwrap();
        let path = folder.path();
        let complaint = || format!("{:#}", Checkpoint::read(path).unwrap_err());
        assert!(complaint().contains("found none"), "{}", complaint());
        make(path, &Config::made(1, 32), 1).unwrap();
        let config = |config: &Config| fs::write(path.join(CONFIG_FILE), serde_json::to_vec(config).unwrap()).unwrap();
        config(&Config::made(2, 32));
        assert!(complaint().contains("`model.layers.1.input_layernorm.weight`, found none"), "{}", complaint());
        config(&Config { vocab_size: 5, ..Config::made(1, 32) });
        assert!(complaint().contains("to be [5, 32], found [4096, 32]"), "{}", complaint());
        fs::write(path.join(WEIGHTS_FILE), "no weights").unwrap();
        assert!(complaint().contains(WEIGHTS_FILE), "{}", complaint());
        fs::write(path.join(CONFIG_FILE), "{").unwrap();
        assert!(complaint().contains(CONFIG_FILE), "{}", complaint());
    }
}
