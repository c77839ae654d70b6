//! The steps of the loop and who may take them. Every rule is here, on the server.

use crate::carry::Heard;
use crate::store::{self, Draft, Item, Realignment, Round, Store, items};
use crate::text::{distance, words_of};
use crate::{Error, Result, carry};
use redline_schemas::{
    Corpus, ParticipantId, RequestId, RequestManifest, ReviewDecision, ReviewState, Revision, RevisionId, Role, Transcript, TranscriptKind,
    Word,
};

/// The longest comment or reason, characters.
pub const MAX_COMMENT_CHARS: usize = 4_000;

/// A person with the roles from `participants.json`.
#[derive(Debug, Clone)]
pub struct Person {
    /// The pseudonym.
    pub id: ParticipantId,
    /// What the person may do.
    pub roles: Vec<Role>,
}

impl Person {
    /// Whether the person has the role.
    #[must_use]
    pub fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Corrects: the one who asked, nobody else.
    #[must_use]
    pub fn may_correct(&self, i: &Item) -> bool {
        self.id == i.requestor
    }

    /// Accepts or returns: a reviewer who did not ask.
    #[must_use]
    pub fn may_review(&self, i: &Item) -> bool {
        self.is(Role::Reviewer) && self.id != i.requestor
    }

    /// Sees text, video and sound.
    #[must_use]
    pub fn may_see(&self, i: &Item) -> bool {
        self.may_correct(i) || self.is(Role::Reviewer) || self.is(Role::Coordinator)
    }

    /// Rejects what is not up to standard, and asks for re-alignment of others' requests.
    #[must_use]
    pub fn may_judge(&self) -> bool {
        self.is(Role::Reviewer) || self.is(Role::Coordinator)
    }
}

/// The loop over one corpus.
#[derive(Clone)]
pub struct Flow {
    /// The corpus.
    pub corpus: Corpus,
    /// Its state.
    pub store: Store,
    /// Minutes that a claim holds without a sign of work.
    pub claim_minutes: u32,
}

/// What a page sends of a text.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Text {
    /// The revision it builds on; absent: the automatic transcript.
    #[serde(default)]
    pub base: Option<RevisionId>,
    /// The number of the save that it builds on; 0: none.
    pub seq: i64,
    /// The text, segments one a line.
    pub text: String,
    /// Its words; absent: times are carried over from the base.
    #[serde(default)]
    pub words: Option<Vec<Word>>,
    /// Milliseconds of work since the message before.
    #[serde(default)]
    pub active_ms: i64,
}

/// Everything about one request, for one person.
pub struct Details {
    /// Its row.
    pub item: Item,
    /// Its manifest.
    pub manifest: RequestManifest,
    /// The automatic transcript.
    pub automatic: Transcript,
    /// All revisions.
    pub rounds: Vec<Round>,
    /// The person's own draft.
    pub draft: Option<Draft>,
    /// The re-alignment.
    pub realignment: Option<Realignment>,
}

/// Default of [`Flow::claim_minutes`].
pub const DEFAULT_CLAIM_MINUTES: u32 = 15;

impl Flow {
    /// Opens the loop of a corpus.
    pub fn open(corpus: Corpus) -> Result<Self> {
        let store = Store::open(&corpus.review_db())?;
        Ok(Self { corpus, store, claim_minutes: DEFAULT_CLAIM_MINUTES })
    }

    /// The participant with this id; programs are no persons here.
    pub fn person(&self, id: &ParticipantId) -> Result<Option<Person>> {
        let all = self.corpus.participants()?.participants;
        Ok(all.into_iter().find(|p| p.id == *id && p.agent.is_none()).map(|p| Person { id: p.id, roles: p.roles }))
    }

    /// The request's row, when the person may see it.
    pub fn visible(&self, who: &Person, request: &RequestId) -> Result<Item> {
        let item = self.store.item(request)?;
        if who.may_see(&item) { Ok(item) } else { Err(Error::Forbidden("this request is not yours to see".into())) }
    }

    /// The automatic transcript that correction begins or began with.
    pub fn automatic(&self, request: &RequestId) -> Result<Transcript> {
        if let Some(t) = self.store.original(request)? {
            return Ok(t);
        }
        let dir = self.corpus.request_dir(request);
        let t = dir.transcript(TranscriptKind::Automatic)?;
        t.ok_or_else(|| Error::NotFound("this request has no automatic transcript; run `redline transcribe`".into()))
    }

    /// Everything about one request.
    pub fn details(&self, who: &Person, request: &RequestId) -> Result<Details> {
        let item = self.visible(who, request)?;
        Ok(Details {
            manifest: self.corpus.request(request)?,
            automatic: self.automatic(request)?,
            rounds: self.store.revisions(request)?,
            draft: self.store.draft(request, &who.id)?,
            realignment: self.store.realignment(request)?,
            item,
        })
    }

