//! What the panel is doing: a state machine without window, clock or devices, so that every way through it can be tested.

use crate::cad::Connection;
use crate::settings::Action;
use redline_recorder::control::Command;
use redline_recorder::live::{DrawingState, Ending};
use redline_schemas::{Difficulty, Modality, ModelId, ParticipantId, RequestId};

/// What the next take is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Who.
    pub participant: Option<ParticipantId>,
    /// About which model.
    pub model: Option<ModelId>,
    /// How.
    pub modality: Modality,
    /// How much work it asks for.
    pub difficulty: Difficulty,
}

/// A take that has been recorded and waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Take {
    /// Its id.
    pub id: RequestId,
    /// Its length without pauses, seconds.
    pub seconds: f64,
    /// The text that was typed.
    pub text: String,
    /// Strokes that were drawn.
    pub strokes: u64,
    /// Whether nothing but silence came from the microphone.
    pub silent: bool,
    /// Cuts that were made.
    pub cuts: u32,
    /// The CAD programs that took part.
    pub cad: Connection,
    /// What else the person should know.
    pub notes: Vec<String>,
}

/// The replay page of a take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it is.
    pub address: String,
    /// Whether the system has no browser that could be asked to show it.
    pub no_browser: bool,
}

/// Where the panel stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Choosing.
    Setup,
    /// The participant has not agreed to the consent text in force.
    Consent,
    /// Counting down while the devices open.
    Countdown {
        /// When it is over, nanoseconds on the panel’s clock.
        until_ns: i64,
        /// Whether the devices are open and settled.
        ready: bool,
    },
    /// The session begins.
    Starting,
    /// Recording, or paused.
    Live {
        /// The request that is recorded.
        id: RequestId,
        /// Whether nothing is written now.
        paused: bool,
    },
    /// Making the finished files.
    Finishing {
        /// Whether it goes into the bin.
        discard: bool,
    },
    /// Deciding about a take.
    Review(Take),
}

/// What the person does.
#[derive(Debug, Clone, PartialEq)]
pub enum Press {
    /// A bound action, by key or button.
    Do(Action),
    /// Agrees to the consent text.
    Agree,
    /// Does not: back to choosing.
    Decline,
    /// Breaks the count-down off.
    Cancel,
    /// Ends the take and puts it into the bin.
    Discard,
    /// After a take: keeps it.
    Keep,
    /// After a take: puts it into the bin and starts the same anew.
    Retake,
    /// After a take: shows it.
    Play,
    /// Any other command to the recording.
    Command(Command),
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// Open the devices for this choice.
    Prepare(Choice),
    /// Begin the session.
    Begin,
    /// Close the devices again.
    Abandon,
    /// A command to the recording.
    Command(Command),
    /// End the recording.
    Finish(Ending),
    /// Write down that this participant agrees.
    Consent(ParticipantId),
    /// Put this take into the bin.
    Bin(RequestId),
    /// Write the note of a kept take.
    Keep(RequestId, String),
    /// Show this take.
    Play(RequestId),
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The devices are open and settled.
    Ready,
    /// The session has begun.
    Begun(RequestId),
    /// It is paused, or goes on.
    Paused(bool),
    /// The recording wants to end by itself.
    WantsEnd,
    /// The finished files are there.
    Ended(Take),
    /// A discarded take is in the bin.
    Binned,
    /// A take’s replay page is served there.
    Page(String),
    /// No browser could be opened for that address.
    NoBrowser(String),
    /// Something failed; for people.
    Failed(String),
}

/// The panel.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Where it stands.
    pub phase: Phase,
    /// What the next take is about.
    pub choice: Choice,
    /// Whether the participant has agreed to the text in force, or there is none.
    pub agreed: bool,
    /// What went wrong last, for people.
    pub problem: Option<String>,
    /// The note for the take that is decided about.
    pub note: String,
    /// The replay page that was asked for last.
    pub page: Option<Page>,
    countdown_ns: i64,
}

