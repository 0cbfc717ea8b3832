//! Arguments on their way into a record.

use crate::process::attach;
use ferrum_trace_format::spool::record::{Type, short_text};

/// One argument: what fits into a word, and what it is.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub(crate) word: u64,
    pub(crate) kind: Type,
}

impl Arg {
    pub(crate) const LOST: Self = Self { word: 0, kind: Type::Lost };

    /// A text that was written before.
    pub(crate) const fn text_at(place: u64) -> Self {
        Self::new(place, Type::TextAt)
    }

    /// The type's number, and the word.
    #[inline(always)]
    pub(crate) fn type_and_word(&self) -> (u64, u64) {
        (self.kind as u64, self.word)
    }

    /// A number or truth value, as text.
    #[cfg(feature = "tracing")]
    pub(crate) fn number_text(&self) -> Option<String> {
        match self.kind {
            Type::Signed => Some((self.word as i64).to_string()),
            Type::Unsigned => Some(self.word.to_string()),
            Type::Float => Some(f64::from_bits(self.word).to_string()),
            Type::Bool => Some((self.word != 0).to_string()),
            Type::Lost | Type::ShortText | Type::TextAt => None,
        }
    }

    const fn new(word: u64, kind: Type) -> Self {
        Self { word, kind }
    }
}

/// What can be the value of an argument: integers, floats, truth values, text, and options of these.
///
/// Numbers and texts of up to 7 bytes cost one word; longer text is copied into the buffer. `i128` and `u128` that do
/// not fit into 64 bits are kept as text.
pub trait Value {
    /// The value as it is recorded.
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