    /// Takes or renews the request for the person's own step: correcting or reviewing.
    pub fn claim(&self, who: &Person, request: &RequestId) -> Result<Item> {
        let original = self.automatic(request)?;
        let (who, request, minutes) = (who.clone(), request.clone(), self.claim_minutes);
        self.store.write(move |db| {
            let item = items::get(db, &request)?;
            match item.state {
                _ if item.rejected => return Err(Error::State("this request was rejected".into())),
                ReviewState::Accepted => return Err(Error::State("this request is accepted already".into())),
                ReviewState::InReview if who.may_review(&item) => items::claim(db, &item, &who.id, minutes)?,
                ReviewState::InReview => return Err(Error::Forbidden("a reviewer who did not ask for it decides now".into())),
                _ if !who.may_correct(&item) => return Err(Error::Forbidden("only the requestor corrects this request".into())),
                _ => {
                    items::claim(db, &item, &who.id, minutes)?;
                    items::keep_original(db, &request, &original)?;
                    if item.state != ReviewState::InCorrection {
                        items::set_state(db, &request, ReviewState::InCorrection, None)?;
                        store::note(db, who.id.as_str(), "begin", Some(request.as_str()), None)?;
                    }
                }
            }
            items::get(db, &request)
        })
    }

    /// Gives the request back to the queue. A coordinator may take it from somebody.
    pub fn unclaim(&self, who: &Person, request: &RequestId) -> Result<Item> {
        self.visible(who, request)?;
        let (who, request) = (who.clone(), request.clone());
        self.store.write(move |db| {
            let holder = if who.is(Role::Coordinator) { None } else { Some(&who.id) };
            if items::unclaim(db, &request, holder)? {
                store::note(db, who.id.as_str(), "unclaim", Some(request.as_str()), None)?;
            }
            items::get(db, &request)
        })
    }

    /// What a text builds on, and the check that this is current.
    fn base_words(&self, item: &Item, automatic: &Transcript, base: Option<&RevisionId>) -> Result<Vec<Word>> {
        if base != item.revision.as_ref() {
            return Err(Error::Stale("another revision was handed in since: merge the two, then save again".into()));
        }
        match base {
            Some(id) => Ok(self.store.revision(id)?.revision.words),
            None => Ok(words_of(automatic).1),
        }
    }

    /// The sent text with times that can be trusted, see [`carry::admit`].
    fn admit(&self, item: &Item, automatic: &Transcript, sent: Text) -> Result<(String, Vec<Word>)> {
        let mut known = self.base_words(item, automatic, sent.base.as_ref())?;
        let heard = Heard::of(&self.corpus.request(&item.request)?.session);
        if item.revision.is_some() && sent.words.is_some() {
            // A word of the automatic text may come back in a later round.
            known.extend(words_of(automatic).1);
        }
        carry::admit(&known, &sent.text, sent.words, heard)
    }

    fn correctable(who: &Person, item: &Item) -> Result<()> {
        if !who.may_correct(item) {
            return Err(Error::Forbidden("only the requestor corrects this request".into()));
        }
        if item.rejected {
            return Err(Error::State("this request was rejected".into()));
        }
        match item.state {
            ReviewState::Transcribed | ReviewState::InCorrection | ReviewState::Returned => Ok(()),
            ReviewState::InReview => Err(Error::Stale("it was handed in and waits for a reviewer".into())),
            ReviewState::Accepted => Err(Error::Stale("it was accepted since".into())),
        }
    }

    /// Saves a draft; returns its number once it is on the disk.
    pub fn save_draft(&self, who: &Person, request: &RequestId, sent: Text) -> Result<i64> {
        let seen = self.visible(who, request)?;
        Self::correctable(who, &seen)?;
        let automatic = self.automatic(request)?;
        let (base, after, active) = (sent.base.clone(), sent.seq, sent.active_ms);
        let (text, words) = self.admit(&seen, &automatic, sent)?;
        let (who, request, minutes) = (who.clone(), request.clone(), self.claim_minutes);
        self.store.write(move |db| {
            let item = items::get(db, &request)?;
            Self::correctable(&who, &item)?;
            if base != item.revision {
                return Err(Error::Stale("another revision was handed in since: merge the two, then save again".into()));
            }
            items::claim(db, &item, &who.id, minutes)?;
            if item.state != ReviewState::InCorrection {
                items::keep_original(db, &request, &automatic)?;
                items::set_state(db, &request, ReviewState::InCorrection, None)?;
                store::note(db, who.id.as_str(), "begin", Some(request.as_str()), None)?;
            }
            items::spend(db, &request, &who.id, active)?;
            store::save_draft(db, &request, &who.id, base.as_ref(), after, &text, &words)
        })
    }

