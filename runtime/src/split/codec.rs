//! Encoding of a reader's state: one function per type serves both directions, so that the two cannot differ.
//!
//! Numbers are little-endian. A list has its length before its items, and an optional value a byte before it. A decoder
//! allocates memory for the items that it has decoded.

use std::sync::Arc;

/// First bytes of a split file.
pub(crate) const SPLIT_MAGIC: [u8; 4] = *b"tfbs";

/// Error of a decoder: the bytes are not an encoded state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Encoder that appends to a vector, or decoder of a slice.
pub(crate) struct Codec<'c>(Direction<'c>);

enum Direction<'c> {
    Encode(Vec<u8>),
    Decode(&'c [u8]),
}

/// Value of a state.
pub(crate) trait Stored {
    /// Appends the value to the encoded bytes, or replaces it by a decoded one.
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed>;

    /// Like [`Stored::visit`], for the items of a list whose length is `len`.
    fn visit_items(items: &mut Vec<Self>, len: usize, codec: &mut Codec<'_>) -> Result<(), Malformed>
    where
        Self: Sized + Default,
    {
        if !codec.is_decoding() {
            return items.iter_mut().try_for_each(|item| item.visit(codec));
        }
        // Items are added as they are decoded, and each takes a byte at least. The bytes limit the memory of the others.
        codec.check(len <= codec.n_left())?;
        items.clear();
        items.reserve(len.min(codec.n_left() / size_of::<Self>().max(1)));
        for _ in 0..len {
            let mut item = Self::default();
            item.visit(codec)?;
            items.push(item);
        }
        Ok(())
    }
}

impl<'c> Codec<'c> {
    /// Encodes a value.
    pub fn encode(value: &mut impl Stored) -> Vec<u8> {
        let mut codec = Self(Direction::Encode(Vec::new()));
        // Only decoding fails.
        let _ = value.visit(&mut codec);
        match codec.0 {
            Direction::Encode(bytes) => bytes,
            Direction::Decode(_) => Vec::new(),
        }
    }

    /// Decodes a value, which must end with the bytes.
    pub fn decode(bytes: &'c [u8], value: &mut impl Stored) -> Result<(), Malformed> {
        let mut codec = Self(Direction::Decode(bytes));
        value.visit(&mut codec)?;
        match codec.0 {
            Direction::Decode([]) => Ok(()),
            _ => Err(Malformed),
        }
    }

    /// True if values are decoded.
    pub fn is_decoding(&self) -> bool {
        matches!(self.0, Direction::Decode(_))
    }

    /// Requires a condition of decoded values.
    pub fn check(&self, holds: bool) -> Result<(), Malformed> {
        if holds || !self.is_decoding() { Ok(()) } else { Err(Malformed) }
    }

    fn array<const N: usize>(&mut self, bytes: &mut [u8; N]) -> Result<(), Malformed> {
        match &mut self.0 {
            Direction::Encode(out) => out.extend_from_slice(bytes),
            Direction::Decode(left) => {
                let (first, rest) = left.split_first_chunk().ok_or(Malformed)?;
                (*bytes, *left) = (*first, rest);
            }
        }
        Ok(())
    }

    fn n_left(&self) -> usize {
        match &self.0 {
            Direction::Encode(_) => 0,
            Direction::Decode(left) => left.len(),
        }
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Stored for $number {
            fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
                let mut bytes = self.to_le_bytes();
                codec.array(&mut bytes)?;
                *self = <$number>::from_le_bytes(bytes);
                Ok(())
            }
        }
    )*};
}

numbers!(u16, u32, i32, u64);

impl Stored for u8 {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut byte = [*self];
        codec.array(&mut byte)?;
        [*self] = byte;
        Ok(())
    }

    /// Copies the bytes of a text at once.
    fn visit_items(items: &mut Vec<Self>, len: usize, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        match &mut codec.0 {
            Direction::Encode(out) => out.extend_from_slice(items),
            Direction::Decode(left) => {
                let (bytes, rest) = left.split_at_checked(len).ok_or(Malformed)?;
                (*items, *left) = (bytes.to_vec(), rest);
            }
        }
        Ok(())
    }
}

impl Stored for bool {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut byte = u8::from(*self);
        byte.visit(codec)?;
        *self = byte == 1;
        codec.check(byte <= 1)
    }
}

impl<T: Stored + Default> Stored for Option<T> {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut is_some = self.is_some();
        is_some.visit(codec)?;
        if !is_some {
            *self = None;
            return Ok(());
        }
        self.get_or_insert_default().visit(codec)
    }
}

impl<T: Stored + Default> Stored for Vec<T> {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut len = self.len() as u32;
        len.visit(codec)?;
        T::visit_items(self, len as usize, codec)
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        self.iter_mut().try_for_each(|item| item.visit(codec))
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        self.0.visit(codec)?;
        self.1.visit(codec)
    }
}

impl Stored for Arc<[u8]> {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut bytes = self.to_vec();
        bytes.visit(codec)?;
        if codec.is_decoding() {
            *self = bytes.into();
        }
        Ok(())
    }
}

/// Text that is stored as UTF-8.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text(pub String);

impl Stored for Text {
    fn visit(&mut self, codec: &mut Codec<'_>) -> Result<(), Malformed> {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.visit(codec)?;
        self.0 = String::from_utf8(bytes).map_err(|_| Malformed)?;
        Ok(())
    }
}

/// Implements [`Stored`] for a struct, field by field, with conditions of its decoded values.
macro_rules! stored {
    ($name:ty { $($field:ident),* $(,)? } $(where |$value:ident| $holds:expr)?) => {
        impl $crate::split::codec::Stored for $name {
            fn visit(
                &mut self,
                codec: &mut $crate::split::codec::Codec<'_>,
            ) -> Result<(), $crate::split::codec::Malformed> {
                $($crate::split::codec::Stored::visit(&mut self.$field, codec)?;)*
                $({
                    let $value = &*self;
                    codec.check($holds)?;
                })?
                Ok(())
            }
        }
    };
}
pub(crate) use stored;

#[cfg(test)]
mod tests {
    use super::*;

    type Sample = (Vec<(u16, Option<Vec<u8>>)>, [u64; 2]);

    fn sample() -> Sample {
        (vec![(7, Some(b"ab".to_vec())), (8, None)], [1, u64::MAX])
    }

    #[test]
    fn values_survive_both_directions() {
        let bytes = Codec::encode(&mut sample());
        let mut decoded = Sample::default();
        assert_eq!(Codec::decode(&bytes, &mut decoded), Ok(()));
        assert_eq!(decoded, sample());
    }

    #[test]
    fn cut_and_changed_bytes_never_panic() {
        let bytes = Codec::encode(&mut sample());
        for len in 0..bytes.len() {
            assert_eq!(Codec::decode(&bytes[..len], &mut Sample::default()), Err(Malformed), "{len}");
        }
        assert_eq!(Codec::decode(&[&bytes[..], &[0]].concat(), &mut Sample::default()), Err(Malformed));
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                let _ = Codec::decode(&bytes, &mut Sample::default());
            }
        }
        // A length that the bytes cannot contain allocates nothing.
        assert_eq!(Codec::decode(&[0xFF; 12], &mut Vec::<u64>::new()), Err(Malformed));
    }
}
