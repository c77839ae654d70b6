#!/usr/bin/env python3
"""Speech with exactly known word times, for `make bench`: WAV files and word lists.

Synthesizers know when they say what. festival (voices slt and kal) and espeak-ng read sentences
of our own; each sentence becomes NAME.wav (16 kHz, mono) and NAME.tsv (start, end, word; seconds,
words as written). Five sets:

  fit    biases and prices are fitted on it (other sentences, other voice settings than the
         test sets); fit-noisy is the same with noise
  plain  everyday sentences
  cad    CAD terms, numbers, units, part names that no dictionary has
  noisy  the cad set with pink noise at 10 dB

An edge that the synthesizer does not tell is "nan".

Needs festival, festvox-us-slt-hts, festvox-kallpc16k, libespeak-ng1, numpy, scipy.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import wave
import zlib
from math import gcd

import numpy as np
from scipy.signal import resample_poly

RATE = 16000

PLAIN = """
The old barn stood alone beside the frozen river.
A child left seven apples on the kitchen table.
We walked along the harbor until the lights went out.
Bring the heavy box inside before the rain begins.
Her brother painted the garden fence bright yellow.
The train was late, so we shared a cup of tea.
Nobody noticed the small crack in the window.
Fresh bread and cheese were sold at every corner.
The judge measured each plank with great care.
He threw the rope across the deck, and she caught it.
Thin clouds drifted over the quiet valley at dusk.
The mayor gave a short speech about the new bridge.
Put both hands on the wheel and look straight ahead.
Their youngest daughter plays the drums on Thursdays.
A sharp knife makes the work quick and safe.
The museum closes early when it snows in March.
""".strip().split("\n")

CAD = """
Add a fillet of 2.5 mm to the top edge of the bracket.
Chamfer the outer rim by 45 degrees, then mirror it.
Extrude this sketch 12 mm along the normal direction.
Drill four M6 holes with a spacing of 37.5 mm.
Make the flange thicker, about 8 mm, and taper the boss.
The part costs $43,000 at 1984 prices.
Loft between the two profiles and shell it to 1.2 mm.
Move the grommet 15 cm left of the knurled spindle.
Revolve the zobrick profile through 270 degrees.
Copy the front axle subassembly 3 times at 60 mm.
Change the radius from 10 mm to 4.75 mm, please.
Shift the whole truss 0.5 inches toward the gusset.
Counterbore the quaxley plate to a depth of 6 mm.
Increase the draft angle of the pocket to 3 degrees.
Round all 16 corners and delete the spline underneath.
Remove the second dowel, the washer and the brimpod cap.
""".strip().split("\n")

FIT = """
Cut a slot 20 mm wide through the middle of the housing.
The boats came home at noon with empty nets.
Scale the handle by 150 percent and keep the thread.
She folded the letter twice and hid it under the lamp.
Join the pipe to the elbow with a 9 mm weld.
Every spring the farmer plants beans along the wall.
Offset the face inward by 0.8 mm, then thicken the rib.
My uncle bought a used truck from the dealer in town.
Rotate the gear 30 degrees about the vertical axis.
The cook added salt, pepper and a little vinegar.
Suppress the pattern feature and shorten the shaft.
Three tall ships sailed past the lighthouse at dawn.
""".strip().split("\n")


def festival(voice: str, sentences: list[str], out: list[str], stretch: float = 1.0) -> None:
    """Lets festival read sentences into out[i].wav and out[i].tsv."""
    scheme = [f"(voice_{voice})", f"(Parameter.set 'Duration_Stretch {stretch})"]
    with tempfile.TemporaryDirectory() as tmp:
        for i, s in enumerate(sentences):
            scheme.append(f"""
