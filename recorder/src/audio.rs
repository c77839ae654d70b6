//! The microphone: raw samples and the time stamps of their callbacks.

use crate::clock::monotonic_ns;
use crate::marks::OpenGap;
use crate::options::Microphone;
use crate::shared::Shared;
use crate::video::{POLL, spawn};
use crate::{Error, Result};
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{FromSample, Sample, SampleFormat, SizedSample};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use redline_media::WavWriter;
use redline_schemas::{AudioTime, SessionDir, jsonl};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A microphone that sends nothing for so long is gone.
const SILENT: Duration = Duration::from_millis(1_000);
/// Capture lies at most about so long before its callback: samples whose callbacks come earlier after the
/// session's start were captured before it.
const LATENCY_NS: i64 = 50_000_000;
/// The audio reaches the session's end when it is this near: less than the smallest buffer in use.
const TAIL_NS: i64 = 2_000_000;
/// So long after the stop a device may still hand over what it captured before.
const LATE_NS: i64 = 1_000_000_000;
/// How often a lost microphone is looked for.
const RETRY: Duration = Duration::from_millis(1_000);
/// How long opening may take before the first samples come.
const OPENING: Duration = Duration::from_secs(5);

const HINT: &str = "`redline doctor` lists the microphones; --no-mic records without one";

fn no_microphone(reason: impl std::fmt::Display) -> Error {
    Error::Device { what: "no microphone to record".into(), reason: reason.to_string(), hint: HINT }
}

/// A microphone that could be recorded.
#[derive(Debug, Clone, serde::Serialize)]
pub struct MicrophoneInfo {
    /// The name that `--mic` takes.
    pub name: String,
    /// Whether it is the default one.
    pub default: bool,
    /// Native rate, Hz.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u16,
}

fn name_of(d: &cpal::Device) -> String {
    d.description().map(|d| d.name().to_owned()).unwrap_or_else(|_| d.to_string())
}

/// The microphones that can be opened.
#[must_use]
pub fn microphones() -> Vec<MicrophoneInfo> {
    quietly(|| {
        let host = cpal::default_host();
        let default = host.default_input_device().map(|d| name_of(&d));
        let mut found: Vec<MicrophoneInfo> = Vec::new();
        for d in host.input_devices().into_iter().flatten() {
            let name = name_of(&d);
            // ALSA also lists plug-ins that have nothing behind them.
            let Ok(config) = d.default_input_config() else { continue };
            if found.iter().any(|f| f.name == name) || name.starts_with("Discard all samples") {
                continue;
            }
            found.push(MicrophoneInfo {
                default: default.as_deref() == Some(&name),
                name,
                sample_rate: config.sample_rate(),
                channels: config.channels(),
            });
        }
        found.sort_by_key(|m| !m.default);
        found
    })
}

/// Runs `f` with what ALSA prints, whatever it looks for in vain, going to the log. What really fails comes back as an
/// error. Standard error itself is left alone: the recorder speaks to the person there meanwhile.
#[cfg(target_os = "linux")]
fn quietly<T>(f: impl FnOnce() -> T) -> T {
    let said = alsa::Output::local_error_handler();
    let r = f();
    if let Ok(said) = said {
        tracing::debug!("{}", said.borrow().to_string().trim_end());
    }
    r
}

#[cfg(not(target_os = "linux"))]
fn quietly<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// Checks that the microphone exists and can be opened, without recording.
pub fn probe(which: &Microphone) -> Result<Option<MicrophoneInfo>> {
    if *which == Microphone::Off {
        return Ok(None);
    }
    let (device, config) = quietly(|| {
        let device = find(which)?;
        let config = device.default_input_config().map_err(no_microphone)?;
        Ok::<_, Error>((device, config))
    })?;
    let info = MicrophoneInfo {
        name: name_of(&device),
        default: *which == Microphone::Default,
        sample_rate: config.sample_rate(),
        channels: config.channels(),
    };
    Ok(Some(info))
}

fn find(which: &Microphone) -> Result<cpal::Device> {
    let host = cpal::default_host();
    match which {
        Microphone::Named(wanted) => {
            let needle = wanted.to_lowercase();
            let all: Vec<_> = host.input_devices().map_err(no_microphone)?.collect();
            let exact = all.iter().find(|d| name_of(d) == *wanted);
            let found = exact.or_else(|| all.iter().find(|d| name_of(d).to_lowercase().contains(&needle)));
            found.cloned().ok_or_else(|| no_microphone(format!("none has “{wanted}” in its name")))
        }
        _ => host.default_input_device().ok_or_else(|| no_microphone("the system has none")),
    }
}

