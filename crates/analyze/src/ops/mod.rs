//! Classification of kernels and operations.

mod table;

use ferrum_trace_model::vocab::Op;
use ferrum_trace_model::{StringId, Trace};
use table::{Anchor, TABLE};

/// Returns the operation of a kernel or operation name; `None` if no pattern of the table matches.
///
/// Patterns are searched in the name of the function without its template arguments first, and in the whole name only
/// if none matches: an attention kernel may have the type of the KV cache among its arguments.
fn op_in(name: &str) -> Option<Op> {
    let name = name.to_ascii_lowercase().replace("(anonymous namespace)::", "");
    let name = name.strip_prefix("void ").unwrap_or(&name);
    let head = name.split(['<', '(']).next().unwrap_or(name);
    first_match(head).or_else(|| first_match(name))
}

fn first_match(name: &str) -> Option<Op> {
    let fits = |place: Anchor, pattern: &str| match place {
        Anchor::Start => name.starts_with(pattern),
        Anchor::Any => name.contains(pattern),
    };
    TABLE.iter().find(|(place, pattern, _)| fits(*place, pattern)).map(|(_, _, op)| *op)
}

/// Operations of the slices of a trace. Each name is classified once.
#[derive(Debug)]
pub(crate) struct Ops {
    /// Operation of each text as a category, and as a name.
    categories: Vec<Option<Op>>,
    names: Vec<Answer>,
}

/// Cached classification of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Unasked,
    Known(Option<Op>),
}

impl Ops {
    /// Prepares the classification for a trace.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut categories = vec![None; trace.strings.len()];
        for &op in Op::ALL {
            if let Some(id) = trace.strings.find(op.as_str()) {
                categories[id.index()] = Some(op);
            }
        }
        Self { categories, names: vec![Answer::Unasked; trace.strings.len()] }
    }

    /// Returns the operation of a slice: that of its category if it is one of our vocabulary, else that of its name.
    pub(crate) fn get(&mut self, trace: &Trace, category: StringId, name: StringId) -> Option<Op> {
        if let Some(op) = self.categories[category.index()] {
            return Some(op);
        }
        let answer = &mut self.names[name.index()];
        if *answer == Answer::Unasked {
            *answer = Answer::Known(op_in(trace.strings.get(name)));
        }
        match *answer {
            Answer::Known(op) => op,
            Answer::Unasked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        (
            "void splitKreduce_kernel<float, float, float, float>(cublasSplitKParams<float>, float const*",
            Some(Op::Gemm),
        ),
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
        (
            "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 8u",
            Some(Op::Attention),
        ),
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
        (
            "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(",
            Some(Op::Act),
        ),
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
        (
            "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer",
            Some(Op::Comm),
        ),
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
        (
            "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)2",
            Some(Op::Sampling),
        ),
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

    #[test]
    fn real_names_are_classified() {
        for (name, op) in NAMES {
            assert_eq!(op_in(name), *op, "{name}");
        }
    }

    #[test]
    fn every_operation_has_a_lowercase_pattern() {
        for &op in Op::ALL {
            assert!(TABLE.iter().any(|(_, _, of_pattern)| *of_pattern == op), "{op}");
        }
        for (_, pattern, _) in TABLE {
            assert_eq!(pattern.to_ascii_lowercase(), *pattern);
        }
    }

    #[test]
    fn no_pattern_is_hidden_by_an_earlier_one() {
        for (n, (place, pattern, _)) in TABLE.iter().enumerate() {
            let hides = |(earlier, other, _): &&(Anchor, &str, Op)| match (earlier, place) {
                (Anchor::Any, _) => pattern.contains(other),
                (Anchor::Start, Anchor::Start) => pattern.starts_with(other),
                (Anchor::Start, Anchor::Any) => false,
            };
            assert_eq!(TABLE[..n].iter().find(hides), None, "{pattern}");
        }
    }

    #[test]
    fn the_documented_patterns_have_their_documented_purpose() {
        let document = include_str!("../../../../docs/steps-and-requests.md");
        let (_, table) = document.split_once("| purpose | names that contain |\n| --- | --- |\n").unwrap();
        for row in table.lines().take_while(|line| line.starts_with('|')) {
            let mut words = row.split('`').skip(1).step_by(2);
            let purpose = words.next().unwrap();
            for pattern in words {
                assert!(TABLE.iter().any(|(_, it, _)| *it == pattern), "`{pattern}` is not in the table");
                assert_eq!(op_in(pattern).map(Op::as_str), Some(purpose), "{pattern}");
            }
        }
    }

    #[test]
    fn our_categories_take_precedence_over_names() {
        let trace = crate::test_traces::trace(&[
            ("1", "1", "attention", "qkv gemm", 0, 1),
            ("1", "1", "cpu_op", "qkv gemm", 2, 3),
        ]);
        let mut ops = Ops::of(&trace);
        let found = [0, 1].map(|n| ops.get(&trace, trace.slices.category[n], trace.slices.name[n]));
        assert_eq!(found, [Some(Op::Attention), Some(Op::Gemm)]);
    }
}
