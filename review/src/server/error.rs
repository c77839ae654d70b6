//! Errors as answers.

use crate::Error;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// An answer that says why not.
pub(crate) struct Refusal(pub Error);

impl From<Error> for Refusal {
    fn from(e: Error) -> Self {
        Self(e)
    }
}

/// A reply, or why there is none.
pub(crate) type Reply<T> = Result<T, Refusal>;

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code) = match &self.0 {
            Error::NotFound(_) => (StatusCode::NOT_FOUND, "not-found"),
            Error::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Error::Claimed(_) => (StatusCode::LOCKED, "claimed"),
            Error::Stale(_) => (StatusCode::CONFLICT, "stale"),
            Error::State(_) => (StatusCode::CONFLICT, "state"),
            Error::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            Error::Closed => (StatusCode::SERVICE_UNAVAILABLE, "closed"),
            Error::Corpus(_) | Error::Database(_) | Error::Open { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        // Paths and database messages are for the log, not for the page.
        let message = if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!("{}", self.0);
            "the server could not read or write a file; its log says more".to_owned()
        } else {
            self.0.to_string()
        };
        answer(status, code, &message)
    }
}

/// An answer of the kind all refusals have.
pub(crate) fn answer(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(serde_json::json!({ "code": code, "message": message }))).into_response()
}
