//! The database's tables, one step after the other. A step that was published never changes.

/// Applied in order; `PRAGMA user_version` counts them.
pub(super) const STEPS: &[&str] = &[
    r"
    -- One row a request in the loop.
    CREATE TABLE items (
        request     TEXT PRIMARY KEY,
        requestor   TEXT NOT NULL,
        modality    TEXT NOT NULL,
        difficulty  TEXT NOT NULL,
        state       TEXT NOT NULL CHECK (state IN ('transcribed','in-correction','in-review','returned','accepted')),
        version     INTEGER NOT NULL DEFAULT 1,
        revision    TEXT,
        rejected    INTEGER NOT NULL DEFAULT 0,
        exported    TEXT,
        added_ms    INTEGER NOT NULL,
        updated_ms  INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX items_by_requestor ON items (requestor, state);
    CREATE INDEX items_by_state ON items (state, updated_ms);

    -- The automatic transcript as it was when correction began.
    CREATE TABLE originals (
        request     TEXT PRIMARY KEY REFERENCES items (request),
        transcript  TEXT NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE revisions (
        id          TEXT PRIMARY KEY,
        request     TEXT NOT NULL REFERENCES items (request),
        number      INTEGER NOT NULL,
        base        TEXT REFERENCES revisions (id),
        author      TEXT NOT NULL,
        created_ms  INTEGER NOT NULL,
        text        TEXT NOT NULL,
        words       TEXT NOT NULL,
        changed     INTEGER NOT NULL,
        char_edits  INTEGER NOT NULL,
        word_edits  INTEGER NOT NULL,
        auto_chars  INTEGER NOT NULL,
        UNIQUE (request, number)
    ) WITHOUT ROWID;

    CREATE TABLE decisions (
        revision    TEXT PRIMARY KEY REFERENCES revisions (id),
        request     TEXT NOT NULL REFERENCES items (request),
        reviewer    TEXT NOT NULL,
        created_ms  INTEGER NOT NULL,
        accepted    INTEGER NOT NULL,
        comment     TEXT,
        CHECK (accepted = 1 OR length(trim(comment)) > 0)
    ) WITHOUT ROWID;
    CREATE INDEX decisions_by_request ON decisions (request);

    CREATE TABLE drafts (
        request     TEXT NOT NULL REFERENCES items (request),
        author      TEXT NOT NULL,
        base        TEXT,
        seq         INTEGER NOT NULL,
        text        TEXT NOT NULL,
        words       TEXT NOT NULL,
        updated_ms  INTEGER NOT NULL,
        PRIMARY KEY (request, author)
    ) WITHOUT ROWID;

    CREATE TABLE claims (
        request     TEXT PRIMARY KEY REFERENCES items (request),
        participant TEXT NOT NULL,
        until_ms    INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE effort (
        request     TEXT NOT NULL REFERENCES items (request),
        participant TEXT NOT NULL,
        active_ms   INTEGER NOT NULL,
        PRIMARY KEY (request, participant)
    ) WITHOUT ROWID;

    CREATE TABLE realignments (
        request     TEXT PRIMARY KEY REFERENCES items (request),
        state       TEXT NOT NULL CHECK (state IN ('queued','running','done','failed')),
        attempts    INTEGER NOT NULL DEFAULT 0,
        error       TEXT,
        next_ms     INTEGER NOT NULL,
        updated_ms  INTEGER NOT NULL
    ) WITHOUT ROWID;

    -- Tokens are kept as SHA-256 only.
    CREATE TABLE invites (
        token_sha256 TEXT PRIMARY KEY,
        participant  TEXT NOT NULL,
        created_ms   INTEGER NOT NULL,
        expires_ms   INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE sessions (
        token_sha256 TEXT PRIMARY KEY,
        participant  TEXT NOT NULL,
        created_ms   INTEGER NOT NULL,
        expires_ms   INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE audit (
        id          INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ms       INTEGER NOT NULL,
        participant TEXT NOT NULL,
        action      TEXT NOT NULL,
        subject     TEXT,
        detail      TEXT
    );
    CREATE INDEX audit_by_subject ON audit (subject);

    -- What was written stays as it was written.
    CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions BEGIN SELECT RAISE(ABORT, 'revisions are immutable'); END;
    CREATE TRIGGER revisions_remain BEFORE DELETE ON revisions BEGIN SELECT RAISE(ABORT, 'revisions are immutable'); END;
    CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions are immutable'); END;
    CREATE TRIGGER decisions_remain BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions are immutable'); END;
    CREATE TRIGGER originals_stay BEFORE UPDATE ON originals BEGIN SELECT RAISE(ABORT, 'originals are immutable'); END;
    CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
    CREATE TRIGGER audit_remains BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
    CREATE TRIGGER nobody_decides_on_their_own BEFORE INSERT ON decisions
        WHEN (SELECT author FROM revisions WHERE id = NEW.revision) = NEW.reviewer
        BEGIN SELECT RAISE(ABORT, 'nobody decides on their own correction'); END;
",
    r"
    -- Requests without sound came in too. Those that nobody began go; the next look at the corpus takes in again what
    -- takes part.
    DELETE FROM items WHERE state = 'transcribed' AND revision IS NULL
        AND request NOT IN (SELECT request FROM originals UNION SELECT request FROM drafts UNION SELECT request FROM revisions
            UNION SELECT request FROM claims UNION SELECT request FROM effort UNION SELECT request FROM realignments);
",
    r"
    -- Who rates which edit. Pages know a task by its key: an edit's id may hold the name of its maker.
    CREATE TABLE rate_seed (
        one         INTEGER PRIMARY KEY CHECK (one = 1),
        seed        TEXT NOT NULL
    );
    CREATE TABLE rate_tasks (
        edit        TEXT NOT NULL,
        rater       TEXT NOT NULL,
        key         TEXT NOT NULL UNIQUE,
        place       TEXT NOT NULL,
        assigned_ms INTEGER NOT NULL,
        instruction INTEGER CHECK (instruction BETWEEN 1 AND 7),
        quality     INTEGER CHECK (quality BETWEEN 1 AND 7),
        comment     TEXT,
        active_ms   INTEGER NOT NULL DEFAULT 0,
        done_ms     INTEGER,
        PRIMARY KEY (edit, rater),
        CHECK ((done_ms IS NULL) = (instruction IS NULL) AND (done_ms IS NULL) = (quality IS NULL))
    ) WITHOUT ROWID;
    CREATE INDEX rate_tasks_by_rater ON rate_tasks (rater, place);
",
];
