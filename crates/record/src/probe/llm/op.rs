//! An operation of the model.

/// Begins an operation, which ends when the returned [`Span`](crate::Span) is dropped: its name, what it is for (a word of
/// [`Op`](crate::llm::Op), checked when compiling), and arguments as [`span!`](crate::span) takes them.
///
/// ```
/// use ferrum_trace::llm;
/// # let (layer, rows) = (3usize, 16usize);
/// let _op = llm::op!("qkv_proj", Gemm, layer, m = rows, n = 3072, k = 1024);
/// ```
///
/// A word that does not exist is an error of the compiler:
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
