//! The clocks on which transcripts leave and enter a corpus.

use anyhow::anyhow;
use redline_schemas::Session;

/// A clock that other programs count on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Time {
    /// Seconds of video.mp4
    Video,
    /// Seconds of audio.flac
    Audio,
    /// Seconds of the session
    Session,
}

type Map = Box<dyn Fn(i64) -> i64>;

impl Time {
    /// Session time to this clock.
    pub fn onto_session(self, session: &Session) -> anyhow::Result<Map> {
        Ok(match self {
            Self::Session => Box::new(|t| t),
            Self::Video => {
                let grid = session.streams.video.as_ref().ok_or_else(|| missing("video"))?.grid;
                Box::new(move |t| t - grid.first_t_ns)
            }
            Self::Audio => {
                let clock = session.streams.audio.as_ref().ok_or_else(|| missing("audio"))?.clock.clone();
                Box::new(move |t| clock.sample_at(t).map_or(t, |s| (s * 1e9 / f64::from(clock.sample_rate.max(1))).round() as i64))
            }
        })
    }

    /// This clock to session time.
    #[cfg(feature = "dataset")]
    pub fn to_session(self, session: &Session) -> anyhow::Result<Map> {
        Ok(match self {
            Self::Session => Box::new(|t| t),
            Self::Video => {
                let grid = session.streams.video.as_ref().ok_or_else(|| missing("video"))?.grid;
                Box::new(move |t| t + grid.first_t_ns)
            }
            Self::Audio => {
                let clock = session.streams.audio.as_ref().ok_or_else(|| missing("audio"))?.clock.clone();
                Box::new(move |t| clock.t_ns_of_sample(t as f64 * f64::from(clock.sample_rate) / 1e9).unwrap_or(t))
            }
        })
    }

    /// The clock wanted, or the first of video, audio and session that there is.
    pub fn or_present(wanted: Option<Self>, first: Self, session: &Session) -> Self {
        let has = |t: &Self| match t {
            Self::Video => session.streams.video.is_some(),
            Self::Audio => session.streams.audio.is_some(),
            Self::Session => true,
        };
        wanted.unwrap_or_else(|| if has(&first) { first } else { Self::Session })
    }
}

fn missing(stream: &str) -> anyhow::Error {
    anyhow!("this session has no {stream}, so there are no {stream} times: use --time session")
}