impl State {
    /// Choosing.
    #[must_use]
    pub fn new(choice: Choice, countdown_s: u32) -> Self {
        Self {
            phase: Phase::Setup,
            choice,
            agreed: true,
            problem: None,
            note: String::new(),
            page: None,
            countdown_ns: i64::from(countdown_s) * 1_000_000_000,
        }
    }

    /// What keeps a take from being started, for people.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        match &self.choice {
            Choice { participant: None, .. } => Some("Choose who is asking"),
            Choice { model: None, .. } => Some("Choose a model"),
            _ => None,
        }
    }

    /// Whether something is being recorded or about to be: the choices stand then.
    #[must_use]
    pub fn busy(&self) -> bool {
        !matches!(self.phase, Phase::Setup | Phase::Consent | Phase::Review(_))
    }

    /// Whether keys can be changed now: not while something passes by itself.
    #[must_use]
    pub fn may_set_keys(&self) -> bool {
        matches!(self.phase, Phase::Setup | Phase::Live { .. } | Phase::Review(_))
    }

    /// The person does something at `now_ns`; what follows.
    pub fn press(&mut self, p: &Press, now_ns: i64) -> Vec<Deed> {
        match (&self.phase, p) {
            (Phase::Setup, Press::Do(Action::Record)) => self.want_take(now_ns),
            (Phase::Consent, Press::Agree) => {
                let Some(who) = self.choice.participant.clone() else { return Vec::new() };
                self.agreed = true;
                self.phase = Phase::Setup;
                vec![Deed::Consent(who)]
            }
            (Phase::Consent, Press::Decline | Press::Cancel) => {
                self.phase = Phase::Setup;
                Vec::new()
            }
            (Phase::Countdown { .. }, Press::Cancel | Press::Discard | Press::Do(Action::Record)) => {
                self.phase = Phase::Setup;
                vec![Deed::Abandon]
            }
            (Phase::Live { .. }, Press::Do(Action::Record)) => self.finish(Ending::Keep),
            (Phase::Live { .. }, Press::Discard) => self.finish(Ending::Discard),
            (Phase::Live { .. }, Press::Do(a)) => command(*a).map(Deed::Command).into_iter().collect(),
            (Phase::Live { .. }, Press::Command(c)) => vec![Deed::Command(c.clone())],
            (Phase::Review(t), Press::Keep) => {
                let deed = Deed::Keep(t.id.clone(), std::mem::take(&mut self.note));
                self.phase = Phase::Setup;
                vec![deed]
            }
            (Phase::Review(t), Press::Discard) => {
                let deed = Deed::Bin(t.id.clone());
                self.phase = Phase::Setup;
                self.note.clear();
                vec![deed]
            }
            (Phase::Review(t), Press::Retake) => {
                let mut deeds = vec![Deed::Bin(t.id.clone())];
                self.phase = Phase::Setup;
                self.note.clear();
                deeds.extend(self.want_take(now_ns));
                deeds
            }
            (Phase::Review(t), Press::Play) => vec![Deed::Play(t.id.clone())],
            // A key at the wrong moment does nothing.
            _ => Vec::new(),
        }
    }

    fn want_take(&mut self, now_ns: i64) -> Vec<Deed> {
        self.problem = self.missing().map(Into::into);
        if self.problem.is_some() {
            return Vec::new();
        }
        if !self.agreed {
            self.phase = Phase::Consent;
            return Vec::new();
        }
        self.phase = Phase::Countdown { until_ns: now_ns + self.countdown_ns, ready: false };
        vec![Deed::Prepare(self.choice.clone())]
    }

    fn finish(&mut self, e: Ending) -> Vec<Deed> {
        self.phase = Phase::Finishing { discard: e == Ending::Discard };
        vec![Deed::Finish(e)]
    }

    /// Something came back; what follows.
    pub fn hear(&mut self, n: News, now_ns: i64) -> Vec<Deed> {
        match (n, &mut self.phase) {
            (News::Ready, Phase::Countdown { ready, .. }) => {
                *ready = true;
                self.tick(now_ns)
            }
            // The count-down was broken off while the devices opened.
            (News::Ready, _) => vec![Deed::Abandon],
            (News::Begun(id), Phase::Starting) => {
                self.phase = Phase::Live { id, paused: false };
                Vec::new()
            }
            (News::Paused(p), Phase::Live { paused, .. }) => {
                *paused = p;
                Vec::new()
            }
            (News::WantsEnd, Phase::Live { .. }) => self.finish(Ending::Keep),
            (News::Ended(take), _) => {
                self.note.clear();
                self.page = None;
                self.phase = Phase::Review(take);
                Vec::new()
            }
            (News::Binned, Phase::Finishing { .. }) => {
                self.phase = Phase::Setup;
                Vec::new()
            }
            (News::Page(address), Phase::Review(_)) => {
                self.page = Some(Page { address, no_browser: false });
                Vec::new()
            }
            (News::NoBrowser(address), _) => {
                // Of an older page it is no news.
                if let Some(p) = self.page.as_mut().filter(|p| p.address == address) {
                    p.no_browser = true;
                }
                Vec::new()
            }
            (News::Failed(why), phase) => {
                self.problem = Some(why);
                // A command that failed ends no recording.
                if !matches!(phase, Phase::Live { .. } | Phase::Review(_)) {
                    self.phase = Phase::Setup;
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Time passes.
    pub fn tick(&mut self, now_ns: i64) -> Vec<Deed> {
        match self.phase {
            Phase::Countdown { until_ns, ready: true } if now_ns >= until_ns => {
                self.phase = Phase::Starting;
                self.problem = None;
                vec![Deed::Begin]
            }
            _ => Vec::new(),
        }
    }

    /// Whole seconds left of the count-down, 0 when only the devices are waited for.
    #[must_use]
    pub fn seconds_left(&self, now_ns: i64) -> Option<i64> {
        match self.phase {
            Phase::Countdown { until_ns, .. } => Some(((until_ns - now_ns).max(0) + 999_999_999) / 1_000_000_000),
            _ => None,
        }
    }
}

fn command(a: Action) -> Option<Command> {
    Some(match a {
        Action::Record => return None,
        Action::Pause => Command::PauseToggle,
        Action::Mark => Command::Mark(None),
        Action::Draw => Command::Draw(None),
        Action::Undo => Command::Undo,
        Action::Clear => Command::Clear,
        Action::Cut => Command::Cut(CUT_SECONDS),
    })
}

/// What the cut button and its key cut, seconds.
pub const CUT_SECONDS: f64 = 10.0;

/// What a running recording looks like from the panel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// Session time, pauses included, nanoseconds.
    pub elapsed_ns: i64,
    /// Length of the pauses.
    pub paused_ns: i64,
    /// Peak of the microphone, 0 to 1; `None` without one.
    pub level: Option<f32>,
    /// Pictures that were taken but not used.
    pub dropped: u64,
    /// Frames.
    pub frames: u64,
    /// The pen.
    pub drawing: Option<DrawingState>,
    /// Bytes free on the corpus’s disk.
    pub free_bytes: Option<u64>,
    /// Moments marked.
    pub marks: u32,
    /// Spans cut.
    pub cuts: u32,
    /// Whether a CAD program is connected.
    pub cad: Connection,
    /// The typed text as recorded.
    pub text: String,
    /// What the recorder said last.
    pub said: Option<String>,
}

/// What can be told apart on the screen: the window is drawn anew when this changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    seconds: i64,
    level_db: Option<i32>,
    counts: [u64; 3],
    drawing: Option<DrawingState>,
    free_tenths: Option<u64>,
    cad: Connection,
    said: Option<String>,
}

impl Look {
    /// See [`Shown`].
    #[must_use]
    pub fn shown(&self) -> Shown {
        // A bar of 300 points over 60 dB: a decibel is five points. Silence is silence, however deep.
        let db = |l: f32| if l > SILENT_PEAK { (20.0 * l.log10()).round() as i32 } else { -60 };
        Shown {
            seconds: (self.elapsed_ns - self.paused_ns) / 1_000_000_000,
            level_db: self.level.map(db),
            counts: [self.dropped, self.marks.into(), self.cuts.into()],
            drawing: self.drawing.clone(),
            free_tenths: self.free_bytes.map(|b| b / 100_000_000),
            cad: self.cad.clone(),
            said: self.said.clone(),
        }
    }
}

/// Something that the person should see at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The microphone gives nothing.
    Silent,
    /// The disk is nearly full.
    Disk,
    /// Pictures are lost.
    Dropped,
    /// No CAD program is connected: no selections, no commands.
    NoBridge,
}