/// Samples of one callback.
struct Chunk {
    samples: Vec<i16>,
    captured_ns: i64,
    callback_ns: i64,
}

enum Message {
    Chunk(Chunk),
    /// The device is gone; why.
    Lost(String),
}

/// An opened microphone, before the session begins.
pub(crate) struct Opened {
    /// Its name.
    pub name: String,
    /// Native rate, Hz.
    pub rate: u32,
    which: Microphone,
    stream: StreamThread,
    receive: Receiver<Message>,
    send: Sender<Message>,
}

/// The running threads.
pub(crate) struct Audio {
    writer: JoinHandle<Result<()>>,
}

/// Opens the microphone and waits for its first samples.
pub(crate) fn open(which: &Microphone) -> Result<Opened> {
    let (send, receive) = unbounded();
    let stream = StreamThread::open(which, None, send.clone())?;
    settle(&stream, &receive)?;
    Ok(Opened { name: stream.name.clone(), rate: stream.rate, which: which.clone(), stream, receive, send })
}

/// Waits until the device's own times have settled: while a stream starts they are wrong by up to hundreds of
/// milliseconds, and a short recording would have no others to go by.
fn settle(stream: &StreamThread, receive: &Receiver<Message>) -> Result<()> {
    let begun = Instant::now();
    let mut samples = 0_u64;
    // For each callback of the last stretch, how far the device's word lies from the nominal line.
    let mut offsets = VecDeque::new();
    loop {
        match receive.recv_timeout(OPENING) {
            Ok(Message::Chunk(c)) => {
                let line_ns = (samples as f64 * 1e9 / f64::from(stream.rate)) as i64;
                samples += c.samples.len() as u64;
                offsets.push_back(c.captured_ns - line_ns);
                while offsets.len() > STEADY_CALLBACKS {
                    offsets.pop_front();
                }
                let spread = offsets.iter().max().zip(offsets.iter().min()).map_or(0, |(a, b)| a - b);
                if (offsets.len() == STEADY_CALLBACKS && spread < STEADY_NS) || begun.elapsed() > SETTLING {
                    return Ok(());
                }
            }
            Ok(Message::Lost(why)) => return Err(no_microphone(format!("{}: {why}", stream.name))),
            Err(_) => return Err(no_microphone(format!("{}: it sent nothing in {} s", stream.name, OPENING.as_secs()))),
        }
    }
}

/// So many callbacks in a row …
const STEADY_CALLBACKS: usize = 30;
/// … whose times agree so well mean that the device has settled;
const STEADY_NS: i64 = 3_000_000;
/// it is not waited for longer than this.
const SETTLING: Duration = Duration::from_millis(2_500);

impl Opened {
    /// Starts writing.
    pub(crate) fn start(self, shared: &Arc<Shared>, dir: &SessionDir) -> Result<Audio> {
        let wav = WavWriter::create(&dir.audio_raw(), self.rate)?;
        let times = jsonl::Writer::create(&dir.audio_clock())?;
        let shared = Arc::clone(shared);
        let writer = spawn("audio", move || {
            let w = Writer { shared: &shared, wav, times, gap: None, rate: self.rate };
            w.run(&self.which, self.stream, &self.receive, &self.send)
        })?;
        Ok(Audio { writer })
    }
}

impl Audio {
    /// Waits for the thread after `stop` was set.
    pub(crate) fn join(self) -> Result<()> {
        self.writer.join().unwrap_or(Ok(()))
    }
}

struct Writer<'a> {
    shared: &'a Shared,
    wav: WavWriter,
    times: jsonl::Writer<AudioTime>,
    gap: Option<OpenGap>,
    rate: u32,
}

