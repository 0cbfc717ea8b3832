//! Models of the operations that this recorder records with their shapes.

use super::missing::Missing;
use super::modelled::Modelled;
use super::work::{
    Attention, AttentionTypes, Collective, CollectiveKind, DataType, Gemm, GemmTypes, Moe, OpKind, OpWork, RmsNorm,
    TokenSums, product,
};
use ferrum_trace_model::vocab::{Op, shape};

/// Arguments of an operation.
pub(super) trait ShapeArgs {
    /// Returns the value of an argument.
    fn text(&self, key: &str) -> Option<String>;

    /// Returns an argument that is a whole number.
    fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// Returns an argument that is true or false.
    fn flag(&self, key: &str) -> Option<bool> {
        match self.text(key)?.as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        }
    }

    /// Returns an argument that is a type.
    fn data_type(&self, key: &str) -> Option<DataType> {
        DataType::of_name(&self.text(key)?)
    }
}

/// Models an operation by its purpose and arguments.
pub(super) fn model(op: Op, name: &str, args: &impl ShapeArgs) -> Result<Modelled, Missing> {
    let of_shape = match op {
        Op::Gemm => gemm(args),
        Op::Attention => attention(args),
        Op::Moe => moe(args),
        Op::Norm => norm(args),
        Op::Comm => return collective(name, args),
        _ => elementwise(args),
    };
    stated(op, args, of_shape).ok_or(Missing::NoShapes)
}

/// Replaces FLOP and bytes by those that the operation states itself.
fn stated(op: Op, args: &impl ShapeArgs, of_shape: Option<Modelled>) -> Option<Modelled> {
    let (flop, bytes) = (args.number(shape::FLOP), args.number(shape::BYTES));
    if flop.is_none() && bytes.is_none() {
        return of_shape;
    }
    let mut modelled = of_shape.unwrap_or_else(|| Modelled {
        kind: kind(op),
        data_type: args.data_type(shape::DTYPE),
        shape: "stated".to_owned(),
        work: OpWork { flop: 0, bytes: None },
    });
    modelled.work = OpWork { flop: flop.unwrap_or(modelled.work.flop), bytes: bytes.or(modelled.work.bytes) };
    Some(modelled)
}

fn kind(op: Op) -> OpKind {
    match op {
        Op::Gemm => OpKind::Gemm,
        Op::Attention => OpKind::Attention,
        Op::Moe => OpKind::Moe,
        Op::Norm => OpKind::Norm,
        Op::Memory | Op::KvCache => OpKind::Copy,
        _ => OpKind::Elementwise,
    }
}

fn gemm(args: &impl ShapeArgs) -> Option<Modelled> {
    let gemm = Gemm {
        batch: args.number(shape::B).unwrap_or(1),
        m: args.number(shape::M)?,
        n: args.number(shape::N)?,
        k: args.number(shape::K)?,
        groups: args.number(shape::GROUPS).unwrap_or(1),
        has_bias: args.flag(shape::BIAS).unwrap_or(false),
    };
    let data_type = args.data_type(shape::DTYPE);
    let types = data_type.map(|it| GemmTypes { a: it, b: args.data_type(shape::WEIGHT_DTYPE).unwrap_or(it), out: it });
    let kind = if gemm.groups > 1 { OpKind::GroupedGemm } else { OpKind::Gemm };
    Some(Modelled { kind, data_type, shape: gemm.shape(), work: gemm.work(types) })
}

fn attention(args: &impl ShapeArgs) -> Option<Modelled> {
    let (heads, dim) = (args.number(shape::HEADS)?, args.number(shape::HEAD_DIM)?);
    let kv_heads = args.number(shape::KV_HEADS).unwrap_or(heads);
    let attention = Attention { heads, kv_heads, qk_dim: dim, v_dim: dim };
    let (queries, context) = (args.number(shape::Q)?, args.number(shape::KV)?);
    let sums = token_sums(args, queries, context);
    let data_type = args.data_type(shape::DTYPE);
    let cache = args.data_type(shape::KV_DTYPE).or(data_type);
    let types = data_type.zip(cache).map(|(query, cache)| AttentionTypes { query, cache });
    let text = format!("q={queries} kv={context} {}", attention.shape());
    Some(Modelled { kind: OpKind::Attention, data_type, shape: text, work: attention.work(sums, types) })
}

/// Returns the sums of all sequences, from those that are stated or from one sequence, repeated `b` times.
fn token_sums(args: &impl ShapeArgs, queries: u64, context: u64) -> TokenSums {
    if let Some(twice_pairs) = args.number(shape::TWICE_PAIRS) {
        let new = queries.min(context);
        return TokenSums { queries, new, cached: context.saturating_sub(new), twice_pairs };
    }
    let is_causal = args.flag(shape::CAUSAL).unwrap_or(true);
    let one = TokenSums::of_sequence(queries, context, is_causal, args.number(shape::WINDOW));
    one.times(args.number(shape::B).unwrap_or(1))
}

