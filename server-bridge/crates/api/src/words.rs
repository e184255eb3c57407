//! Texts that are one of some words, as enums that keep a word they do not know.

/// Declares such an enum: its words stand in JSON as texts, and in the OpenAPI description as an `enum`.
///
/// A word that is not listed is read as `Unknown`, which holds it and is written as it came: a reader passes a newer
/// server's document on without changing it.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $word_doc])+ $variant,)+
            /// A word that this version does not know, as it came.
            Unknown(String),
        }

        impl $name {
            /// Every known word.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word as it stands in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Unknown(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Unknown(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match Self::from(word.as_str()) {
                    Self::Unknown(_) => Self::Unknown(word),
                    known => known,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let words = utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some([$($doc),+].map(str::trim).join("\n")))
                    .enum_values(Some(Self::WORDS.iter().copied()));
                utoipa::openapi::schema::Schema::Object(words.build()).into()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

words! {
    /// How an exec stands.
    ExecStatus {
        /// It was sent, and nothing is known of its end.
        Running = "running",
        /// It ended by itself, with a code.
        Exited = "exited",
        /// A signal ended it.
        Signaled = "signaled",
        /// It was ended because its time was up.
        TimedOut = "timed_out",
        /// It was ended because somebody asked.
        Cancelled = "cancelled",
        /// It could not be run.
        Failed = "failed",
        /// How it ended cannot be known.
        Lost = "lost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_written_as_it_was_read() {
        for word in ExecStatus::WORDS.iter().copied().chain(["paused"]) {
            let status: ExecStatus = serde_json::from_value(word.into()).unwrap();
            assert_eq!(serde_json::to_value(&status).unwrap(), word);
            assert_eq!((status.as_str(), status.to_string().as_str()), (word, word));
        }
        assert_eq!(ExecStatus::from("paused"), ExecStatus::Unknown("paused".to_owned()));
        assert_eq!(ExecStatus::from("timed_out".to_owned()), ExecStatus::TimedOut);
    }
}
