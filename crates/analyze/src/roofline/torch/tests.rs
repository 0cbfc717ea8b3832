use super::*;
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::step_sums::StepSums;
use crate::roofline::work::{OpKind, OpWork};

/// Models an operation from the lists of a trace.
fn of(name: &str, dims: &str, types: &str, values: &str) -> Result<Modelled, Missing> {
    model(name, &Inputs::parse(dims, types, values), &Context::default()).unwrap()
}

fn work(name: &str, dims: &str, types: &str, values: &str) -> (u64, Option<u64>) {
    let OpWork { flop, bytes } = of(name, dims, types, values).unwrap().work;
    (flop, bytes)
}

const BF16: &str = r#"["c10::BFloat16","c10::BFloat16","c10::BFloat16"]"#;

#[test]
fn products_of_all_spellings_have_one_shape() {
    let cases = [
        ("aten::mm", "[[6,4],[4,8]]"),
        ("aten::matmul", "[[2,3,4],[4,8]]"),
        ("aten::linear", "[[2,3,4],[8,4]]"),
        ("vllm::rocm_unquantized_gemm", "[[6,4],[8,4]]"),
    ];
    for (name, dims) in cases {
        let modelled = of(name, dims, BF16, "").unwrap();
        assert_eq!((modelled.shape.as_str(), modelled.work.flop), ("m=6 n=8 k=4", 2 * 6 * 8 * 4), "{name}");
    }
    assert_eq!(of("aten::addmm", "[[8],[6,4],[4,8]]", BF16, "").unwrap().shape, "m=6 n=8 k=4 +bias");
    assert_eq!(of("aten::linear", "[[6,4],[8,4],[8]]", BF16, "").unwrap().shape, "m=6 n=8 k=4 +bias");
    assert_eq!(of("aten::matmul", "[[2,3,6,4],[2,3,4,8]]", BF16, "").unwrap().shape, "b=6 m=6 n=8 k=4");
    let grouped = of("aten::_grouped_mm", "[[6,4],[3,4,8]]", BF16, "").unwrap();
    assert_eq!((grouped.kind, grouped.shape.as_str()), (OpKind::GroupedGemm, "m=6 n=8 k=4 groups=3"));
}

#[test]
fn shapes_that_do_not_fit_are_reported() {
    assert_eq!(of("aten::mm", "[[6,4],[5,8]]", BF16, ""), Err(Missing::UnexpectedShapes));
    assert_eq!(of("aten::mm", "[[6,4]]", BF16, ""), Err(Missing::UnexpectedShapes));
    assert_eq!(of("aten::mm", "", "", ""), Err(Missing::NoShapes));
    assert_eq!(model("aten::view", &Inputs::default(), &Context::default()), None);
}

