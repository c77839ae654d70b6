//! A private sound server: what is played is what the microphone hears.

use crate::children::Child;
use crate::{Error, Result, VirtualDesktop};

const CONFIG: &str = "\
load-module module-null-sink sink_name=loudspeaker rate=48000 channels=2 sink_properties=device.description=Loudspeaker
load-module module-native-protocol-unix auth-anonymous=1 socket=SOCKET
set-default-sink loudspeaker
set-default-source loudspeaker.monitor
";

/// The file name of the microphone's pipe.
pub const PIPE: &str = "microphone.pipe";

/// Replaces the default source. Its rate is what the server believes; the writer may keep another pace.
const PIPE_CONFIG: &str = "\
load-module module-pipe-source source_name=microphone file=PIPE format=s16le rate=48000 channels=1
set-default-source microphone
";

/// ALSA programs (cpal among them) reach the server through this.
const ALSA: &str = "\
pcm.!default { type pulse }
ctl.!default { type pulse }
";

/// Starts PulseAudio with a null sink, and a silent stream into it: without one the sink sleeps, and sound would come late.
///
/// With `pipe`, a pipe is the microphone.
pub fn start(desk: &mut VirtualDesktop, pipe: bool) -> Result<()> {
    let dir = desk.dir.path().to_owned();
    let socket = dir.join("pulse.socket");
    let file = |name: &str, text: &str| -> Result<String> {
        let p = dir.join(name);
        std::fs::write(&p, text).map_err(Error::Folder)?;
        Ok(p.to_string_lossy().into_owned())
    };
    let mut config = CONFIG.replace("SOCKET", &socket.to_string_lossy());
    if pipe {
        config.push_str(&PIPE_CONFIG.replace("PIPE", &dir.join(PIPE).to_string_lossy()));
    }
    let script = file("pulse.pa", &config)?;
    let alsa = file("asound.conf", &format!("{}{ALSA}", system_alsa()))?;
    let home = dir.to_string_lossy().into_owned();

    let mut server = desk.command("pulseaudio");
    server.args([
        "-n",
        "--daemonize=no",
        "--exit-idle-time=-1",
        "--use-pid-file=no",
        "--disallow-exit",
        "--log-target=null",
        "-F",
        &script,
    ]);
    server.env("HOME", &home).env("PULSE_RUNTIME_PATH", &home).env("PULSE_STATE_PATH", &home);
    let server = Child::spawn(&mut server, "pulseaudio", "pulseaudio")?;
    desk.children.push(server);
    desk.env.push(("PULSE_SERVER".into(), format!("unix:{}", socket.to_string_lossy())));
    desk.env.push(("PULSE_RUNTIME_PATH".into(), home));
    desk.env.push(("ALSA_CONFIG_PATH".into(), alsa));
    let source = if pipe { "microphone" } else { "loudspeaker.monitor" };
    desk.wait_for("the sound server", |d| d.output("pactl", &["get-default-source"]).is_ok_and(|s| s.trim() == source))?;

    let silence = Child::spawn(desk.command("pacat").args(["--playback", "--latency-msec=50", "/dev/zero"]), "pacat", "pulseaudio-utils")?;
    desk.children.push(silence);
    desk.wait_for("the silent stream", |d| d.output("pactl", &["list", "short", "sink-inputs"]).is_ok_and(|s| !s.trim().is_empty()))
}

/// `ALSA_CONFIG_PATH` replaces the system's file, so it is taken in first.
fn system_alsa() -> &'static str {
    "</usr/share/alsa/alsa.conf>\n"
}
