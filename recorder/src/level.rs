//! How loud a microphone is, while nothing is recorded.

use crate::Result;
use crate::audio::{Message, StreamThread};
use crate::options::Microphone;
use crate::video::spawn;
use crossbeam_channel::unbounded;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a peak is shown.
const HOLD: Duration = Duration::from_millis(150);

/// An open microphone whose samples are looked at and thrown away. It is closed when this is dropped.
pub struct Meter {
    peak: Arc<AtomicU32>,
    lost: Arc<AtomicBool>,
    _stream: StreamThread,
}

impl Meter {
    /// Opens a microphone.
    pub fn open(which: &Microphone) -> Result<Self> {
        let (send, receive) = unbounded();
        let stream = StreamThread::open(which, None, send)?;
        let (peak, lost) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let (to, gone) = (Arc::clone(&peak), Arc::clone(&lost));
        // Ends when the stream and with it the sender is dropped.
        spawn("meter", move || {
            let (mut shown, mut since) = (0.0_f32, Instant::now());
            for m in receive {
                match m {
                    Message::Chunk(c) => {
                        let p = f32::from(c.samples.iter().map(|s| s.unsigned_abs()).max().unwrap_or(0)) / 32768.0;
                        if p >= shown || since.elapsed() > HOLD {
                            (shown, since) = (p, Instant::now());
                        }
                        to.store(shown.to_bits(), Ordering::Relaxed);
                    }
                    Message::Lost(_) => gone.store(true, Ordering::Relaxed),
                }
            }
        })?;
        Ok(Self { peak, lost, _stream: stream })
    }

    /// Peak of the last moment, 0 to 1; `None` when the microphone is gone.
    #[must_use]
    pub fn level(&self) -> Option<f32> {
        (!self.lost.load(Ordering::Relaxed)).then(|| f32::from_bits(self.peak.load(Ordering::Relaxed)))
    }
}
