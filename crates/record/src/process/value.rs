//! Values that can be recorded as arguments.

use crate::process::attach;
use crate::thread::arg::Arg;
use ferrum_trace_format::spool::record::{Type, short_text};

/// Types of arguments: integers, floats, booleans, text, and options of these.
///
/// Numbers and texts of up to 7 bytes cost one word; longer text is copied into the buffer. `i128` and `u128` that do
/// not fit into 64 bits are kept as text.
pub trait Value {
    /// Returns the value as it is recorded.
    fn to_arg(&self) -> Arg;
}

macro_rules! numbers {
    ($kind:ident: $($type:ty),*) => {$(
        impl Value for $type {
            #[inline(always)]
            fn to_arg(&self) -> Arg {
                numbers!(@ $kind, *self)
            }
        }
    )*};
    (@ Signed, $value:expr) => { Arg::new($value as i64 as u64, Type::Signed) };
    (@ Unsigned, $value:expr) => { Arg::new($value as u64, Type::Unsigned) };
    (@ Float, $value:expr) => { Arg::new(f64::from($value).to_bits(), Type::Float) };
}

numbers!(Signed: i8, i16, i32, i64, isize);
numbers!(Unsigned: u8, u16, u32, u64, usize);
numbers!(Float: f32, f64);

impl Value for bool {
    #[inline(always)]
    fn to_arg(&self) -> Arg {
        Arg::new(u64::from(*self), Type::Bool)
    }
}

impl Value for u128 {
    fn to_arg(&self) -> Arg {
        match u64::try_from(*self) {
            Ok(number) => number.to_arg(),
            Err(_) => self.to_string().to_arg(),
        }
    }
}

impl Value for i128 {
    fn to_arg(&self) -> Arg {
        match i64::try_from(*self) {
            Ok(number) => number.to_arg(),
            Err(_) => self.to_string().to_arg(),
        }
    }
}

impl Value for char {
    fn to_arg(&self) -> Arg {
        self.encode_utf8(&mut [0; 4]).to_arg()
    }
}

impl Value for str {
    #[inline]
    fn to_arg(&self) -> Arg {
        match short_text(self) {
            Some(word) => Arg::new(word, Type::ShortText),
            None => attach::text(self).map_or(Arg::LOST, Arg::text_at),
        }
    }
}

impl Value for String {
    #[inline]
    fn to_arg(&self) -> Arg {
        self.as_str().to_arg()
    }
}

impl<T: Value> Value for Option<T> {
    #[inline]
    fn to_arg(&self) -> Arg {
        match self {
            Some(value) => value.to_arg(),
            None => "none".to_arg(),
        }
    }
}

impl<T: Value + ?Sized> Value for &T {
    #[inline(always)]
    fn to_arg(&self) -> Arg {
        (**self).to_arg()
    }
}

impl<T: Value + ?Sized> Value for &mut T {
    #[inline(always)]
    fn to_arg(&self) -> Arg {
        (**self).to_arg()
    }
}

impl<T: Value + ?Sized> Value for Box<T> {
    #[inline(always)]
    fn to_arg(&self) -> Arg {
        (**self).to_arg()
    }
}

impl<T: Value + ?Sized> Value for std::sync::Arc<T> {
    #[inline(always)]
    fn to_arg(&self) -> Arg {
        (**self).to_arg()
    }
}

impl Value for std::borrow::Cow<'_, str> {
    #[inline]
    fn to_arg(&self) -> Arg {
        self.as_ref().to_arg()
    }
}
