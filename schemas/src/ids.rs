use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

fn check(id: &str) -> Result<()> {
    let ok = (1..=64).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        && !id.starts_with(['.', '-']);
    if ok { Ok(()) } else { Err(Error::BadId { id: id.chars().take(80).collect() }) }
}

macro_rules! id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Checked when parsed: it is safe as a file name.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String", extend("pattern" = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"))]
        pub struct $name(String);

        impl $name {
            /// A new sortable, unique id (ULID: 48 bits of time, 80 of chance).
            #[must_use]
            pub fn generate() -> Self {
                Self(ulid::Ulid::new().to_string())
            }

            /// Takes over a given id, e.g. a participant's pseudonym.
            pub fn new(id: impl Into<String>) -> Result<Self> {
                let id = id.into();
                check(&id)?;
                Ok(Self(id))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(id: String) -> Result<Self> {
                Self::new(id)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;
            fn from_str(id: &str) -> Result<Self> {
                Self::new(id)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<std::path::Path> for $name {
            fn as_ref(&self) -> &std::path::Path {
                self.0.as_ref()
            }
        }
    };
}

id!(ParticipantId, "A participant's pseudonym, such as `P01`.");
id!(ModelId, "An input model's id.");
id!(RequestId, "A request's id.");
id!(EditId, "An edit's id.");
id!(TaskId, "A task's id, such as `open-file`.");
id!(RunId, "The id of an agent's run.");
id!(RevisionId, "A transcript revision's id.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_their_folder_are_refused() {
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "-rf", "a b", "ä", &"x".repeat(65), "a\0"] {
            assert!(RequestId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["P01", "3YH2WFSRM22W7DKT_1769174947.8063738", "a"] {
            assert_eq!(RequestId::new(good).unwrap().as_str(), good);
        }
        assert!(serde_json::from_str::<RequestId>("\"../../etc\"").is_err());
    }

    #[test]
    fn generated_ids_are_unique_and_valid() {
        let ids: std::collections::BTreeSet<_> = (0..1000).map(|_| RequestId::generate()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|i| check(i.as_str()).is_ok()));
    }
}
