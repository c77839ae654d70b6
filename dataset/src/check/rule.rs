//! The rules: id, severity, what each finds and what to do about it. `docs/check.md` holds this table.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The corpus is wrong there; it cannot be released.
    Error,
    /// Something is missing or odd; a person should look.
    Warning,
    /// Good to know.
    Info,
}

impl Severity {
    /// The name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// A rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Stable id, e.g. `RL001`; never given to another rule.
    pub id: &'static str,
    /// A name for people.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it finds.
    pub finds: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

macro_rules! rules {
    ($($konst:ident = $id:literal $severity:ident $name:literal, $finds:literal, $hint:literal;)+) => {
        $(pub(crate) const $konst: &Rule =
            &Rule { id: $id, name: $name, severity: Severity::$severity, finds: $finds, hint: $hint };)+
        /// All rules, by id.
        pub const RULES: &[&Rule] = &[$($konst),+];
    };
}

rules! {
    UNREADABLE = "RL001" Error "unreadable-manifest",
        "a manifest or transcript that is missing, unreadable, too large or no JSON",
        "restore it from a copy, or record the session again";
    VERSION = "RL002" Error "format-version",
        "a file of a format version that this build does not read",
        "use the redline that wrote it";
    SCHEMA = "RL003" Error "schema",
        "a manifest or transcript that its JSON Schema does not allow",
        "mend the named field; `schemas/json/` holds the schemas";
    ID = "RL004" Error "id-mismatch",
        "an id in a file that is not that of its folder",
        "rename the folder, or mend the id";
    STRAY = "RL005" Warning "stray-entry",
        "a file or folder of the corpus that is no model, request or edit, because its name is no valid id or it is not a folder",
        "move it out of the corpus";
    LINK = "RL006" Error "link",
        "a symbolic link, pipe, socket or device inside the corpus",
        "replace it by a copy of the file: a session must be whole in itself";
    DUPLICATE = "RL007" Error "duplicate-id",
        "an id that is given twice",
        "rename one of the two";
    PARTICIPANT = "RL101" Error "unknown-participant",
        "a participant that `participants.json` does not list",
        "`redline participant add`";
    MODEL = "RL102" Error "unknown-model",
        "a model that the corpus does not hold",
        "`redline model add --id`";
    REQUEST = "RL103" Error "unknown-request",
        "a request that the corpus does not hold",
        "restore the request, or remove the edit";
    NO_MODEL = "RL104" Warning "request-without-model",
        "a request that names no model",
        "add the model and name it in `request.json`";
    ROLE = "RL105" Warning "role",
        "a participant who did what none of the given roles allows",
        "add the role in `participants.json`";
    FILE_PATH = "RL201" Error "file-path",
        "a path in a manifest that could leave its folder",
        "use a path below the manifest's folder, with “/”";
    FILE_MISSING = "RL202" Error "file-missing",
        "a file that a manifest names and that is not there",
        "restore it from a copy";
    FILE_SIZE = "RL203" Error "file-size",
        "a file whose size is not the recorded one",
        "restore it from a copy: it was changed or cut off after recording";
    FILE_HASH = "RL204" Error "file-hash",
        "a file whose SHA-256 is not the recorded one",
        "restore it from a copy: it was changed after recording";
    VIEWS = "RL205" Warning "model-views",
        "a model without all of its seven views",
        "put pictures of the model into its folder and name them in `model.json`";
    LINE = "RL301" Error "corrupt-line",
        "a line of a stream that is no event of its kind",
        "mend or delete that line; the lines around it are intact";
    TORN = "RL302" Warning "torn-line",
        "a last line that was cut off while it was written",
        "`redline recover`, or delete the half line";
    COUNT = "RL303" Error "stream-count",
        "a stream whose lines are not as many as recorded",
        "restore it from a copy, or `redline recover`";
    ORDER = "RL304" Error "stream-order",
        "an event before the one in the line above it",
        "sort the stream by `t_ns`";
    BOUNDS = "RL305" Error "stream-bounds",
        "an event before the session's start or after its end",
        "correct the session's duration, or remove the event";
    SPAN = "RL306" Error "stream-span",
        "a stream whose first or last time is not the recorded one",
        "`redline recover`, or correct the manifest";
    LOST = "RL307" Warning "events-lost",
        "events that came while recording and could not be kept",
        "record again where it matters";
    UNLISTED = "RL308" Warning "unlisted-stream",
        "a stream's file that the manifest does not list",
        "`redline recover`, or move the file out";
    SEQUENCE = "RL309" Error "doubled-event",
        "an event of a CAD program that is written twice, by its running number",
        "delete the second one";
    STROKE = "RL310" Error "stroke",
        "a stroke that goes on before it began or after it ended",
        "mend the stream";
    TYPED = "RL311" Error "typed-text",
        "typed text that its own key events do not give",
        "restore `text.txt` or `text.jsonl` from a copy";
    UNFINISHED = "RL401" Error "unfinished",
        "a session whose recorder still runs or died",
        "stop the recording, or `redline recover`";
    VIDEO_TIME = "RL402" Error "video-duration",
        "video whose frames do not fill the session, by more than a frame",
        "`redline recover`, or record again";
    AUDIO_TIME = "RL403" Error "audio-duration",
        "audio that does not lie within the session",
        "`redline recover`, or record again";
    MEDIA_CLAIM = "RL404" Error "media-facts",
        "a video or audio file that is not what the manifest says of it (frames, size, codec, rate, length)",
        "restore it from a copy, or correct the manifest";
    MEDIA = "RL405" Error "media-unreadable",
        "a video or audio file that cannot be opened",
        "restore it from a copy";
    DECODE = "RL406" Error "media-damaged",
        "a video or audio file that cannot be decoded to its end (with --decode)",
        "restore it from a copy, or record again";
    PICTURE = "RL407" Warning "video-format",
        "video that is not H.264, 720 pixels high at 30 frames a second",
        "record with the default size and rate";
    REPEATED = "RL408" Warning "video-repeated",
        "video in which more than a tenth of the frames only repeat the one before (pauses do not count)",
        "free the machine of other work and record again";
    NO_VIDEO = "RL409" Warning "no-video",
        "a request without video",
        "record it again";
    GUESSED = "RL410" Info "alignment-estimated",
        "a session whose streams were aligned by a guess",
        "do not rely on times between its streams";
    JUMP = "RL411" Info "clock-jump",
        "a session whose clock jumped while it was recorded",
        "look at the marks around that time";
    WORD_TIME = "RL501" Error "word-outside-audio",
        "a word or segment that starts before the audio or ends after it",
        "`redline transcribe --force` or `redline align`";
    WORD_ORDER = "RL502" Error "word-order",
        "words or segments that are not in order, or end before they start",
        "`redline align`";
    WORD_TEXT = "RL503" Error "segment-text",
        "a segment whose words are not its text",
        "`redline align`";
    STALE = "RL504" Warning "stale-transcript",
        "a transcript that was made from another audio file",
        "`redline transcribe --force`";
    NO_TRANSCRIPT = "RL505" Warning "no-transcript",
        "a request with audio that has no transcript yet",
        "`redline transcribe`";
    NO_ORACLE = "RL506" Warning "no-oracle",
        "a transcript that nobody corrected and accepted yet",
        "`redline review serve`";
    OWN_REVIEW = "RL507" Error "own-review",
        "a correction accepted by the one who made it, or made by another than the requestor",
        "send it back and let a different expert decide";
    SPEECHLESS = "RL508" Warning "instruction-missing",
        "a request that lacks what its modality is made of: text, speech or strokes",
        "record it again, or correct its modality";
    HISTORY = "RL509" Error "revisions",
        "a history of corrections that belongs to another request, is out of order, or is not that of the accepted text",
        "`redline review serve` writes it anew when it is moved away";
    HISTORY_MISSING = "RL510" Info "no-revisions",
        "a text accepted in the correction loop whose history does not lie beside it",
        "`redline review serve` writes it";
    RATING = "RL511" Error "rating",
        "a rating of an own edit, a second one by the same rater, or one that belongs to another edit",
        "remove it";
    METRICS = "RL512" Error "metrics",
        "a metric out of its range, or one against an edit that is not the requestor’s own of the same request",
        "`redline rate metrics --force`";
    STALE_METRICS = "RL513" Warning "stale-metrics",
        "metrics of a final model that is another file now, or against one that is",
        "`redline rate metrics`";
    CUT_OFF = "RL514" Warning "final-model-cut-off",
        "a final model whose STEP file lacks its end: it was cut off, or its maker left it so",
        "bring the whole file; if there is none, the edit counts as not valid and nobody rates it";
    CELL = "RL601" Warning "cell-short",
        "fewer requests than wanted in a cell of modality, difficulty, parametric or dumb, single part or assembly",
        "record more requests for that cell";
    PER_MODEL = "RL602" Warning "requests-per-model",
        "a model with more or fewer requests than wanted",
        "record the missing requests";
    PER_REQUEST = "RL603" Warning "edits-per-request",
        "a request with fewer edits than wanted",
        "record the missing edits";
    SAME_EDITOR = "RL604" Warning "same-editor",
        "a request whose edits are not by different people, one of them the requestor",
        "let the missing person edit";
    OFF_PROTOCOL = "RL605" Error "off-protocol",
        "a modality or difficulty that the protocol does not have",
        "correct the request, or the protocol in `corpus.json`";
    CONSENT = "RL606" Error "consent-missing",
        "a participant with sessions who has not agreed to the consent text in force",
        "ask, and add the consent to `participants.json`, or reject the sessions";
    NO_CONSENT_TEXT = "RL607" Warning "no-consent-text",
        "a corpus without a consent text",
        "put one into `corpus.json`";
    NO_RESULT = "RL608" Warning "edit-without-result",
        "an edit without a final model",
        "save the result, or reject the edit";
    REJECTION = "RL609" Error "rejection",
        "a rejected session without a reason, or a reason on one that is not rejected",
        "give the reason in the manifest, or correct its status";
    EMAIL = "RL701" Error "e-mail",
        "an e-mail address in a text or in metadata",
        "remove it: nothing that names a person may enter a corpus";
    HOME = "RL702" Error "home-path",
        "the path of somebody's home folder in a text or in metadata",
        "remove it: it holds a user name";
    PERSON = "RL703" Error "name",
        "a name of the list given with --names in a text or in metadata",
        "remove it, or cut the recording where it is said";
    STEP_AUTHOR = "RL704" Error "step-author",
        "an author or organisation in a STEP file's header",
        "empty these fields of FILE_NAME and add the model anew";
    PICTURE_TAGS = "RL705" Error "picture-metadata",
        "a picture with an author, a place, an owner or a serial number in its EXIF or text fields",
        "save it without metadata";
    MEDIA_TAGS = "RL706" Error "media-metadata",
        "a video or audio file with an author, a place or the like in its tags",
        "remux it without tags";
    RUN_TASK = "RL801" Error "run-task",
        "a run of a task that the corpus does not hold, or whose family or prompt is not the task’s",
        "restore the task as it was; a changed task is another task and gets another id";
    SCREENSHOT = "RL802" Error "step-screenshot",
        "a step of a run whose screenshot is missing",
        "restore it from a copy, or reject the run";
    RUN_SCORE = "RL803" Error "run-score",
        "a score of a run that is not from 0 to 3",
        "remove the scorer’s file and score again";
    LABEL = "RL804" Error "failure-label",
        "a failure label that is not in the corpus’s list",
        "`redline run labels --add`, or correct the label";
    RUN_JUDGE = "RL805" Error "run-judge",
        "a run that was recorded, verified or scored by a program",
        "let a person do it";
    RUN_CHECKS = "RL806" Error "run-checks",
        "a verification that does not answer exactly its task’s checks",
        "remove `verification.json` and verify again";
    UNVERIFIED = "RL807" Warning "run-unverified",
        "a run that nobody verified; it counts as not passed",
        "`redline run verify`";
    RUN_STOP = "RL808" Warning "run-stop",
        "a run of which nobody said why it ended",
        "`redline run stop --run`";
}

/// The table of the documentation, Markdown.
#[must_use]
pub fn markdown() -> String {
    use std::fmt::Write as _;
    let mut s = String::from("| rule | name | severity | finds | what to do |\n|---|---|---|---|---|\n");
    for r in RULES {
        let _ = writeln!(s, "| {} | {} | {} | {} | {} |", r.id, r.name, r.severity.as_str(), r.finds, r.hint);
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_unique_and_sorted() {
        assert!(RULES.windows(2).all(|w| w[0].id < w[1].id));
        let names: std::collections::BTreeSet<_> = RULES.iter().map(|r| r.name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(RULES.iter().all(|r| r.id.len() == 5 && r.id.starts_with("RL")));
    }

    /// `REDLINE_BLESS=1 cargo test -p redline-dataset` writes the table anew.
    #[test]
    fn the_documentation_holds_this_table() {
        const BEGIN: &str = "<!-- rules: begin -->\n";
        const END: &str = "<!-- rules: end -->";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/check.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (have, after) = rest.split_once(END).unwrap();
        if std::env::var_os("REDLINE_BLESS").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", markdown())).unwrap();
            return;
        }
        assert!(have == markdown(), "docs/check.md is stale: REDLINE_BLESS=1 cargo test -p redline-dataset");
    }
}