impl Writer<'_> {
    fn run(mut self, which: &Microphone, stream: StreamThread, receive: &Receiver<Message>, send: &Sender<Message>) -> Result<()> {
        let mut stream = Some(stream);
        let mut heard = Instant::now();
        let mut last_end_ns = self.shared.clock.now_ns();
        let mut tried = Instant::now();
        loop {
            let stopping = self.shared.stopping();
            match receive.recv_timeout(POLL) {
                Ok(Message::Chunk(c)) => {
                    // A device that only ever hands over nothing is as gone as one that is still.
                    if !c.samples.is_empty() {
                        heard = Instant::now();
                    }
                    match self.write(&c) {
                        Ok(Some(end)) => last_end_ns = end,
                        Ok(None) => {}
                        Err(e) => {
                            self.shared.fail(e);
                            break;
                        }
                    }
                }
                Ok(Message::Lost(why)) => self.lost(&mut stream, last_end_ns, &why),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if stopping && stream.is_none() {
                        break;
                    }
                    if let Err(e) = self.times.flush_if_due() {
                        self.shared.fail(e.into());
                        break;
                    }
                }
            }
            if stream.is_some() && heard.elapsed() > SILENT {
                self.lost(&mut stream, last_end_ns, "it sends nothing any more");
            }
            if stream.is_none() && !stopping && tried.elapsed() > RETRY {
                tried = Instant::now();
                // The rate must stay: all samples lie in one file.
                if let Ok(s) = StreamThread::open(which, Some(self.rate), send.clone()) {
                    stream = Some(s);
                    heard = Instant::now();
                }
            }
            // What the device captured before the stop is still taken, however late it hands it over, within reason.
            if stopping {
                let end_ns = self.shared.end_ns.load(Ordering::Acquire);
                if last_end_ns >= end_ns - TAIL_NS || self.shared.clock.now_ns() > end_ns + LATE_NS {
                    break;
                }
            }
        }
        drop(stream);
        let end_ns = self.shared.end_ns.load(Ordering::Acquire);
        if let Some(g) = self.gap.take() {
            g.end(&self.shared.marks, end_ns.min(self.shared.clock.now_ns()))?;
        }
        let written = self.wav.finish();
        self.times.finish()?;
        written?;
        Ok(())
    }

    fn lost(&mut self, stream: &mut Option<StreamThread>, last_end_ns: i64, why: &str) {
        if let Some(s) = stream.take() {
            s.abandon();
        }
        self.shared.level.store(0, Ordering::Relaxed);
        if self.gap.is_none() {
            self.shared.say(format!("the microphone is gone ({why}): recording goes on without sound until it is back"));
            match OpenGap::begin(&self.shared.marks, last_end_ns, "audio", format!("microphone lost: {why}")) {
                Ok(g) => self.gap = Some(g),
                Err(e) => self.shared.fail(e),
            }
        }
    }

    /// Writes a chunk's part inside the session; session time at which its last sample was captured.
    fn write(&mut self, c: &Chunk) -> Result<Option<i64>> {
        let step = 1e9 / f64::from(self.rate);
        let callback_ns = self.shared.clock.at(c.callback_ns);
        // Where the session begins is judged by when callbacks ran: what the device says is wrong by hundreds of
        // milliseconds while a stream starts.
        let mut begin_ns = callback_ns - (c.samples.len() as f64 * step) as i64;
        let mut samples = &c.samples[..];
        let mut skipped_ns = 0;
        if begin_ns < LATENCY_NS {
            let skip = ((LATENCY_NS - begin_ns) as f64 / step).ceil() as usize;
            samples = samples.get(skip..).unwrap_or_default();
            skipped_ns = (skip as f64 * step) as i64;
            begin_ns += skipped_ns;
        }
        // Where it ends, by the device's word: a buffer that comes late was captured before.
        let t_ns = self.shared.clock.at(c.captured_ns) + skipped_ns;
        let end_ns = self.shared.end_ns.load(Ordering::Acquire);
        if end_ns != i64::MAX {
            let keep = ((end_ns - t_ns.min(begin_ns)).max(0) as f64 / step) as usize;
            samples = &samples[..samples.len().min(keep)];
        }
        if samples.is_empty() {
            return Ok(None);
        }
        if let Some(g) = self.gap.take() {
            self.shared.say("the microphone is back".into());
            g.end(&self.shared.marks, begin_ns)?;
        }
        let time = AudioTime { t_ns, callback_ns, sample: self.wav.samples(), samples: samples.len() as u32 };
        self.wav.write(samples)?;
        self.times.write(&time)?;
        // As soon as the samples: after a crash no sample is without its time.
        self.times.flush()?;
        let peak = samples.iter().map(|s| s.unsigned_abs()).max().unwrap_or(0);
        self.shared.level.store((f32::from(peak) / 32768.0).to_bits(), Ordering::Relaxed);
        Ok(Some(callback_ns.min(t_ns + (samples.len() as f64 * step) as i64)))
    }
}