#[test]
fn a_number_is_not_moved_and_a_tensor_of_one_element_is() {
    let scalar = work("aten::add", "[[10],[],[]]", r#"["float","Scalar","Scalar"]"#, "");
    let tensor = work("aten::add", "[[10],[],[]]", r#"["float","double","Scalar"]"#, "");
    assert_eq!((scalar, tensor), ((10, Some(80)), (10, Some(88))));
    assert_eq!(work("aten::pow", "[[10],[]]", r#"["float","Scalar"]"#, ""), (10, Some(80)));
}

#[test]
fn a_result_has_the_larger_type_unless_it_is_in_place() {
    let types = r#"["c10::BFloat16","float"]"#;
    assert_eq!(work("aten::mul", "[[10],[10]]", types, ""), (10, Some(20 + 40 + 40)));
    assert_eq!(work("aten::mul_", "[[10],[10]]", types, ""), (10, Some(20 + 40 + 20)));
}

#[test]
fn copies_convert_types() {
    let modelled = of("aten::copy_", "[[10],[10],[]]", r#"["long int","int","Scalar"]"#, "").unwrap();
    assert_eq!(
        (modelled.kind, modelled.work.bytes, modelled.shape.as_str()),
        (OpKind::Copy, Some(120), "10 from int32")
    );
    assert_eq!(work("aten::copy_", "[[32],[32],[]]", r#"["bool","bool","Scalar"]"#, ""), (32, Some(64)));
}

#[test]
fn the_value_states_a_causal_mask() {
    let dims = "[[2,4,64,32],[2,2,64,32],[2,2,64,32],[],[],[]]";
    let flop = |values: &str| of("aten::_scaled_dot_product_flash_attention", dims, BF16, values).unwrap().work.flop;
    assert_eq!(flop(r#"["","","","0.","False"]"#), 2 * 2 * 4 * 64 * 64 * 64);
    assert_eq!(flop(r#"["","","","0.","True"]"#), 2 * 4 * 64 * 64 * 64);
    let modelled = of("aten::_flash_attention_forward", "[[2,64,4,32],[2,64,2,32],[2,64,2,32]]", BF16, "").unwrap();
    assert_eq!(modelled.shape, "b=2 q=64 kv=64 heads=4/2 dim=32");
}

#[test]
fn paged_attention_needs_the_sums_of_its_step() {
    let inputs = Inputs::parse("[[32,64,64],[32,8,64],[32,8,64],[32,64,64]]", BF16, "");
    let name = "vllm::unified_attention_with_output";
    let without = model(name, &inputs, &Context::default()).unwrap();
    assert_eq!(without, Err(Missing::NoSequenceLengths));
    let mark = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)";
    let context = Context { sums: StepSums::of_name(mark), ranks: None };
    let modelled = model(name, &inputs, &context).unwrap().unwrap();
    assert_eq!(modelled.work, OpWork { flop: 902_529_024, bytes: Some(113_340_416) });
}

#[test]
fn the_weight_of_an_rms_norm_is_found_in_any_order() {
    let types = r#"["c10::BFloat16","c10::BFloat16","c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar"]"#;
    let cases = [
        ("aiter::rms_norm", "[[32,2880],[2880],[]]", (368_704, Some(374_400))),
        ("_C::rms_norm", "[[32,2880],[32,2880],[2880],[]]", (368_704, Some(374_400))),
        (
            "aiter::rmsnorm2d_fwd_with_add_ck",
            "[[32,2880],[32,2880],[32,2880],[32,2880],[2880],[]]",
            (460_864, Some(743_040)),
        ),
    ];
    for (name, dims, expected) in cases {
        assert_eq!(work(name, dims, types, ""), expected, "{name}");
    }
}

#[test]
fn batch_norm_reads_statistics_unless_it_trains() {
    let of = |training: &str| {
        let values = format!(r#"["","","","","","{training}"]"#);
        work("aten::batch_norm", "[[2,8,5,5]]", r#"["float"]"#, &values)
    };
    assert_eq!(of("False"), (2 * 400 + 48, Some(4 * (800 + 32))));
    assert_eq!(of("True"), (5 * 400 + 48, Some(4 * (800 + 48))));
}

#[test]
fn experts_are_modelled_from_their_weights() {
    let types = r#"["c10::BFloat16","c10::BFloat16","c10::BFloat16","float"]"#;
    let modelled = of("vllm::inplace_fused_experts", "[[1,8],[16,8,8],[16,8,4],[1,2]]", types, "").unwrap();
    assert_eq!(modelled.shape, "tokens=1 hidden=8 inter=4 experts=16 topk=2");
    assert_eq!(modelled.work.flop, 2 * 2 * 8 * 4 * 3 + 8 * 3);
}

#[test]
fn a_collective_of_gloo_needs_the_number_of_ranks() {
    let inputs = Inputs::parse("[[1000]]", r#"["float"]"#, "");
    let of = |ranks| model("gloo:all_reduce", &inputs, &Context { sums: None, ranks }).unwrap();
    assert_eq!(of(None), Err(Missing::NoRanks));
    assert_eq!(of(Some(4)).unwrap().work.bytes, Some(6000));
    assert_eq!(model("gloo:barrier", &inputs, &Context::default()), None);
}
