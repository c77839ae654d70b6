/// What can go wrong between a release and its storage. Every variant names the address or file it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The release on this machine can't be read.
    #[error(transparent)]
    Dataset(#[from] redline_dataset::Error),
    /// The address can't be used.
    #[error("{address}: {message}")]
    Address {
        /// As it was given.
        address: String,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The storage did not do what it was asked for.
    #[error("{address}: {action}: {}", say(.cause))]
    Store {
        /// The object, or the place.
        address: String,
        /// What was tried, as "could not …".
        action: &'static str,
        /// The library's own word.
        cause: Box<object_store::Error>,
    },
    /// What was read back is not what was sent.
    #[error("{address}: arrived with other bytes than were sent; publish again")]
    Garbled {
        /// The object.
        address: String,
    },
    /// More would have to be copied to this machine than is allowed.
    #[error("{address}: {bytes} bytes are needed here at a time, and {limit} allowed; allow more with REDLINE_SCRATCH_BYTES")]
    TooLarge {
        /// The place, or the request.
        address: String,
        /// What is needed.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A published release is in the way; the text says what to do instead.
    #[error("{0}")]
    Refused(String),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Shorthand for [`Error::Store`], for `map_err`.
    pub(crate) fn store(address: impl Into<String>, action: &'static str) -> impl FnOnce(object_store::Error) -> Self {
        let address = address.into();
        move |cause| Self::Store { address, action, cause: Box::new(cause) }
    }

    /// Whether the storage refused for lack of rights.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        use object_store::Error as E;
        matches!(self, Self::Store { cause, .. } if matches!(**cause, E::PermissionDenied { .. } | E::Unauthenticated { .. }))
    }
}

/// The library's message holds those of its causes but the last, which says what happened.
fn say(e: &object_store::Error) -> String {
    let (text, mut last) = (e.to_string(), e as &dyn std::error::Error);
    while let Some(deeper) = last.source() {
        last = deeper;
    }
    let last = last.to_string();
    if text.contains(&last) { text } else { format!("{text}: {last}") }
}
