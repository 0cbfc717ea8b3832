//! Tests of the built-in rules with real names.

use super::rules::{BUILT_IN_RULES, Condition, Rule};
use super::*;
use ferrum_trace_model::vocab::Op;

/// Real names of CUDA and ROCm kernels and of torch operations, shortened at their end.
const NAMES: &[(&str, Option<Op>)] = &[
    // Products of matrices.
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(cutlass_80",
        Some(Op::Gemm),
    ),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>", Some(Op::Gemm)),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off",
        Some(Op::Gemm),
    ),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1_SN_LDSB1_AFC1", Some(Op::Gemm)),
    ("nvjet_tst_128x64_64x8_2x1_v_bz_TNT", Some(Op::Gemm)),
    ("ampere_sgemm_32x32_sliced1x4_tn", Some(Op::Gemm)),
    ("volta_sgemm_64x64_nt", Some(Op::Gemm)),
    ("void splitKreduce_kernel<float, float, float, float>(cublasSplitKParams<float>, float const*", Some(Op::Gemm)),
    (
        "void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long, float*, cublasLtEpilogue_t",
        Some(Op::Gemm),
    ),
    ("void gemvNSP_kernel<__nv_bfloat16, __nv_bfloat16, float, 1, 8>(cublasGemvParams", Some(Op::Gemm)),
    (
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x8x512u2_s6_et128x8_m128x8x32_cga1x1x1_16dp256b_TN_transOut_swiGlu",
        Some(Op::Gemm),
    ),
    ("aten::addmm", Some(Op::Gemm)),
    // Attention.
    (
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false",
        Some(Op::Attention),
    ),
    (
        "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::",
        Some(Op::Attention),
    ),
    ("kernel_unified_attention_2d", Some(Op::Attention)),
    ("reduce_segments", Some(Op::Attention)),
    ("attn_fwd", Some(Op::Attention)),
    (
        "void vllm::paged_attention_v2_kernel<__half, unsigned char, 128, 16, 128, (vllm::Fp8KVCacheDataType)1, true>",
        Some(Op::Attention),
    ),
    ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 8u", Some(Op::Attention)),
    ("_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_33BlockFmhaPipelineQRKSVSAsyncINS_24", Some(Op::Attention)),
    ("aten::scaled_dot_product_attention", Some(Op::Attention)),
    // Norms, activations, rotary embeddings.
    ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27Rmsnorm2dFwd", Some(Op::Norm)),
    ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16*", Some(Op::Norm)),
    ("void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(", Some(Op::Norm)),
    (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float",
        Some(Op::Norm),
    ),
    ("triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1", Some(Op::Norm)),
    ("void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(", Some(Op::Norm)),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel(at::Tensor",
        Some(Op::Act),
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&",
        Some(Op::Act),
    ),
    ("void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(", Some(Op::Act)),
    ("triton_poi_fused__unsafe_view_mul_silu_2", Some(Op::Act)),
    ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*", Some(Op::Rope)),
    // Quantizing.
    ("void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(", Some(Op::Quant)),
    ("void vllm::dynamic_scaled_int8_quant_kernel<c10::BFloat16, float>(", Some(Op::Quant)),
    ("_per_token_group_quant_8bit", Some(Op::Quant)),
    // Communication between devices.
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Some(Op::Comm)),
    ("rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", Some(Op::Comm)),
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals", Some(Op::Comm)),
    ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer", Some(Op::Comm)),
    // Experts.
    ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", Some(Op::Moe)),
    ("_topk_forward", Some(Op::Moe)),
    ("_combined_routing_memset", Some(Op::Moe)),
    ("_sum_bitmatrix_rows", Some(Op::Moe)),
    ("triton_poi_fused_constant_pad_nd_moe_forward_0", Some(Op::Moe)),
    ("void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, false, int>(float const*", Some(Op::Moe)),
    // The KV cache.
    (
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(",
        Some(Op::KvCache),
    ),
    // Sampling.
    (
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*, float const*, int",
        Some(Op::Sampling),
    ),
    (
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(at::cuda::detail::TensorInfo",
        Some(Op::Sampling),
    ),
    ("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)2", Some(Op::Sampling)),
    (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>",
        Some(Op::Sampling),
    ),
    // Copies.
    ("Memcpy HtoD (Pageable -> Device)", Some(Op::Memory)),
    ("Memset (Device)", Some(Op::Memory)),
    (
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(",
        Some(Op::Memory),
    ),
    (
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>",
        Some(Op::Memory),
    ),
    ("void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int", Some(Op::Memory)),
    // Names that match no pattern.
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(",
        None,
    ),
    ("triton_poi_fused_0", None),
    ("at::cuda::(anonymous namespace)::spin_kernel(long)", None),
    ("", None),
];

fn op_in(name: &str) -> Option<Op> {
    let rules = Rules::built_in();
    rules.classify(name).and_then(|class| rules.op(class))
}

#[test]
fn real_names_are_classified() {
    for (name, op) in NAMES {
        assert_eq!(op_in(name), *op, "{name}");
    }
}

/// Real names with classes that are finer than the operations of the vocabulary, or that other tools get wrong.
const FINE_NAMES: &[(&str, &str)] = &[
    // Attention of an H100 is a template of cutlass with a matrix product among its arguments.
    (
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<cutlass::gemm::Coll",
        "attention",
    ),
    ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, cutlass::bfloat16_t>, gemm>", "attention"),
    ("fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalVarSeqQ128Kv128Persistent", "attention"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128", "attention"),
    ("_fwd_grouped_kernel_stage1", "attention"),
    ("_fwd_kernel", "attention"),
    ("void deep_gemm::sm90_fp8_paged_mqa_logits<64u, 128u>(", "attention"),
    // A reduction over ranks is communication; routing is not.
    ("void multimem_all_reduce_kernel<c10::BFloat16, 16>(", "comm"),
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*", "comm"),
    ("_combined_routing_compute", "moe_sort"),
    ("_combined_routing_memset", "moe_sort"),
    ("_sum_bitmatrix_rows", "moe_sort"),
    ("void vllm::moe::moe_align_block_size_kernel<int>(int const*", "moe_sort"),
    ("_topk_forward", "moe_topk"),
    ("void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, 32, int>(float const*", "moe_topk"),
    ("_fwd_kernel_ep_scatter_1", "moe_data"),
    ("triton_poi_fused_constant_pad_nd_moe_forward_0", "moe_data"),
    ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "moe"),
    ("fused_moe_kernel", "moe"),
    ("void deep_gemm::sm100_m_grouped_fp8_gemm_impl<", "moe"),
    // Convolutions are not activations, also if one is fused with them.
    ("cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "conv"),
    ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16", "conv"),
    ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc>", "conv"),
    ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x16_wt16x16x4_ws1x1", "conv"),
    ("ampere_igemm_int8_128x128_ldg4_relu_nt", "gemm"),
    ("void mul_mat_vec_q<(ggml_type)12, 1, false, false>(", "gemm"),
    // State space models.
    ("_causal_conv1d_update_kernel", "ssm"),
    ("fused_recurrent_gated_delta_rule_fwd_kernel", "ssm"),
    // General kernels of torch and of its compiler.
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array", "elementwise"),
    (
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::neg_kernel",
        "elementwise",
    ),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float", "reduce"),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float", "reduce"),
    ("triton_poi_fused_add_cos_sin_0", "elementwise"),
    ("triton_red_fused_sum_3", "reduce"),
    ("triton_per_fused__softmax_2", "softmax"),
    ("void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>", "reduce"),
    ("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_k", "memory"),
    ("void at::native::(anonymous namespace)::adaptive_average_pool<float>(", "pool"),
    ("at::cuda::(anonymous namespace)::spin_kernel(long)", "wait"),
    // Names of the host.
    ("cudaLaunchKernel", "launch"),
    ("hipExtModuleLaunchKernel", "launch"),
    ("cudaDeviceSynchronize", "sync"),
    ("aten::transpose", "view"),
    ("aten::t", "view"),
    ("aten::to", "memory"),
    ("aten::topk", "sampling"),
    ("aten::native_layer_norm", "norm"),
    ("aten::linalg_vector_norm", "reduce"),
    ("aten::mul_", "elementwise"),
    ("embed", "embedding"),
    ("final_norm", "norm"),
    ("lm_head", "lm_head"),
];

#[test]
fn names_have_finer_classes() {
    let rules = Rules::built_in();
    for (name, class) in FINE_NAMES {
        assert_eq!(rules.classify(name).map(|class| rules.name(class)), Some(*class), "{name}");
    }
    assert_eq!([rules.classify("kernel_7"), rules.classify("")], [None; 2]);
}

#[test]
fn an_output_head_is_found_by_the_function_around_its_launch() {
    let rules = Rules::built_in();
    let class = |name, parents: &[&str]| rules.classify_within(name, parents).map(|class| rules.name(class));
    let parents = ["gpu_model_runner.py(3380): execute_model", "gpt_oss.py(1219): compute_logits", "aten::mm"];
    assert_eq!(class("Cijk_Alik_Bljk_BBS_BH", &parents), Some("lm_head"));
    assert_eq!(class("Cijk_Alik_Bljk_BBS_BH", &parents[..1]), Some("gemm"));
    assert_eq!(class("Memcpy DtoD (Device -> Device)", &parents), Some("memory"), "only products are output heads");
}

#[test]
fn own_rules_come_before_the_built_in_ones() {
    let text = "class draft in gemm\ndraft parent contains DraftModel\nattention is gemm_that_attends\n";
    let rules = Rules::with_own(text).unwrap();
    let class = |name, parents: &[&str]| rules.classify_within(name, parents).map(|class| rules.name(class));
    assert_eq!(class("gemm_that_attends", &[]), Some("attention"));
    assert_eq!(class("gemm_that_attends_not", &[]), Some("gemm"));
    assert_eq!(class("anything", &["nn.Module: DraftModel_0"]), Some("draft"));
    assert_eq!(rules.class("draft").and_then(|class| rules.op(class)), Some(Op::Gemm));
    let only = Rules::with_own("only\nattention contains gemm").unwrap();
    assert_eq!(only.classify("gemm").map(|class| only.name(class)), Some("attention"));
    assert_eq!(only.classify("flash_fwd"), None, "the built-in rules are dropped");
    assert_eq!(Rules::with_own("gem contains x").unwrap_err().line, 1);
}

#[test]
fn a_copy_of_the_built_in_rules_replaces_them() {
    assert_eq!(Rules::with_own(BUILT_IN_RULES), Ok(Rules::built_in()));
    let edited = BUILT_IN_RULES.replace("attention    contains  fmha\n", "");
    assert_eq!(Rules::with_own(&edited).unwrap().classify("fmha"), None);
}

#[test]
fn general_rules_count_only_if_no_special_one_matches_the_whole_name() {
    let rules = Rules::with_own("only\nact contains silu\nelse\nelementwise contains elementwise\n").unwrap();
    let class = |name| rules.classify(name).map(|class| rules.name(class));
    assert_eq!(class("void elementwise_kernel<4, silu_kernel(long)>"), Some("act"));
    assert_eq!(class("void elementwise_kernel<4, tanh_kernel(long)>"), Some("elementwise"));
}

#[test]
fn a_category_counts_unless_the_name_has_a_finer_class() {
    let rules = Rules::built_in();
    let class =
        |category, name| rules.classify_in_category(category, rules.classify(name)).map(|class| rules.name(class));
    assert_eq!(class("gemm", "attention_out"), Some("gemm"));
    assert_eq!(class("gemm", "lm_head"), Some("lm_head"));
    assert_eq!(class("cpu_op", "lm_head"), Some("lm_head"));
    assert_eq!(class("cpu_op", "x"), None);
}

#[test]
fn the_built_in_rules_have_a_rule_for_every_class_and_a_class_for_every_operation() {
    let mut classes = class::Classes::default();
    parse::parse(BUILT_IN_RULES, &mut classes).unwrap();
    let rules = Rules::built_in();
    for &op in Op::ALL {
        assert_eq!(rules.class(op.as_str()).and_then(|class| rules.op(class)), Some(op));
    }
    for class in rules.classes() {
        assert!(rules.all().any(|rule| rule.class == class), "{} has no rule", rules.name(class));
    }
}

/// Text of a pattern that is searched at the start or anywhere in a name.
fn searched(rule: &Rule) -> Option<(&str, bool)> {
    match &rule.condition {
        Condition::Name(Pattern::Starts(text)) => Some((text, true)),
        Condition::Name(Pattern::Contains(text)) => Some((text, false)),
        _ => None,
    }
}

#[test]
fn no_pattern_is_hidden_by_an_earlier_one() {
    for stage in &Rules::built_in().stages {
        let searched: Vec<_> = stage.iter().filter_map(searched).collect();
        for (n, (text, is_start)) in searched.iter().enumerate() {
            let hides = |(other, is_other_start): &&(&str, bool)| match is_other_start {
                false => text.contains(other),
                true => *is_start && text.starts_with(other),
            };
            assert_eq!(searched[..n].iter().find(hides), None, "{text}");
        }
    }
}

#[test]
fn the_documented_patterns_have_their_documented_purpose() {
    let document = include_str!("../../../../docs/steps-and-requests.md");
    let (_, table) = document.split_once("| purpose | names that contain |\n| --- | --- |\n").unwrap();
    let rules = Rules::built_in();
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let mut words = row.split('`').skip(1).step_by(2);
        let purpose = words.next().unwrap();
        for pattern in words {
            let is_it = |rule: &Rule| searched(rule).is_some_and(|(text, _)| text == pattern);
            assert!(rules.all().any(is_it), "`{pattern}` is in no rule");
            assert_eq!(op_in(pattern).map(Op::as_str), Some(purpose), "{pattern}");
        }
    }
}

#[test]
fn the_documented_classes_and_example_are_valid() {
    let document = include_str!("../../../../docs/taxonomy.md");
    let rules = Rules::built_in();
    let (_, table) = document.split_once("| class | content |\n| --- | --- |\n").unwrap();
    let first_cells = table.lines().take_while(|line| line.starts_with('|')).map(|row| row.split('|').nth(1).unwrap());
    let documented: Vec<&str> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    for class in rules.classes().map(|class| rules.name(class)) {
        assert!(documented.contains(&class), "`{class}` is not in the table");
    }
    for class in documented {
        assert!(rules.class(class).is_some(), "`{class}` is no class");
    }
    let (_, example) = document.split_once("```text\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let example = Rules::with_own(example).unwrap();
    let class = |name, parents: &[&str]| example.classify_within(name, parents).map(|class| example.name(class));
    assert_eq!(class("layer3_norm_v2", &[]), Some("norm"));
    assert_eq!(class("nvjet_tst", &["mlp.gate_proj"]), Some("router"));
    assert_eq!(class("nvjet_tst", &["DraftModel", "mlp.gate_proj"]), Some("draft"));
}

#[test]
fn our_categories_take_precedence_over_names() {
    let trace =
        crate::test_traces::trace(&[("1", "1", "attention", "qkv gemm", 0, 1), ("1", "1", "cpu_op", "qkv gemm", 2, 3)]);
    let mut ops = Ops::of(&trace);
    let found = [0, 1].map(|n| ops.get(&trace, trace.slices.category[n], trace.slices.name[n]));
    assert_eq!(found, [Some(Op::Attention), Some(Op::Gemm)]);
}
