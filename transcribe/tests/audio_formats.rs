//! Every rate, width and channel count comes out as the same mono 16 kHz, in length and in time.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use redline_transcribe::audio::{AudioReader, RATE};
use std::path::Path;

/// A WAV of `channels` equal channels: silence, and a 500 Hz tone from 1.0 to 1.5 s, 2 s in all.
fn write(path: &Path, rate: u32, channels: u16, bits: u16) {
    let mut data = Vec::new();
    for i in 0..rate * 2 {
        let t = f64::from(i) / f64::from(rate);
        let s = if (1.0..1.5).contains(&t) { (t * 500.0 * std::f64::consts::TAU).sin() * 0.5 } else { 0.0 };
        let full = f64::from(1_u32 << (bits - 1)) - 1.0;
        let sample = ((s * full) as i32).to_le_bytes();
        for _ in 0..channels {
            data.extend_from_slice(&sample[..usize::from(bits / 8)]);
        }
    }
    let block = channels * bits / 8;
    let mut w = b"RIFF".to_vec();
    w.extend((36 + data.len() as u32).to_le_bytes());
    w.extend(b"WAVEfmt \x10\0\0\0\x01\0");
    w.extend(channels.to_le_bytes());
    w.extend(rate.to_le_bytes());
    w.extend((rate * u32::from(block)).to_le_bytes());
    w.extend(block.to_le_bytes());
    w.extend(bits.to_le_bytes());
    w.extend(b"data");
    w.extend((data.len() as u32).to_le_bytes());
    w.extend(data);
    std::fs::write(path, w).unwrap();
}

#[test]
fn all_forms_of_audio_keep_their_length_and_their_time() {
    let dir = tempfile::tempdir().unwrap();
    for rate in [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000] {
        for (channels, bits) in [(1, 16), (2, 16), (1, 24), (2, 24)] {
            let form = format!("{rate} Hz, {channels} channels, {bits} bits");
            let path = dir.path().join("a.wav");
            write(&path, rate, channels, bits);
            let samples = AudioReader::open(&path).unwrap().read_all().unwrap();
            assert_eq!(samples.len(), RATE as usize * 2, "{form}");
            let loud = |s: &f32| s.abs() > 0.1;
            let at = |i: usize| i as f64 / f64::from(RATE);
            let (first, last) = (at(samples.iter().position(loud).unwrap()), at(samples.iter().rposition(loud).unwrap()));
            assert!((first - 1.0).abs() < 0.002 && (last - 1.5).abs() < 0.002, "{form}: tone from {first} to {last}");
            let peak = samples.iter().fold(0.0_f32, |m, s| m.max(s.abs()));
            assert!((peak - 0.5).abs() < 0.06, "{form}: peak {peak}");
        }
    }
}

#[test]
fn a_cut_off_file_gives_what_is_there_and_rubbish_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wav");
    write(&path, 48_000, 1, 16);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..44 + 48_000 * 3]).unwrap();
    let n = AudioReader::open(&path).unwrap().read_all().unwrap().len() as i64;
    assert!((n - 24_000).abs() < 1_600, "1.5 s of 2 s are there, up to a packet: {n}");

    std::fs::write(&path, b"RIFF but not really").unwrap();
    let e = AudioReader::open(&path).err().unwrap().to_string();
    assert!(e.contains("a.wav"), "{e}");
    assert!(AudioReader::open(&dir.path().join("none.wav")).is_err());
}
