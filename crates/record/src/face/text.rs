//! What the reference's interface takes for a name.

use std::borrow::Cow;

/// Everything that can become a `String`, without making it one.
pub trait Text {
    /// Looks at the text.
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
