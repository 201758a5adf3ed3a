//! The listed names as OFAC's search compares them. It searches nothing.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::entity::Entity;
use crate::ofac_score::{Sketch, WHOLE_PREFIX, written_names};

/// A listed name as it is written; see [`written_names`].
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct WrittenName {
    pub(super) entity: U32,
    /// Where its text begins, and its length.
    pub(super) text: U32,
    pub(super) len: U16,
    /// The rest of its [`Sketch`].
    used: U32,
    initials: U32,
    start: [u8; WHOLE_PREFIX],
}

impl WrittenName {
    /// What is known of it before its text is read.
    pub(super) fn sketch(&self) -> Sketch {
        Sketch {
            len: usize::from(self.len.get()),
            start: self.start,
            used: self.used.get(),
            initials: self.initials.get(),
        }
    }
}

/// Collects the written names of an index, in the order of their entities.
#[derive(Default)]
pub(super) struct WrittenNames {
    pub(super) records: Vec<WrittenName>,
    pub(super) texts: Vec<u8>,
}

impl WrittenNames {
    /// Adds the names of an entity, weak aliases too.
    pub(super) fn add(&mut self, number: U32, entity: &Entity) -> std::io::Result<()> {
        for form in written_names(entity) {
            let sketch = Sketch::of(&form);
            self.records.push(WrittenName {
                entity: number,
                text: u32::try_from(self.texts.len())
                    .map_err(std::io::Error::other)?
                    .into(),
                // A form has a few hundred characters at most.
                len: u16::try_from(form.len()).unwrap_or(u16::MAX).into(),
                used: sketch.used.into(),
                initials: sketch.initials.into(),
                start: sketch.start,
            });
            self.texts.extend_from_slice(form.as_bytes());
        }
        Ok(())
    }
}