    /// Hands a correction in: an immutable revision that waits for a reviewer.
    pub fn submit(&self, who: &Person, request: &RequestId, sent: Text) -> Result<Item> {
        let seen = self.visible(who, request)?;
        Self::correctable(who, &seen)?;
        let automatic = self.automatic(request)?;
        let (base, after, active) = (sent.base.clone(), sent.seq, sent.active_ms);
        let (text, words) = self.admit(&seen, &automatic, sent)?;
        let measured = distance(&automatic.text(), &text);
        let (who, request) = (who.clone(), request.clone());
        self.store.write(move |db| {
            let item = items::get(db, &request)?;
            Self::correctable(&who, &item)?;
            let have = store::draft_seq(db, &request, &who.id)?;
            if base != item.revision || have != after {
                return Err(Error::Stale(format!(
                    "this builds on save {after}, but save {have} is the last one: merge the two, then hand in"
                )));
            }
            items::keep_original(db, &request, &automatic)?;
            let number = match &item.revision {
                Some(id) => store::revision(db, id)?.revision.number + 1,
                None => 1,
            };
            let id = RevisionId::generate();
            let author = who.id.clone();
            let revision =
                Revision { id: id.clone(), request: request.clone(), number, base, author, created_utc: chrono::Utc::now(), text, words };
            store::insert_revision(db, &revision, &measured)?;
            items::set_state(db, &request, ReviewState::InReview, Some(&id))?;
            items::spend(db, &request, &who.id, active)?;
            store::drop_draft(db, &request, &who.id)?;
            items::unclaim(db, &request, None)?;
            store::note(db, who.id.as_str(), "hand-in", Some(request.as_str()), Some(id.as_str()))?;
            items::get(db, &request)
        })
    }

    /// Accepts or returns a revision.
    pub fn decide(&self, who: &Person, request: &RequestId, revision: &RevisionId, accept: bool, comment: Option<String>) -> Result<Item> {
        let comment = comment.map(|c| c.trim().to_owned()).filter(|c| !c.is_empty());
        if !accept && comment.is_none() {
            return Err(Error::Invalid("say in a comment what has to change".into()));
        }
        check_comment(comment.as_deref())?;
        let (who, request, revision, minutes) = (who.clone(), request.clone(), revision.clone(), self.claim_minutes);
        self.store.write(move |db| {
            let item = items::get(db, &request)?;
            if who.id == item.requestor {
                return Err(Error::Forbidden("nobody decides on their own correction".into()));
            }
            if !who.may_review(&item) {
                return Err(Error::Forbidden("only a reviewer accepts or returns".into()));
            }
            if item.rejected {
                return Err(Error::State("this request was rejected".into()));
            }
            if item.state != ReviewState::InReview || item.revision.as_ref() != Some(&revision) {
                return Err(Error::Stale("this revision no longer waits for a decision: look at the request again".into()));
            }
            items::claim(db, &item, &who.id, minutes)?;
            let decision = ReviewDecision {
                revision: revision.clone(),
                reviewer: who.id.clone(),
                created_utc: chrono::Utc::now(),
                accepted: accept,
                comment: comment.clone(),
            };
            store::insert_decision(db, &request, &decision)?;
            let state = if accept { ReviewState::Accepted } else { ReviewState::Returned };
            items::set_state(db, &request, state, None)?;
            items::unclaim(db, &request, None)?;
            if accept {
                store::queue_realignment(db, &request)?;
            }
            store::note(db, who.id.as_str(), if accept { "accept" } else { "return" }, Some(request.as_str()), comment.as_deref())?;
            items::get(db, &request)
        })
    }

    /// Queues the accepted text for alignment again.
    pub fn ask_realignment(&self, who: &Person, request: &RequestId) -> Result<()> {
        let item = self.visible(who, request)?;
        if item.state != ReviewState::Accepted || item.revision.is_none() {
            return Err(Error::State("only an accepted correction is aligned again".into()));
        }
        let (who, request) = (who.clone(), request.clone());
        self.store.write(move |db| {
            store::queue_realignment(db, &request)?;
            store::note(db, who.id.as_str(), "realign", Some(request.as_str()), None)
        })
    }
}

/// Refuses what no comment is.
pub(crate) fn check_comment(comment: Option<&str>) -> Result<()> {
    match comment {
        Some(c) if c.chars().count() > MAX_COMMENT_CHARS => {
            Err(Error::Invalid(format!("the comment is longer than {MAX_COMMENT_CHARS} characters")))
        }
        _ => Ok(()),
    }
}
