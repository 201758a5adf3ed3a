//! Enums that a table stores as text.

use std::str::FromStr;

use reference::status::{AttemptStatus, Decision, GroupStatus, UnknownWord};
use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};

/// A column with the text of an enum that decides something. An unknown text is
/// [`Error::Unreadable`](crate::Error::Unreadable). sqlx's `try_from = "String"` would lose the type of the
/// error.
pub(crate) struct Word<T>(pub(crate) T);

impl<T, DB: Database> Type<DB> for Word<T>
where
    String: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <String as Type<DB>>::type_info()
    }

    fn compatible(info: &DB::TypeInfo) -> bool {
        <String as Type<DB>>::compatible(info)
    }
}

impl<'r, T: FromStr<Err = UnknownWord>, DB: Database> Decode<'r, DB> for Word<T>
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        let text = <&str as Decode<'r, DB>>::decode(value)?;
        Ok(Self(text.parse()?))
    }
}

/// Lets a row contain the enum itself: `#[sqlx(try_from = "Word<…>")]`.
macro_rules! from_word {
    ($($name:ident),+) => { $(
        impl From<Word<$name>> for $name {
            fn from(Word(value): Word<$name>) -> Self {
                value
            }
        }
    )+ };
}

from_word!(AttemptStatus, Decision, GroupStatus);

/// Defines an enum, its texts, and how a row reads it (`#[sqlx(try_from = "Word<…>")]`). The text in
/// parentheses is its name in [`Error::Unreadable`](crate::Error::Unreadable).
macro_rules! text_enum {
    ($(#[$meta:meta])* $name:ident ($enumeration:literal) {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// The text that the table stores.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = reference::status::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(reference::status::UnknownWord { enumeration: $enumeration }),
                }
            }
        }

        impl From<crate::text_enum::Word<$name>> for $name {
            fn from(crate::text_enum::Word(value): crate::text_enum::Word<$name>) -> Self {
                value
            }
        }
    };
}

pub(crate) use text_enum;
