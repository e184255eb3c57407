//! The arguments of a statement, typed for either database.
//!
//! PostgreSQL accepts no NUL in a text. So that both databases store and show the same text, each NUL in a text becomes [`NUL_SHOWN`] here, through
//! which every argument passes; search words are changed in the same way, so they match.

use std::borrow::Cow;

use sqlx::{Arguments, Database, Encode, Type};

use crate::{
    AuditId, ChatId, ChunkId, CollectionId, DocumentId, ExecId, ItemId, JobId, KeyId, MessageId, RunnerId,
    TurnId, TurnStatus, UserId,
};

/// The substitute for a NUL: U+2400, its symbol.
pub(crate) const NUL_SHOWN: &str = "\u{2400}";

/// An argument, which may be NULL.
#[derive(Debug)]
pub(crate) enum Value<'q> {
    Int(Option<i64>),
    SmallInt(Option<i32>),
    Bool(Option<bool>),
    Text(Option<Cow<'q, str>>),
    Bytes(Option<&'q [u8]>),
}

/// A type that can be an argument.
pub(crate) trait Bind<'q> {
    /// The NULL of its type.
    const NULL: Value<'static>;

    fn value(self) -> Value<'q>;
}

/// Arguments in the form of one database.
pub(super) fn arguments<A>(values: Vec<Value<'_>>) -> Result<A, sqlx::Error>
where
    A: Arguments,
    for<'t> Option<i64>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<i32>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<bool>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<&'t str>: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> String: Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<&'t [u8]>: Encode<'t, A::Database> + Type<A::Database>,
    A::Database: Database,
{
    let mut arguments = A::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Int(value) => arguments.add(value),
            Value::SmallInt(value) => arguments.add(value),
            Value::Bool(value) => arguments.add(value),
            Value::Text(Some(Cow::Owned(text))) => arguments.add(text),
            Value::Text(Some(Cow::Borrowed(text))) => arguments.add(Some(text)),
            Value::Text(None) => arguments.add(None::<&str>),
            Value::Bytes(value) => arguments.add(value),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

fn text(text: Cow<'_, str>) -> Value<'_> {
    Value::Text(Some(if text.contains('\0') { Cow::Owned(text.replace('\0', NUL_SHOWN)) } else { text }))
}

/// A text in the form in which the database will store it.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', NUL_SHOWN)) } else { Cow::Borrowed(text) }
}

impl<'q, T: Bind<'q>> Bind<'q> for Option<T> {
    const NULL: Value<'static> = T::NULL;

    fn value(self) -> Value<'q> {
        self.map_or(T::NULL, Bind::value)
    }
}

impl<'q> Bind<'q> for &'q Option<String> {
    const NULL: Value<'static> = Value::Text(None);

    fn value(self) -> Value<'q> {
        self.as_deref().value()
    }
}

impl<'q> Bind<'q> for &'q [u8] {
    const NULL: Value<'static> = Value::Bytes(None);

    fn value(self) -> Value<'q> {
        Value::Bytes(Some(self))
    }
}

macro_rules! bind_as {
    ($variant:ident: $($type:ty, $self:ident => $value:expr;)*) => {$(
        impl<'q> Bind<'q> for $type {
            const NULL: Value<'static> = Value::$variant(None);

            fn value($self) -> Value<'q> {
                $value
            }
        }
    )*};
}

bind_as! { Int:
    i64, self => Value::Int(Some(self));
    &i64, self => Value::Int(Some(*self));
    UserId, self => Value::Int(Some(self.0));
    RunnerId, self => Value::Int(Some(self.0));
    KeyId, self => Value::Int(Some(self.0));
    MessageId, self => Value::Int(Some(self.0));
    TurnId, self => Value::Int(Some(self.0));
    &TurnId, self => Value::Int(Some(self.0));
    ItemId, self => Value::Int(Some(self.0));
    AuditId, self => Value::Int(Some(self.0));
    CollectionId, self => Value::Int(Some(self.0));
    DocumentId, self => Value::Int(Some(self.0));
    JobId, self => Value::Int(Some(self.0));
    ChunkId, self => Value::Int(Some(self.0));
}

bind_as! { SmallInt: i32, self => Value::SmallInt(Some(self)); }

bind_as! { Bool: bool, self => Value::Bool(Some(self)); }

bind_as! { Text:
    &'q str, self => text(Cow::Borrowed(self));
    &'q &str, self => text(Cow::Borrowed(self));
    &'q String, self => text(Cow::Borrowed(self));
    String, self => text(Cow::Owned(self));
    ChatId, self => text(Cow::Owned(self.as_str().to_owned()));
    &'q ChatId, self => text(Cow::Borrowed(self.as_str()));
    &'q ExecId, self => text(Cow::Borrowed(self.as_str()));
    TurnStatus, self => text(Cow::Borrowed(self.as_str()));
}

/// Implements `Bind` for a type that is stored as a word: the result of its `as_str`.
macro_rules! bind_as_word {
    ($type:ty) => {
        impl<'q> $crate::sql::Bind<'q> for $type {
            const NULL: $crate::sql::Value<'static> = $crate::sql::Value::Text(None);

            fn value(self) -> $crate::sql::Value<'q> {
                $crate::sql::Bind::value(self.as_str())
            }
        }
    };
}
pub(crate) use bind_as_word;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_becomes_its_symbol_in_every_text_and_nothing_else_changes() {
        let of = |value: Value<'_>| match value {
            Value::Text(text) => text.map(Cow::into_owned),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("a\0b\0".value()).as_deref(), Some("a\u{2400}b\u{2400}"));
        assert_eq!(of(String::from("\0").value()).as_deref(), Some("\u{2400}"));
        assert_eq!(of(Some("\0").value()).as_deref(), Some("\u{2400}"));
        assert_eq!(of((&Some("ä\n".to_owned())).value()).as_deref(), Some("ä\n"));
        assert_eq!(of(None::<&str>.value()), None);
        assert!(matches!(b"\0"[..].value(), Value::Bytes(Some([0]))), "bytes are not text");
    }
}
