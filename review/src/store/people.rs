//! Invitations and sessions. Only hashes of their tokens are kept.

use super::{Store, audit::note, now_ms};
use crate::Result;
use redline_schemas::{ParticipantId, fsio::sha256_bytes};
use rusqlite::{OptionalExtension, params};

/// Days that an invitation link works.
pub const INVITE_DAYS: u32 = 14;

/// Days that a session lasts.
pub const SESSION_DAYS: u32 = 14;

const DAY_MS: i64 = 24 * 3_600_000;

/// A session that was just begun.
#[derive(Debug)]
pub struct Login {
    /// The session's token, for the cookie; it is kept nowhere else.
    pub token: String,
    /// Whose session it is.
    pub participant: ParticipantId,
}

/// 32 random bytes in hexadecimal.
fn new_token() -> Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| crate::Error::State(format!("the system gives no random numbers: {e}")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

impl Store {
    /// Makes an invitation; returns its token.
    pub fn invite(&self, who: &ParticipantId, days: u32) -> Result<String> {
        let token = new_token()?;
        let (hash, who) = (sha256_bytes(token.as_bytes()), who.clone());
        self.write(move |db| {
            let now = now_ms();
            db.execute("DELETE FROM invites WHERE expires_ms < ?1", [now])?;
            db.execute(
                "INSERT INTO invites (token_sha256, participant, created_ms, expires_ms) VALUES (?1, ?2, ?3, ?4)",
                params![hash, who.as_str(), now, now + i64::from(days) * DAY_MS],
            )?;
            note(db, "-", "invite", Some(who.as_str()), None)
        })?;
        Ok(token)
    }

    /// Ends all invitations and sessions of a participant; how many.
    pub fn revoke(&self, who: &ParticipantId) -> Result<usize> {
        let who = who.clone();
        self.write(move |db| {
            let n = db.execute("DELETE FROM invites WHERE participant = ?1", [who.as_str()])?
                + db.execute("DELETE FROM sessions WHERE participant = ?1", [who.as_str()])?;
            note(db, "-", "revoke", Some(who.as_str()), None)?;
            Ok(n)
        })
    }

    /// Begins a session for an invitation's token; `None` when it is unknown or too old.
    pub fn join(&self, invite: &str) -> Result<Option<Login>> {
        let hash = sha256_bytes(invite.as_bytes());
        let token = new_token()?;
        let session = sha256_bytes(token.as_bytes());
        let who = self.write(move |db| {
            let now = now_ms();
            let who: Option<String> = db
                .query_row("SELECT participant FROM invites WHERE token_sha256 = ?1 AND expires_ms > ?2", params![hash, now], |r| r.get(0))
                .optional()?;
            let Some(who) = who else {
                note(db, "-", "denied", None, Some("unknown or expired invitation"))?;
                return Ok(None);
            };
            let who: ParticipantId = who.parse()?;
            db.execute("DELETE FROM sessions WHERE expires_ms < ?1", [now])?;
            db.execute(
                "INSERT INTO sessions (token_sha256, participant, created_ms, expires_ms) VALUES (?1, ?2, ?3, ?4)",
                params![session, who.as_str(), now, now + i64::from(SESSION_DAYS) * DAY_MS],
            )?;
            note(db, who.as_str(), "join", None, None)?;
            Ok(Some(who))
        })?;
        Ok(who.map(|participant| Login { token, participant }))
    }

    /// Whose session a cookie's token is.
    pub fn session(&self, token: &str) -> Result<Option<ParticipantId>> {
        let hash = sha256_bytes(token.as_bytes());
        self.read(|db| {
            let mut q = db.prepare_cached("SELECT participant FROM sessions WHERE token_sha256 = ?1 AND expires_ms > ?2")?;
            let who: Option<String> = q.query_row(params![hash, now_ms()], |r| r.get(0)).optional()?;
            Ok(who.map(ParticipantId::new).transpose()?)
        })
    }

    /// Ends a session.
    pub fn leave(&self, token: &str) -> Result<()> {
        let hash = sha256_bytes(token.as_bytes());
        self.write(move |db| {
            db.execute("DELETE FROM sessions WHERE token_sha256 = ?1", [hash])?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_not_in_the_file_and_end_when_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.sqlite");
        let s = Store::open(&path).unwrap();
        let who = ParticipantId::new("P01").unwrap();
        let invite = s.invite(&who, 1).unwrap();
        assert!(s.join("guess").unwrap().is_none());
        let login = s.join(&invite).unwrap().unwrap();
        assert_eq!(s.session(&login.token).unwrap(), Some(who.clone()));
        let holds = |needle: &str| {
            let files = std::fs::read_dir(dir.path()).unwrap();
            files.map(|f| std::fs::read(f.unwrap().path()).unwrap()).any(|b| b.windows(needle.len()).any(|w| w == needle.as_bytes()))
        };
        assert!(holds(&sha256_bytes(login.token.as_bytes())), "the hash is there, so the search works");
        assert!(!holds(&login.token) && !holds(&invite));
        assert_eq!(s.revoke(&who).unwrap(), 2);
        assert_eq!(s.session(&login.token).unwrap(), None);
        assert!(s.join(&invite).unwrap().is_none());
        let old = s.invite(&who, 0).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(s.join(&old).unwrap().is_none(), "expired");
    }
}
