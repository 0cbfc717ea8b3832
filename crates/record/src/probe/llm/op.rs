//! An operation of the model.

/// Begins an operation, which ends when the returned [`Span`](crate::Span) is dropped. Takes its name, its purpose (a
/// variant of [`Op`](crate::llm::Op), checked at compile time), and arguments as in [`span!`](crate::span).
///
/// ```
/// use ferrum_trace::llm;
/// # let (layer, rows) = (3usize, 16usize);
/// let _op = llm::op!("qkv_proj", Gemm, layer, m = rows, n = 3072, k = 1024);
/// ```
///
/// An unknown purpose is a compile error:
///
/// ```compile_fail
/// let _op = ferrum_trace::llm::op!("qkv_proj", Matmul);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __llm_op {
    ($name:expr, $op:ident $(, $key:ident $(= $value:expr)?)* $(,)?) => {
        $crate::__span!($name, $crate::llm::Op::$op.as_str(), $($key $(= $value)?),*)
    };
}
