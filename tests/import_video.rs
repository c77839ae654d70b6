//! `redline import video` on videos made here, good and bad.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

use redline_schemas::time::NS_PER_S;
use redline_schemas::{Alignment, Corpus, RequestId, RequestManifest};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let w = Self { dir: tempfile::tempdir().unwrap() };
        assert!(redline(&["init", &w.path("c")]).status.success());
        assert!(redline(&["participant", "add", "P01", "--corpus", &w.path("c")]).status.success());
        w
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_string_lossy().into_owned()
    }

    /// Makes a file with ffmpeg.
    fn make(&self, name: &str, args: &[&str]) -> String {
        let path = self.path(name);
        let out = Command::new("ffmpeg").args(["-v", "error", "-y"]).args(args).arg(&path).output().expect("ffmpeg is installed");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        path
    }

    fn import(&self, file: &str, id: &str, more: &[&str]) -> Output {
        let c = self.path("c");
        let args =
            ["import", "video", file, "--participant=P01", "--modality=interactive", "--difficulty=easy", "--id", id, "--corpus", &c];
        redline(&[&args[..], more].concat())
    }

    fn request(&self, id: &str) -> RequestManifest {
        Corpus::open(self.path("c")).unwrap().request(&RequestId::new(id).unwrap()).unwrap()
    }

    fn file(&self, id: &str, name: &str) -> PathBuf {
        self.dir.path().join("c/requests").join(id).join(name)
    }

    fn requests(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("c/requests")).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn redline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).env_remove("REDLINE_CORPUS").output().unwrap()
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

const H264: [&str; 4] = ["-c:v", "libx264", "-pix_fmt", "yuv420p"];
const PICTURE: [&str; 4] = ["-f", "lavfi", "-i", "testsrc2=size=1112x720:rate=30:duration=2"];
const SOUND: [&str; 4] = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2"];

