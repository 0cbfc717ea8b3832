//! Macros for call sites.

/// Records the time from here to the end of the scope, or until the returned [`Span`](crate::Span) is dropped.
///
/// Takes a name, optionally a category, then arguments: `key = value`, or just `key` for a variable of that name. Name
/// and category must be constant; see [`Span::dynamic`](crate::Span::dynamic) for others. Arguments are evaluated only
/// while recording is on.
///
/// ```
/// use ferrum_trace::span;
/// # let tokens = vec![1, 2, 3];
/// for layer in 0..2u32 {
///     let _span = span!("rms_norm", "norm", layer, tokens = tokens.len());
///     // the work
/// }
/// let _whole = span!("step");
/// ```
#[macro_export]
macro_rules! span {
    ($name:expr $(,)?) => { $crate::__span!($name, "",) };
    ($name:expr, $category:literal $(, $($key:ident $(= $value:expr)?),* $(,)?)?) => {
        $crate::__span!($name, $category, $($($key $(= $value)?),*)?)
    };
    ($name:expr, $($key:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::__span!($name, "", $($key $(= $value)?),+)
    };
}

/// Like [`span!`](crate::span), for consecutive pieces of work (laps): one clock read each instead of two.
///
/// ```
/// use ferrum_trace::laps;
/// for i in 0..2u32 {
///     let mut lap = laps!("layer", layer = i);
///     // attention
///     lap.mark("attention");
///     // mlp
///     lap.mark("mlp");
/// } // the slice `layer` around both ends here
/// ```
#[macro_export]
macro_rules! laps {
    ($name:expr $(,)?) => { $crate::__laps!($name, "",) };
    ($name:expr, $category:literal $(, $($key:ident $(= $value:expr)?),* $(,)?)?) => {
        $crate::__laps!($name, $category, $($($key $(= $value)?),*)?)
    };
    ($name:expr, $($key:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::__laps!($name, "", $($key $(= $value)?),+)
    };
}

/// Records an instant. Takes the same arguments as [`span!`](crate::span).
///
/// ```
/// # let id = 7;
/// ferrum_trace::instant!("preempt", "scheduler", request = id);
/// ```
#[macro_export]
macro_rules! instant {
    ($name:expr $(,)?) => { $crate::__point!(instant, $name, "",) };
    ($name:expr, $category:literal $(, $($key:ident $(= $value:expr)?),* $(,)?)?) => {
        $crate::__point!(instant, $name, $category, $($($key $(= $value)?),*)?)
    };
    ($name:expr, $($key:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::__point!(instant, $name, "", $($key $(= $value)?),+)
    };
}

/// Records the current values of counters: one curve per key.
///
/// ```
/// # let (used, free) = (3, 4);
/// ferrum_trace::counter!("kv_cache", used, free = free);
/// ```
#[macro_export]
macro_rules! counter {
    ($name:expr, $($key:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::__point!(counter, $name, "counter", $($key $(= $value)?),+)
    };
}

/// Begins an async slice that ends when the returned [`AsyncSpan`](crate::AsyncSpan) is dropped, on any thread. Takes
/// the same arguments as [`span!`](crate::span).
///
/// Viewers draw it on a row that has its name. An argument `request_id`, `request`, `req_id`, `req` or `id` is added to
/// the name of the row, but not to that of the event: `async_span!("request", "http", id = 42)` is on the row `request
/// 42`.
///
/// ```
/// use ferrum_trace::async_span;
/// let task = async_span!("download", "io", bytes = 100);
/// std::thread::spawn(move || {
///     task.instant("half");
///     drop(task);
/// });
/// ```
#[macro_export]
macro_rules! async_span {
    ($name:expr $(,)?) => { $crate::__async_span!($name, "async",) };
    ($name:expr, $category:literal $(, $($key:ident $(= $value:expr)?),* $(,)?)?) => {
        $crate::__async_span!($name, $category, $($($key $(= $value)?),*)?)
    };
    ($name:expr, $($key:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::__async_span!($name, "async", $($key $(= $value)?),+)
    };
}

/// Begins an async slice with an id of the caller, such as that of a request. Takes name, category, id, arguments. It
/// ends with [`async_end!`](crate::async_end) of the same name, category and id, on any thread.
///
/// ```
/// use ferrum_trace::{async_begin, async_end, async_instant};
/// let id = 42u64;
/// async_begin!("request", "llm", id, prompt_tokens = 17);
/// async_instant!("first token", "llm", id);
/// async_end!("request", "llm", id, tokens = 100);
/// ```
#[macro_export]
macro_rules! async_begin {
    ($name:expr, $category:literal, $id:expr $(, $key:ident $(= $value:expr)?)* $(,)?) => {
        $crate::__async!(async_begin, $name, $category, $id, $($key $(= $value)?),*)
    };
}

/// Records an instant within an async slice that [`async_begin!`](crate::async_begin) began.
#[macro_export]
macro_rules! async_instant {
    ($name:expr, $category:literal, $id:expr $(, $key:ident $(= $value:expr)?)* $(,)?) => {
        $crate::__async!(async_instant, $name, $category, $id, $($key $(= $value)?),*)
    };
}

/// Ends an async slice that [`async_begin!`](crate::async_begin) began.
#[macro_export]
macro_rules! async_end {
    ($name:expr, $category:literal, $id:expr $(, $key:ident $(= $value:expr)?)* $(,)?) => {
        $crate::__async!(async_end, $name, $category, $id, $($key $(= $value)?),*)
    };
}

/// Records a slice with times that were measured elsewhere on a [`Track`](crate::Track). Takes track, begin, end, name,
/// category, arguments.
///
/// ```
/// use ferrum_trace::{Timestamp, Track, complete_at};
/// let stream = Track::new("GPU 0");
/// complete_at!(stream, Timestamp::now(), Timestamp::now(), "gemm", "gemm", m = 4096);
/// ```
#[macro_export]
macro_rules! complete_at {
    ($track:expr, $begin:expr, $end:expr, $name:expr, $category:literal $(, $key:ident $(= $value:expr)?)* $(,)?) => {
        if $crate::__private::mode() != $crate::__private::OFF {
            static SITE: $crate::__private::Site =
                $crate::__private::Site::new($name, $category, &[$(::core::stringify!($key)),*]);
            $track.complete_with(&SITE, $begin, $end, &[$($crate::__arg!($key $(= $value)?)),*]);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __span {
    ($name:expr, $category:expr, $($key:ident $(= $value:expr)?),*) => {{
        static SITE: $crate::__private::Site =
            $crate::__private::Site::new($name, $category, &[$(::core::stringify!($key)),*]);
        match $crate::__private::mode() {
            $crate::__private::OFF => $crate::Span::off(&SITE),
            mode => $crate::Span::begin(mode, &SITE, [$($crate::__arg!($key $(= $value)?)),*]),
        }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __laps {
    ($name:expr, $category:expr, $($key:ident $(= $value:expr)?),*) => {{
        static SITE: $crate::__private::LapSite =
            $crate::__private::LapSite::new($name, $category, &[$(::core::stringify!($key)),*]);
        match $crate::__private::mode() {
            $crate::__private::OFF => $crate::Laps::off(&SITE),
            mode => $crate::Laps::begin(mode, &SITE, [$($crate::__arg!($key $(= $value)?)),*]),
        }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __point {
    ($what:ident, $name:expr, $category:expr, $($key:ident $(= $value:expr)?),*) => {
        if $crate::__private::mode() != $crate::__private::OFF {
            static SITE: $crate::__private::Site =
                $crate::__private::Site::new($name, $category, &[$(::core::stringify!($key)),*]);
            $crate::__private::$what(&SITE, &[$($crate::__arg!($key $(= $value)?)),*]);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __async_span {
    ($name:expr, $category:expr, $($key:ident $(= $value:expr)?),*) => {{
        static SITE: $crate::__private::AsyncSite = $crate::__private::AsyncSite::new(
            $name,
            $category,
            &[$(::core::stringify!($key),)* $crate::__private::TITLE_KEY],
        );
        match $crate::__private::mode() {
            $crate::__private::OFF => $crate::AsyncSpan::off(&SITE),
            _ => $crate::AsyncSpan::begin(&SITE, &[$($crate::__arg!($key $(= $value)?)),*]),
        }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __async {
    ($what:ident, $name:expr, $category:expr, $id:expr, $($key:ident $(= $value:expr)?),*) => {
        if $crate::__private::mode() != $crate::__private::OFF {
            static SITE: $crate::__private::Site =
                $crate::__private::Site::new($name, $category, &[$(::core::stringify!($key)),*]);
            $crate::__private::$what(&SITE, $id, &[$($crate::__arg!($key $(= $value)?)),*]);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __arg {
    ($key:ident) => {
        $crate::Value::to_arg(&$key)
    };
    ($key:ident = $value:expr) => {
        $crate::Value::to_arg(&$value)
    };
}