fn moe(args: &impl ShapeArgs) -> Option<Modelled> {
    let moe = Moe {
        tokens: args.number(shape::TOKENS)?,
        hidden: args.number(shape::HIDDEN)?,
        inter: args.number(shape::INTER)?,
        experts: args.number(shape::EXPERTS)?,
        top_k: args.number(shape::TOP_K)?,
        is_gated: args.flag(shape::GATED).unwrap_or(true),
        used: args.number(shape::EXPERTS_USED),
    };
    let data_type = args.data_type(shape::DTYPE);
    let types = data_type.map(|it| (it, args.data_type(shape::WEIGHT_DTYPE).unwrap_or(it)));
    Some(Modelled { kind: OpKind::Moe, data_type, shape: moe.shape(), work: moe.work(types) })
}

fn norm(args: &impl ShapeArgs) -> Option<Modelled> {
    let (rows, channels) = (args.number(shape::ROWS)?, args.number(shape::DIM)?);
    let has_residual = args.flag(shape::RESIDUAL).unwrap_or(false);
    let data_type = args.data_type(shape::DTYPE);
    let work = RmsNorm { elements: product(&[rows, channels]), channels, has_residual }.work(data_type);
    let residual = if has_residual { " +residual" } else { "" };
    Some(Modelled { kind: OpKind::Norm, data_type, shape: format!("rows={rows} dim={channels}{residual}"), work })
}

/// Returns one operation for each element of the result. Inputs of that size are read, and the result is written.
fn elementwise(args: &impl ShapeArgs) -> Option<Modelled> {
    let elements = args.number(shape::ELEMENTS)?;
    let tensors = args.number(shape::INPUTS).unwrap_or(1).saturating_add(1);
    let data_type = args.data_type(shape::DTYPE);
    let bytes = data_type.map(|it| it.bytes(product(&[elements, tensors])));
    let work = OpWork { flop: elements, bytes };
    Some(Modelled { kind: OpKind::Elementwise, data_type, shape: format!("elements={elements}"), work })
}

fn collective(name: &str, args: &impl ShapeArgs) -> Result<Modelled, Missing> {
    let kind = CollectiveKind::of_name(name).ok_or(Missing::UnknownOperation)?;
    let bytes = args.number(shape::BYTES).ok_or(Missing::NoShapes)?;
    let ranks = args.number(shape::RANKS).ok_or(Missing::NoRanks)?;
    let collective = Collective { kind, bytes, ranks };
    let data_type = args.data_type(shape::DTYPE);
    Ok(Modelled { kind: OpKind::Collective, data_type, shape: collective.shape(), work: collective.work() })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pairs(&'static str);

    impl ShapeArgs for Pairs {
        fn text(&self, key: &str) -> Option<String> {
            self.0
                .split(' ')
                .filter_map(|pair| pair.split_once('='))
                .find(|pair| pair.0 == key)
                .map(|it| it.1.to_owned())
        }
    }

    fn of(op: Op, args: &'static str) -> Modelled {
        model(op, "all_reduce", &Pairs(args)).unwrap()
    }

    #[test]
    fn products_may_have_weights_of_another_type() {
        let modelled = of(Op::Gemm, "m=4 n=5 k=6 dtype=bf16 weight_dtype=int8 bias=true");
        assert_eq!(modelled.work, OpWork { flop: 260, bytes: Some(48 + 30 + 40 + 10) });
        assert_eq!(of(Op::Gemm, "m=4 n=5 k=6 groups=3").kind, OpKind::GroupedGemm);
    }

    #[test]
    fn attention_is_causal_unless_stated() {
        let flop = |args| of(Op::Attention, args).work.flop;
        let causal = flop("heads=8 kv_heads=2 head_dim=64 q=10 kv=10");
        assert_eq!(causal, 8 * 128 * 100);
        assert_eq!(flop("heads=8 kv_heads=2 head_dim=64 q=10 kv=10 causal=false"), 2 * causal);
        assert_eq!(flop("heads=8 kv_heads=2 head_dim=64 q=10 kv=10 b=3"), 3 * causal);
        assert_eq!(flop("heads=8 kv_heads=2 head_dim=64 q=1 kv=1000 window=100"), 8 * 128 * 200);
        assert_eq!(flop("heads=8 kv_heads=2 head_dim=64 q=30 kv=30 twice_pairs=300"), 3 * causal);
    }

    #[test]
    fn stated_work_replaces_computed_work() {
        let modelled = of(Op::Gemm, "m=4 n=5 k=6 dtype=bf16 flop=1");
        assert_eq!(modelled.work, OpWork { flop: 1, bytes: Some(2 * (24 + 30 + 20)) });
        let modelled = of(Op::Memory, "bytes=4096");
        assert_eq!((modelled.kind, modelled.work), (OpKind::Copy, OpWork { flop: 0, bytes: Some(4096) }));
    }

    #[test]
    fn elements_are_read_and_written() {
        assert_eq!(of(Op::Act, "elements=10 inputs=2 dtype=f32").work, OpWork { flop: 10, bytes: Some(120) });
        assert_eq!(of(Op::Norm, "rows=10 dim=100 dtype=bf16").work, OpWork { flop: 4020, bytes: Some(4200) });
        assert_eq!(of(Op::Comm, "bytes=800 ranks=8").work.bytes, Some(1400));
    }

    #[test]
    fn an_operation_without_its_shape_is_reported() {
        assert_eq!(model(Op::Gemm, "qkv", &Pairs("m=4 n=5")), Err(Missing::NoShapes));
        assert_eq!(model(Op::Comm, "all_reduce", &Pairs("bytes=8")), Err(Missing::NoRanks));
    }
}