/// The device's stream, in a thread of its own: some back ends block for ever when a device dies,
/// and then only that thread is lost.
struct StreamThread {
    name: String,
    rate: u32,
    close: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl StreamThread {
    fn open(which: &Microphone, rate: Option<u32>, send: Sender<Message>) -> Result<Self> {
        let (close, closed) = bounded::<()>(1);
        let (ready, opened) = bounded(1);
        let which = which.clone();
        let thread = spawn("microphone", move || match quietly(|| build(&which, rate, send)) {
            Ok((stream, name, rate)) => {
                let _ = ready.send(Ok((name, rate)));
                // Until the other side lets go.
                let _ = closed.recv();
                drop(stream);
            }
            Err(e) => {
                let _ = ready.send(Err(e));
            }
        })?;
        match opened.recv_timeout(OPENING) {
            Ok(Ok((name, rate))) => Ok(Self { name, rate, close, thread: Some(thread) }),
            Ok(Err(e)) => Err(e),
            Err(_) => Err(no_microphone("opening it takes too long")),
        }
    }

    /// Lets go without waiting.
    fn abandon(mut self) {
        self.thread = None;
    }
}

impl Drop for StreamThread {
    fn drop(&mut self) {
        let _ = self.close.try_send(());
        if let Some(t) = self.thread.take() {
            let until = Instant::now() + Duration::from_secs(1);
            while !t.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn build(which: &Microphone, rate: Option<u32>, send: Sender<Message>) -> Result<(cpal::Stream, String, u32)> {
    let device = find(which)?;
    let name = name_of(&device);
    let config = device.default_input_config().map_err(no_microphone)?;
    if rate.is_some_and(|r| r != config.sample_rate()) {
        return Err(no_microphone(format!("{name} now has {} Hz", config.sample_rate())));
    }
    let stream = match config.sample_format() {
        SampleFormat::I8 => stream_of::<i8>(&device, &config, send),
        SampleFormat::I16 => stream_of::<i16>(&device, &config, send),
        SampleFormat::I32 => stream_of::<i32>(&device, &config, send),
        SampleFormat::U8 => stream_of::<u8>(&device, &config, send),
        SampleFormat::U16 => stream_of::<u16>(&device, &config, send),
        SampleFormat::F32 => stream_of::<f32>(&device, &config, send),
        SampleFormat::F64 => stream_of::<f64>(&device, &config, send),
        other => return Err(no_microphone(format!("{name} gives samples as {other}, which is not read"))),
    }
    .map_err(|e| no_microphone(format!("{name}: {e}")))?;
    stream.play().map_err(|e| no_microphone(format!("{name}: {e}")))?;
    Ok((stream, name, config.sample_rate()))
}

fn stream_of<T>(device: &cpal::Device, config: &cpal::SupportedStreamConfig, send: Sender<Message>) -> Result<cpal::Stream, cpal::Error>
where
    T: SizedSample,
    i16: FromSample<T>,
    f32: FromSample<T>,
{
    let channels = usize::from(config.channels()).max(1);
    let errors = send.clone();
    device.build_input_stream(
        config.config(),
        move |data: &[T], info: &cpal::InputCallbackInfo| {
            let callback_ns = monotonic_ns();
            let t = info.timestamp();
            let age = t.callback.saturating_duration_since(t.capture);
            let samples = if channels == 1 {
                data.iter().map(|s| i16::from_sample(*s)).collect()
            } else {
                let mean = |f: &[T]| f.iter().map(|s| f32::from_sample(*s)).sum::<f32>() / channels as f32;
                data.chunks_exact(channels).map(|f| mean(f).to_sample::<i16>()).collect()
            };
            let captured_ns = callback_ns - age.as_nanos().min(10_000_000_000) as i64;
            let _ = send.send(Message::Chunk(Chunk { samples, captured_ns, callback_ns }));
        },
        move |e: cpal::Error| {
            use cpal::ErrorKind as K;
            match e.kind() {
                // Samples were lost, the stream goes on; the time stamps show the jump.
                K::Xrun | K::DeviceChanged | K::RealtimeDenied => tracing::info!("microphone: {e}"),
                _ => {
                    let _ = errors.send(Message::Lost(e.to_string()));
                }
            }
        },
        None,
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::quietly;

    #[test]
    fn opening_a_microphone_leaves_standard_error_to_the_recorder() {
        let target = || std::fs::read_link("/proc/self/fd/2").unwrap();
        let before = target();
        assert_eq!(quietly(target), before);
    }
}