impl Warning {
    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Silent => "The microphone is silent. Is it muted, or the wrong one?",
            Self::Disk => "The disk is nearly full. Make room before the next take.",
            Self::Dropped => "Pictures are being lost: close other programs.",
            Self::NoBridge => "No CAD program is connected: no selections.",
        }
    }
}

/// Notices what is wrong.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    heard_ns: Option<i64>,
    dropped: Option<(u64, i64)>,
    alone_ns: Option<i64>,
    next_ns: Option<i64>,
}

/// Below this peak a microphone is silent: the noise of a real one lies above it (−60 dB).
pub const SILENT_PEAK: f32 = 0.001;
/// For so long a silence is no reason to warn.
const SILENT_NS: i64 = 3_000_000_000;
/// Lost pictures are warned of for so long.
const DROPPED_NS: i64 = 10_000_000_000;
/// A plug-in that is there looks for the recorder four times a second: it has come by then.
const PLUG_IN_NS: i64 = 1_500_000_000;

impl Watch {
    /// When time alone will change what is wrong, if nothing else happens.
    #[must_use]
    pub fn next_ns(&self) -> Option<i64> {
        self.next_ns
    }

    /// What is wrong now. `live`: whether a recording runs.
    pub fn see(&mut self, l: &Look, live: bool, now_ns: i64) -> Vec<Warning> {
        let mut out = Vec::new();
        // What was so since a time is said after a while, or until then.
        let mut next: Option<i64> = None;
        let mut passed = |since: i64, ns: i64| {
            let at = since + ns;
            if now_ns < at {
                next = Some(next.map_or(at, |n| n.min(at)));
            }
            now_ns >= at
        };
        match l.level {
            Some(p) if p >= SILENT_PEAK => self.heard_ns = Some(now_ns),
            Some(_) => {
                if passed(*self.heard_ns.get_or_insert(now_ns), SILENT_NS) {
                    out.push(Warning::Silent);
                }
            }
            None => self.heard_ns = None,
        }
        if l.free_bytes.is_some_and(|b| b < redline_recorder::doctor::LITTLE_SPACE) {
            out.push(Warning::Disk);
        }
        if !live {
            (self.dropped, self.alone_ns) = (None, None);
        } else {
            match &mut self.dropped {
                Some((n, since)) if l.dropped > *n => (*n, *since) = (l.dropped, now_ns),
                Some(_) => {}
                None => self.dropped = Some((l.dropped, now_ns - DROPPED_NS)),
            }
            if self.dropped.is_some_and(|d| !passed(d.1, DROPPED_NS)) {
                out.push(Warning::Dropped);
            }
            if l.cad != Connection::Waiting {
                self.alone_ns = None;
            } else if passed(*self.alone_ns.get_or_insert(now_ns), PLUG_IN_NS) {
                out.push(Warning::NoBridge);
            }
        }
        self.next_ns = next;
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn state() -> State {
        let choice = Choice {
            participant: Some(ParticipantId::new("P01").unwrap()),
            model: Some(ModelId::new("m").unwrap()),
            modality: Modality::DrawTemp,
            difficulty: Difficulty::Easy,
        };
        State::new(choice, 3)
    }

    fn take(id: &RequestId) -> Take {
        Take { id: id.clone(), seconds: 4.0, text: String::new(), strokes: 2, silent: false, cuts: 0, cad: Connection::Off, notes: vec![] }
    }

    const RECORD: Press = Press::Do(Action::Record);

    fn live() -> (State, RequestId) {
        let mut s = state();
        let id = RequestId::generate();
        s.press(&RECORD, 0);
        s.hear(News::Ready, S);
        assert_eq!(s.tick(3 * S), [Deed::Begin]);
        s.hear(News::Begun(id.clone()), 3 * S);
        (s, id)
    }

    #[test]
    fn a_take_from_start_to_keep() {
        let mut s = state();
        assert!(matches!(s.press(&RECORD, 0)[..], [Deed::Prepare(_)]));
        assert_eq!((s.seconds_left(0), s.seconds_left(S / 2), s.seconds_left(S)), (Some(3), Some(3), Some(2)));
        assert_eq!(s.tick(4 * S), [], "the devices are waited for");
        assert_eq!(s.seconds_left(4 * S), Some(0));
        assert_eq!(s.hear(News::Ready, 5 * S), [Deed::Begin]);
        assert_eq!(s.tick(6 * S), [], "it begins once");
        let id = RequestId::generate();
        s.hear(News::Begun(id.clone()), 6 * S);
        assert!(s.busy());
        assert_eq!(s.press(&Press::Do(Action::Pause), 7 * S), [Deed::Command(Command::PauseToggle)]);
        s.hear(News::Paused(true), 7 * S);
        assert_eq!(s.phase, Phase::Live { id: id.clone(), paused: true });
        assert_eq!(s.press(&RECORD, 8 * S), [Deed::Finish(Ending::Keep)]);
        assert_eq!(s.press(&RECORD, 8 * S), [], "a second press does nothing");
        s.hear(News::Ended(take(&id)), 9 * S);
        assert_eq!(s.press(&Press::Play, 9 * S), [Deed::Play(id.clone())]);
        s.note = "good".into();
        assert_eq!(s.press(&Press::Keep, 9 * S), [Deed::Keep(id, "good".into())]);
        assert_eq!((s.phase, s.note.as_str()), (Phase::Setup, ""));
    }

    #[test]
    fn nothing_is_recorded_without_consent() {
        let mut s = state();
        s.agreed = false;
        assert_eq!(s.press(&RECORD, 0), []);
        assert_eq!(s.phase, Phase::Consent);
        assert_eq!(s.press(&RECORD, 0), [], "the key does not go around it");
        assert_eq!(s.press(&Press::Decline, 0), []);
        assert_eq!(s.phase, Phase::Setup);
        s.press(&RECORD, 0);
        assert!(matches!(&s.press(&Press::Agree, 0)[..], [Deed::Consent(p)] if p.as_str() == "P01"));
        assert!(matches!(s.press(&RECORD, 0)[..], [Deed::Prepare(_)]));
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut s = state();
        s.choice.model = None;
        assert_eq!(s.press(&RECORD, 0), []);
        assert_eq!(s.problem.as_deref(), Some("Choose a model"));
        s.choice.participant = None;
        assert_eq!(s.missing(), Some("Choose who is asking"));
    }

    #[test]
    fn a_countdown_can_be_broken_off_at_any_time() {
        let mut s = state();
        s.press(&RECORD, 0);
        assert_eq!(s.press(&Press::Cancel, S), [Deed::Abandon]);
        assert_eq!(s.hear(News::Ready, 2 * S), [Deed::Abandon], "devices that come late are closed");
        assert_eq!(s.phase, Phase::Setup);
    }

    #[test]
    fn discard_and_retake_go_to_the_bin() {
        let (mut s, id) = live();
        assert_eq!(s.press(&Press::Discard, 0), [Deed::Finish(Ending::Discard)]);
        s.hear(News::Binned, 0);
        assert_eq!(s.phase, Phase::Setup);
        let (mut s, _) = live();
        s.press(&RECORD, 0);
        s.hear(News::Ended(take(&id)), 0);
        let deeds = s.press(&Press::Retake, 0);
        assert!(matches!(&deeds[..], [Deed::Bin(b), Deed::Prepare(_)] if *b == id), "{deeds:?}");
    }

    #[test]
    fn a_failure_is_shown_and_ends_only_what_it_must() {
        let mut s = state();
        s.press(&RECORD, 0);
        s.hear(News::Failed("no microphone".into()), S);
        assert_eq!((s.phase.clone(), s.problem.as_deref()), (Phase::Setup, Some("no microphone")));
        let (mut s, _) = live();
        s.hear(News::Failed("the mark was not written".into()), S);
        assert!(matches!(s.phase, Phase::Live { .. }));
        assert_eq!(s.hear(News::WantsEnd, S), [Deed::Finish(Ending::Keep)], "a full disk ends it");
        // What a recording lacks is said after it has begun, and does not end it.
        let mut s = state();
        s.press(&RECORD, 0);
        s.hear(News::Ready, S);
        s.tick(3 * S);
        s.hear(News::Begun(RequestId::generate()), 3 * S);
        s.hear(News::Failed("CAD programs are not listened to".into()), 3 * S);
        assert!(matches!(s.phase, Phase::Live { .. }) && s.problem.is_some());
    }

    #[test]
    fn warnings_come_and_go() {
        let mut w = Watch::default();
        let mut l = Look { level: Some(0.0), free_bytes: Some(u64::MAX), ..Look::default() };
        assert_eq!((w.see(&l, true, 0), w.next_ns()), (vec![], Some(3 * S)));
        assert_eq!((w.see(&l, true, 3 * S), w.next_ns()), (vec![Warning::Silent], None));
        l.level = Some(0.2);
        assert_eq!(w.see(&l, true, 4 * S), []);
        l.dropped = 1;
        assert_eq!(w.see(&l, true, 5 * S), [Warning::Dropped]);
        assert_eq!(w.see(&l, true, 16 * S), []);
        (l.free_bytes, l.cad) = (Some(1 << 20), Connection::Waiting);
        assert_eq!(w.see(&l, true, 17 * S), [Warning::Disk], "a plug-in has a moment to come");
        assert_eq!(w.see(&l, true, 19 * S), [Warning::Disk, Warning::NoBridge]);
        l.cad = Connection::Connected("FreeCAD".into());
        assert_eq!(w.see(&l, true, 20 * S), [Warning::Disk]);
        l.cad = Connection::Waiting;
        assert_eq!(w.see(&l, false, 30 * S), [Warning::Disk]);
        l.cad = Connection::Off;
        assert_eq!(w.see(&l, true, 40 * S), [Warning::Disk], "who did not ask for CAD programs misses none");
    }

    #[test]
    fn the_window_is_drawn_anew_when_something_can_be_seen() {
        let l = Look { level: Some(0.1), elapsed_ns: 5 * S, free_bytes: Some(8_000_000_000), ..Look::default() };
        let same = Look { level: Some(0.102), elapsed_ns: 5 * S + S / 2, frames: 900, free_bytes: Some(8_010_000_000), ..l.clone() };
        assert_eq!(l.shown(), same.shown());
        assert_eq!(Look { level: Some(0.0), ..l.clone() }.shown(), Look { level: Some(0.0005), ..l.clone() }.shown());
        for other in [
            Look { level: Some(0.2), ..l.clone() },
            Look { level: None, ..l.clone() },
            Look { elapsed_ns: 6 * S, ..l.clone() },
            Look { dropped: 1, ..l.clone() },
            Look { cad: Connection::Waiting, ..l.clone() },
        ] {
            assert_ne!(l.shown(), other.shown(), "{other:?}");
        }
    }

    #[test]
    fn a_takes_page_is_shown_while_it_is_decided_about() {
        let (mut s, id) = live();
        s.press(&RECORD, 0);
        s.hear(News::Ended(take(&id)), 0);
        s.press(&Press::Play, 0);
        s.hear(News::Page("http://127.0.0.1:1/".into()), 0);
        assert_eq!(s.page.as_ref().map(|p| p.no_browser), Some(false));
        s.hear(News::NoBrowser("http://127.0.0.1:9/".into()), 0);
        assert_eq!(s.page.as_ref().map(|p| p.no_browser), Some(false), "that was another page");
        s.hear(News::NoBrowser("http://127.0.0.1:1/".into()), 0);
        assert_eq!(s.page, Some(Page { address: "http://127.0.0.1:1/".into(), no_browser: true }));
        s.hear(News::Ended(take(&id)), 0);
        assert_eq!(s.page, None);
    }
}