/// Hashes of all pictures of a video, in order.
fn pictures(path: &Path) -> Vec<String> {
    let out = Command::new("ffmpeg").args(["-v", "error", "-i"]).arg(path).args(["-map", "0:v", "-f", "framemd5", "-"]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().filter(|l| !l.starts_with('#')).map(|l| l.rsplit(',').next().unwrap().trim().to_owned()).collect()
}

/// The first sample, as a time from the file's start, that is louder than 0.05.
fn first_sound_s(path: &Path) -> f64 {
    let mut at = 0_usize;
    let blocks = redline_media::AudioBlocks::open(path).unwrap();
    let rate = f64::from(blocks.info().sample_rate);
    for b in blocks {
        let b = b.unwrap();
        if let Some(i) = b.samples.iter().position(|s| s.abs() > 0.05) {
            return (at + i) as f64 / rate;
        }
        at += b.samples.len();
    }
    panic!("silence in {}", path.display())
}

#[test]
fn h264_at_30_fps_is_copied_and_its_audio_extracted() {
    let w = World::new();
    let source = w.make("a.mp4", &[&PICTURE[..], &SOUND, &H264, &["-c:a", "aac", "-ac", "2", "-bf", "2"]].concat());
    let out = w.import(&source, "r", &["--json"]);
    assert!(out.status.success(), "{}", text(&out));
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(said["copied"], true);
    let m = w.request("r");
    assert_eq!(m.session.clock.alignment, Alignment::Container);
    assert_eq!(m.imported_from.as_ref().unwrap().name, "a.mp4");
    let v = m.session.streams.video.unwrap();
    assert_eq!((v.width, v.height, v.frames, v.repeated_slots, v.has_audio), (1112, 720, 60, 0, true));
    assert_eq!((v.grid.first_t_ns, v.grid.fps_num, v.grid.fps_den), (0, 30, 1));
    assert_eq!(pictures(&w.file("r", "video.mp4")), pictures(Path::new(&source)), "copied bit for bit");
    let head = std::fs::read(w.file("r", "video.mp4")).unwrap();
    let find = |n: &[u8]| head.windows(4).position(|x| x == n).unwrap();
    assert!(find(b"moov") < find(b"mdat"), "the index is in front");
    let a = m.session.streams.audio.unwrap();
    assert_eq!((a.clock.sample_rate, a.channels, a.clock.pieces.len()), (48_000, 1, 1));
    assert_eq!(a.clock.pieces[0].t0_ns, 0, "the encoder's delay is taken out");
    assert!((a.clock.samples() as i64 - 96_000).abs() <= 1024, "{}", a.clock.samples());
    assert!(first_sound_s(&w.file("r", "audio.flac")) < 0.005);
    assert_eq!(w.requests(), ["r"], "no rubbish is left");
}

#[test]
fn a_video_without_audio_is_no_error() {
    let w = World::new();
    let source = w.make("a.mp4", &[&PICTURE[..], &H264].concat());
    let out = w.import(&source, "r", &[]);
    assert!(out.status.success(), "{}", text(&out));
    let s = w.request("r").session;
    assert_eq!(s.streams.audio, None);
    assert!(!s.streams.video.unwrap().has_audio && !w.file("r", "audio.flac").exists());
    assert_eq!(s.duration_ns, 2 * NS_PER_S);
}

#[test]
fn anything_else_becomes_720_high_at_30_fps() {
    let w = World::new();
    let picture = ["-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=24:duration=2"];
    let source = w.make("a.mkv", &[&picture[..], &SOUND, &["-c:v", "mpeg4", "-q:v", "3", "-c:a", "pcm_s16le"]].concat());
    let out = w.import(&source, "r", &["--json"]);
    assert!(out.status.success(), "{}", text(&out));
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(said["copied"], false);
    let s = w.request("r").session;
    let v = s.streams.video.unwrap();
    assert_eq!((v.width, v.height, v.has_audio), (1280, 720, true));
    assert!((58..=60).contains(&v.frames), "{}", v.frames);
    assert_eq!(v.frames - v.repeated_slots, 48, "every source picture is there once");
    let info = redline_media::probe(&w.file("r", "video.mp4")).unwrap();
    let video = info.video.unwrap();
    assert_eq!((video.codec.as_str(), video.fps, video.frames), ("h264", (30, 1), Some(v.frames)));
    assert_eq!(s.streams.audio.unwrap().clock.samples(), 96_000);
    assert!(!w.file("r", "video.part.mp4").exists() && !w.file("r", "audio.part.wav").exists());
}

#[test]
fn audio_that_starts_later_keeps_its_offset() {
    let w = World::new();
    for (name, codec) in [("late.mp4", "aac"), ("late.mkv", "pcm_s16le")] {
        let offset = [&PICTURE[..], &["-itsoffset", "0.5"], &SOUND, &H264, &["-c:a", codec]].concat();
        let source = w.make(name, &offset);
        let id = name.replace('.', "-");
        let out = w.import(&source, &id, &[]);
        assert!(out.status.success(), "{}", text(&out));
        let s = w.request(&id).session;
        let clock = s.streams.audio.unwrap().clock;
        let t = clock.t_ns_of_sample(first_sound_s(&w.file(&id, "audio.flac")) * 48_000.0).unwrap();
        assert!((t - NS_PER_S / 2).abs() < 5_000_000, "{name}: the sound is at {t}");
        assert_eq!(s.streams.video.unwrap().grid.first_t_ns, 0);
        assert!((s.duration_ns - 5 * NS_PER_S / 2).abs() < 30_000_000, "{}", s.duration_ns);
        // In the file for watching it is where it belongs, too.
        let info = redline_media::probe(&w.file(&id, "video.mp4")).unwrap();
        let heard = info.audio.unwrap().start_ns as f64 / 1e9 + first_sound_s(&w.file(&id, "video.mp4"));
        assert!((heard - 0.5).abs() < 0.03, "{name}: heard at {heard}");
    }
}

#[test]
fn audio_that_starts_first_makes_the_session_start_there() {
    let w = World::new();
    let source = w.make("early.mkv", &[&["-itsoffset", "0.4"], &PICTURE[..], &SOUND, &H264, &["-c:a", "pcm_s16le"]].concat());
    let out = w.import(&source, "r", &[]);
    assert!(out.status.success(), "{}", text(&out));
    let s = w.request("r").session.streams;
    assert_eq!(s.audio.unwrap().clock.pieces[0].t0_ns, 0);
    let first = s.video.unwrap().grid.first_t_ns;
    assert!((first - 400_000_000).abs() <= 1_000_000, "{first}");
}

#[test]
fn typed_text_goes_along() {
    let w = World::new();
    let source = w.make("a.mp4", &[&PICTURE[..], &H264].concat());
    std::fs::write(w.path("t.txt"), "Make the hole Ø8.\n").unwrap();
    let out = w.import(&source, "r", &["--text", &w.path("t.txt"), "--note", "first try"]);
    assert!(out.status.success(), "{}", text(&out));
    assert_eq!(std::fs::read_to_string(w.file("r", "text.txt")).unwrap(), "Make the hole Ø8.\n");
    assert_eq!(w.request("r").note.as_deref(), Some("first try"));
}

/// One clear error with the file's name, exit code `code`, and nothing left behind.
fn refused(w: &World, file: &str, code: i32, says: &str) {
    let out = w.import(file, "bad", &[]);
    let err = text(&out);
    assert_eq!(out.status.code(), Some(code), "{file}: {err}");
    let name = Path::new(file).file_name().unwrap().to_string_lossy();
    assert!(err.contains(&*name) && err.contains(says), "{file}: {err}");
    assert_eq!(err.lines().filter(|l| !l.trim().is_empty()).count(), 1, "one line, not FFmpeg's own: {err}");
    assert_eq!(w.requests(), Vec::<String>::new(), "{file}");
}

#[test]
fn bad_files_give_one_clear_error_and_leave_nothing() {
    let w = World::new();
    let good = w.make("good.mp4", &[&PICTURE[..], &SOUND, &H264, &["-c:a", "aac", "-movflags", "+faststart"]].concat());
    let bytes = std::fs::read(&good).unwrap();
    let file = |name: &str, content: &[u8]| {
        std::fs::write(w.path(name), content).unwrap();
        w.path(name)
    };
    refused(&w, &w.path("missing.mp4"), 5, "No such file");
    refused(&w, &file("empty.mp4", b""), 5, "empty");
    refused(&w, &file("text.mp4", b"Please make this hole wider.\n"), 5, "not a media file");
    refused(&w, &file("cut.mp4", &bytes[..bytes.len() * 6 / 10]), 5, "cut off");
    refused(&w, &file("head.mp4", &bytes[..600]), 5, "cut off");
    let sound = w.make("sound.wav", &SOUND);
    refused(&w, &sound, 5, "no video");
    std::fs::create_dir(w.path("folder.mp4")).unwrap();
    refused(&w, &w.path("folder.mp4"), 5, "folder");
    // An index behind the pictures is lost with the end of the file.
    let tail = w.make("tail.mp4", &[&PICTURE[..], &H264].concat());
    let bytes = std::fs::read(&tail).unwrap();
    refused(&w, &file("tailless.mp4", &bytes[..bytes.len() / 2]), 5, "cut off");
    // A playlist could make FFmpeg open other files.
    refused(&w, &file("list.m3u8", b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\ngood.mp4\n"), 5, "not a media file");
    // Rubbish in the middle of the pictures.
    let mut broken = std::fs::read(&good).unwrap();
    let n = broken.len();
    broken[n / 2..n / 2 + 3000].fill(0xA5);
    refused(&w, &file("broken.mp4", &broken), 5, "damaged");
}

#[test]
fn wrong_words_on_the_command_line_are_refused() {
    let w = World::new();
    let source = w.make("a.mp4", &[&PICTURE[..], &H264].concat());
    let c = w.path("c");
    let base = ["import", "video", &source, "--modality=text", "--difficulty=easy", "--corpus", &c];
    let out = redline(&[&base[..], &["--participant=P99"]].concat());
    assert_eq!(out.status.code(), Some(5), "{}", text(&out));
    assert!(text(&out).contains("redline participant add P99"));
    let out = redline(&[&base[..], &["--participant=P01", "--model=none"]].concat());
    assert_eq!(out.status.code(), Some(5), "{}", text(&out));
    assert!(w.import(&source, "r", &[]).status.success());
    let out = w.import(&source, "r", &[]);
    assert_eq!(out.status.code(), Some(5), "{}", text(&out));
    assert!(text(&out).contains("exists"));
    assert_eq!(w.requests(), ["r"]);
}

/// Runs an import into a corpus of which `requests` was mounted over, in a mount namespace of its own.
fn import_under(w: &World, mount: &str, file: &str) -> Output {
    let script = format!("set -e; R='{}'; {mount}; shift; exec \"$@\"", w.path("c/requests"));
    let c = w.path("c");
    let mine = ["--participant=P01", "--modality=interactive", "--difficulty=easy", "--corpus", &c];
    // Not everybody is root; inside a user namespace everybody may mount.
    let out = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &script, "sh", "-"])
        .args([env!("CARGO_BIN_EXE_redline"), "import", "video", file])
        .args(mine)
        .output();
    out.expect("unshare (util-linux) is there")
}

#[test]
fn a_read_only_or_full_corpus_is_a_storage_error_and_leaves_nothing() {
    let w = World::new();
    let source = w.make("a.mp4", &[&PICTURE[..], &SOUND, &H264, &["-c:a", "aac"]].concat());
    let cases = [
        ("mount --bind \"$R\" \"$R\"; mount -o remount,ro,bind \"$R\"", "Read-only file system"),
        ("mount -t tmpfs -o size=256k none \"$R\"", "No space left on device"),
    ];
    for (mount, says) in cases {
        let out = import_under(&w, mount, &source);
        let err = text(&out);
        assert_eq!(out.status.code(), Some(7), "{err}");
        assert!(err.contains(says) && err.contains("requests"), "{err}");
        assert_eq!(err.lines().filter(|l| !l.trim().is_empty()).count(), 1, "{err}");
        assert_eq!(w.requests(), Vec::<String>::new());
    }
}