(set! u (utt.synth (Utterance Text "{s}")))
(utt.save.wave u "{tmp}/{i}.wav")
(set! fd (fopen "{tmp}/{i}.txt" "w"))
(mapcar (lambda (t) (if (item.daughters t) (begin (format fd "T\\n")
  (mapcar (lambda (w) (format fd "W %f %f\\n" (item.feat w 'word_start) (item.feat w 'word_end))) (item.daughters t)))))
  (utt.relation.items u 'Token))
(fclose fd)""")
        path = os.path.join(tmp, "all.scm")
        with open(path, "w") as f:
            f.write("\n".join(scheme))
        subprocess.run(["festival", "-b", path], check=True, stdout=subprocess.DEVNULL)
        for i, s in enumerate(sentences):
            tokens: list[list[tuple[float, float]]] = []
            for line in open(f"{tmp}/{i}.txt"):
                if line.startswith("T"):
                    tokens.append([])
                else:
                    a, b = line.split()[1:]
                    if float(b) > float(a):  # punctuation is a word without sound
                        tokens[-1].append((float(a), float(b)))
            words = s.split()
            if len(words) != len(tokens) or not all(tokens):
                sys.exit(f"festival made {len(tokens)} tokens of {len(words)} words: {s}")
            with wave.open(f"{tmp}/{i}.wav") as w:
                audio, rate = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2").astype(float), w.getframerate()
            write(out[i], audio, rate, [(t[0][0], t[-1][1], w) for t, w in zip(tokens, words)])


class Event(ctypes.Structure):
    """espeak_EVENT of speak_lib.h."""

    _fields_ = [("type", ctypes.c_int), ("unique", ctypes.c_uint), ("text_position", ctypes.c_int), ("length", ctypes.c_int),
                ("audio_position", ctypes.c_int), ("sample", ctypes.c_int), ("user", ctypes.c_void_p), ("name", ctypes.c_char * 8)]


def espeak(voice: str, rate_wpm: int, sentences: list[str], out: list[str]) -> None:
    """Lets espeak-ng read sentences into out[i].wav and out[i].tsv."""
    lib = ctypes.CDLL("libespeak-ng.so.1")
    rate = lib.espeak_Initialize(2, 500, None, 1)  # synchronous, with phoneme events
    lib.espeak_SetVoiceByName(voice.encode())
    lib.espeak_SetParameter(1, rate_wpm, 0)
    samples: list[int] = []
    events: list[tuple[int, int, int, bytes]] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event))
    def callback(wav, n, ev):
        if wav:
            samples.extend(wav[:n])
        i = 0
        while ev[i].type != 0:
            events.append((ev[i].type, ev[i].text_position, ev[i].sample, ev[i].name))
            i += 1
        return 0

    lib.espeak_SetSynthCallback(callback)
    for path, s in zip(out, sentences):
        samples.clear()
        events.clear()
        data = s.encode()
        lib.espeak_Synth(data, len(data) + 1, 0, 1, 0, 1, None, None)
        lib.espeak_Synchronize()
        starts, at = [], 0
        for w in s.split():
            at = s.index(w, at)
            starts.append(at + 1)
            at += len(w)
        # A phoneme event stands where the phoneme begins; "_" and its kin are pauses.
        word, spans, previous = None, {}, None
        for kind, position, sample, name in events:
            if kind == 1:
                word = max((i for i, p in enumerate(starts) if p <= position), default=0)
            elif kind == 7:
                if previous is not None:
                    spans.setdefault(previous, [sample, sample])[1] = sample
                    previous = None
                if word is not None and name and not name.startswith(b"_"):
                    spans.setdefault(word, [sample, sample])
                    previous = word
        # Short words that it says as one ("of the") have one time: the inner edges stay unknown.
        nan = float("nan")
        words = []
        for i, w in enumerate(s.split()):
            a, b = spans.get(i, (nan, nan))
            words.append((a / rate, nan if i + 1 < len(starts) and i + 1 not in spans else b / rate, w))
        write(path, np.array(samples, dtype=float), rate, words)


def write(path: str, audio: np.ndarray, rate: int, words: list[tuple[float, float, str]]) -> None:
    if rate != RATE:
        g = gcd(rate, RATE)
        audio = resample_poly(audio, RATE // g, rate // g)
    with wave.open(path + ".wav", "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(RATE)
        w.writeframes(np.clip(np.round(audio), -32768, 32767).astype("<i2").tobytes())
    with open(path + ".tsv", "w") as f:
        f.writelines(f"{a:.4f}\t{b:.4f}\t{w}\n" for a, b, w in words)


def add_noise(src: str, dst: str, snr_db: float) -> None:
    """Pink noise, the same in every run, at snr_db below the speech's mean power."""
    with wave.open(src + ".wav") as w:
        audio = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2").astype(float)
    rng = np.random.default_rng(zlib.crc32(os.path.basename(src).encode()))
    spectrum = np.fft.rfft(rng.standard_normal(len(audio)))
    noise = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), len(audio))
    noise *= np.sqrt(np.mean(audio**2) / np.mean(noise**2)) * 10 ** (-snr_db / 20)
    words = [(float(a), float(b), w) for a, b, w in (line.rstrip("\n").split("\t") for line in open(src + ".tsv"))]
    write(dst, (audio + noise) * 0.7, RATE, words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", help="folder to fill")
    out = parser.parse_args().out
    for name, sentences in [("fit", FIT), ("plain", PLAIN), ("cad", CAD)]:
        os.makedirs(os.path.join(out, name), exist_ok=True)
        paths = lambda voice: [os.path.join(out, name, f"{voice}-{i:02}") for i in range(len(sentences))]
        if name == "fit":
            festival("kal_diphone", sentences, paths("kal"), 1.15)
            espeak("en-gb", 155, sentences, paths("espeak"))
        else:
            festival("cmu_us_slt_arctic_hts", sentences, paths("slt"))
            festival("kal_diphone", sentences, paths("kal"))
            espeak("en-us", 165, sentences, paths("espeak"))
    for clean, noisy in [("fit", "fit-noisy"), ("cad", "noisy")]:
        os.makedirs(os.path.join(out, noisy), exist_ok=True)
        for f in sorted(os.listdir(os.path.join(out, clean))):
            if f.endswith(".wav"):
                add_noise(os.path.join(out, clean, f[:-4]), os.path.join(out, noisy, f[:-4]), 10)


if __name__ == "__main__":
    main()
