//! Types that the original engine's interface accepts as a name.

use std::borrow::Cow;

/// Text that is read without a conversion to `String`.
pub trait Text {
    /// Calls `look` with the text.
    fn with_str<T>(&self, look: impl FnOnce(&str) -> T) -> T;
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Text for $type {
            #[inline]
            fn with_str<T>(&self, look: impl FnOnce(&str) -> T) -> T {
                look(self)
            }
        }
    )*};
}

texts!(&str, &mut str, String, &String, Box<str>, Cow<'_, str>);

impl Text for char {
    fn with_str<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        look(self.encode_utf8(&mut [0; 4]))
    }
}
