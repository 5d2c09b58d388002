"""Run files as an attacker or a bad disk would make them, the same for the same seed."""

import json
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np

HUGE = 1_200_000_000
NUMBERS = (
    "time", "q", "v", "u", "tip_position", "tip_rotation", "reference_attitude", "kinetic",
    "elastic", "gravitational", "work_inputs", "work_wrenches", "work_prescribed", "dissipated",
)  # fmt: skip
TEXTS = ("status", "reason", "method", "why", "model_file")
FIGURES = ("rtol", "cpu_seconds", "steps", "rejections", "evaluations", "flexarm_run")
Damage = Callable[[h5py.File, str, random.Random, Path], None]


@dataclass(frozen=True)
class Kind:
    """A kind of hostile file.

    Attributes
    ----------
    name
        What is done to what.
    make
        Does it to a copy of a good run, given a pipe that nobody writes to: whoever opens it waits.
    refused
        Whether the file must be refused; else it may be read.
    """

    name: str
    make: Callable[[Path, random.Random, Path], None]
    refused: bool


def kinds() -> list[Kind]:
    """List all kinds."""
    return [*_of_variables(), *_of_words(), *_of_attributes(), *_of_kept_files(), *_of_bytes()]


def write_hostile(seed: int, good: Path, path: Path, pipe: Path) -> Kind:
    """Write the hostile file of a seed: kinds in turn, each time another variant."""
    every = kinds()
    kind = every[seed % len(every)]
    shutil.copyfile(good, path)
    kind.make(path, random.Random(seed), pipe)
    return kind


def _inside(change: Damage, target: str) -> Callable[[Path, random.Random, Path], None]:
    def make(path: Path, rng: random.Random, pipe: Path) -> None:
        with h5py.File(path, "a") as file:
            change(file, target, rng, pipe)
            if rng.random() < 0.8:  # checksums keep nobody from changing them too
                file.attrs.pop("checksums", None)

    return make


def _put(file: h5py.File, name: str, values: Any, **how: Any) -> None:
    """Put other values in the place of a variable."""
    del file[name]
    file.create_dataset(name, data=values, **how)


def _of_variables() -> Iterator[Kind]:
    for name in NUMBERS:
        for what, (change, refused) in NUMBER_DAMAGES.items():
            yield Kind(f"{name}: {what}", _inside(change, name), refused)
    for what, change in TIME_DAMAGES.items():
        yield Kind(f"time: {what}", _inside(change, "time"), True)
    for name in ("reference_attitude", "tip_rotation"):
        for what in ("not square", "reflected", "of tiny rows", "of huge rows"):
            yield Kind(f"{name}: {what}", _inside(_rebase(what), name), True)


def _shape(change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        _put(file, name, np.zeros(change(file[name].shape)))

    return apply


def _value(*values: float) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        found = np.array(file[name][...])
        found.flat[rng.randrange(found.size)] = rng.choice(values)
        file[name][...] = found

    return apply


def _kind(dtype: Any) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        shape = file[name].shape
        del file[name]
        file.create_dataset(name, shape, dtype=dtype)

    return apply


def _converted(dtype: str) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        _put(file, name, file[name][...].astype(dtype))

    return apply


def _huge(*, chunks: bool) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        shape = (HUGE, *file[name].shape[1:])
        del file[name]
        chunk = (1000, *shape[1:]) if chunks else None
        file.create_dataset(name, shape, dtype="f8", chunks=chunk)

    return apply


def _bomb(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    shape = (4_000_000 // int(np.prod(file[name].shape[1:])), *file[name].shape[1:])
    chunk = (shape[0], *shape[1:])
    del file[name]
    made = file.create_dataset(
        name, (40 * shape[0], *shape[1:]), dtype="f8", chunks=chunk, compression="gzip"
    )
    made[: shape[0]] = 0.0


def _wide_chunk(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    values = file[name][...]
    chunk = (100_000_000 // int(np.prod(values.shape[1:])), *values.shape[1:])
    del file[name]
    made = file.create_dataset(
        name, values.shape, dtype="f8", chunks=chunk, maxshape=(None, *values.shape[1:])
    )
    assert made.chunks == chunk


def _compressed(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    _put(file, name, file[name][...], compression="gzip", shuffle=True, fletcher32=True)


def _other_filter(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    _put(file, name, file[name][...], compression="lzf")


def _external_data(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    shape = file[name].shape
    del file[name]
    file.create_dataset(name, shape, dtype="f8", external=[(str(pipe), 0, h5py.h5f.UNLIMITED)])


def _virtual(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    shape = file[name].shape
    layout = h5py.VirtualLayout(shape, "f8")
    layout[...] = h5py.VirtualSource(str(pipe), "x", shape)
    del file[name]
    file.create_virtual_dataset(name, layout, fillvalue=0.0)


def _linked(make: Callable[[Path], Any]) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        file.move(name, f"{name}_moved")
        file[name] = make(pipe)

    return apply


def _missing(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    del file[name]


def _group(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    del file[name]
    file.create_group(name)


def _null(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    del file[name]
    file[name] = h5py.Empty("f8")


def _unwritten(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    shape = file[name].shape
    del file[name]
    file.create_dataset(name, shape, dtype="f8", fillvalue=0.5)


ENUM = h5py.enum_dtype({"a": 0, "b": 1}, basetype="i4")
COMPOUND = np.dtype([("a", "f8"), ("b", "i4")])
NUMBER_DAMAGES: dict[str, tuple[Damage, bool]] = {
    "missing": (_missing, True),
    "group": (_group, True),
    "null": (_null, True),
    "never written": (_unwritten, True),
    "no samples": (_shape(lambda s: (0, *s[1:])), True),
    "a sample less": (_shape(lambda s: (s[0] - 1, *s[1:])), True),
    "a sample more": (_shape(lambda s: (s[0] + 1, *s[1:])), True),
    "an axis more": (_shape(lambda s: (*s, 1)), True),
    "an axis in front": (_shape(lambda s: (1, *s)), True),
    "scalar": (_shape(lambda s: ()), True),
    "thirty axes": (_shape(lambda s: (1,) * 30), True),
    "not a number": (_value(np.nan), True),
    "beyond any motion": (_value(1e160), True),
    "infinite": (_value(np.inf, -np.inf), True),
    "enormous": (_value(1.7e308, -1e308, 1e200), False),
    "subnormal": (_value(5e-324, -0.0), False),
    "half precision": (_converted("f2"), True),
    "single precision": (_converted("<f4"), False),
    "other byte order": (_converted(">f8"), False),
    "integers": (_converted("i8"), True),
    "truth values": (_converted("?"), True),
    "complex": (_converted("c16"), True),
    "words": (_kind(h5py.string_dtype()), True),
    "fixed words": (_kind("S9"), True),
    "enumeration": (_kind(ENUM), True),
    "records": (_kind(COMPOUND), True),
    "references": (_kind(h5py.ref_dtype), True),
    "regions": (_kind(h5py.regionref_dtype), True),
    "lists": (_kind(h5py.vlen_dtype(np.dtype("f8"))), True),
    "opaque": (_kind(h5py.opaque_dtype(np.dtype("V12"))), True),
    "rows of arrays": (_kind(np.dtype(("f8", (1000,)))), True),
    "huge": (_huge(chunks=False), True),
    "huge in chunks": (_huge(chunks=True), True),
    "bomb": (_bomb, True),
    "wide chunk": (_wide_chunk, True),
    "compressed": (_compressed, False),
    "other filter": (_other_filter, True),
    "data in another file": (_external_data, True),
    "made of another file": (_virtual, True),
    "link to another file": (_linked(lambda pipe: h5py.ExternalLink(str(pipe), "/x")), True),
    "link": (_linked(lambda pipe: h5py.SoftLink("/q")), True),
    "dangling link": (_linked(lambda pipe: h5py.SoftLink("/nowhere")), True),
}


def _times(change: Callable[[Any, random.Random], None]) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        t = np.array(file[name][...])
        change(t, rng)
        file[name][...] = t

    return apply


def _repeat(t: Any, rng: random.Random) -> None:
    k = rng.randrange(1, len(t))
    t[k] = t[k - 1]


def _descend(t: Any, rng: random.Random) -> None:
    t[:] = t[::-1].copy()


def _swap(t: Any, rng: random.Random) -> None:
    k = rng.randrange(1, len(t))
    t[[k - 1, k]] = t[[k, k - 1]]


TIME_DAMAGES = {
    "repeated": _times(_repeat),
    "descending": _times(_descend),
    "out of order": _times(_swap),
}


def _rebase(what: str) -> Damage:
    factor = {"not square": 1.1, "reflected": -1.0, "of tiny rows": 1e-200, "of huge rows": 1e200}

    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        file[name][...] = factor[what] * file[name][...]

    return apply


def _words(change: Callable[[list[str]], list[str]]) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        words = [word.decode() for word in file[name][...]]
        _put(file, name, np.array(change(words), dtype=object), dtype=h5py.string_dtype())

    return apply


def _of_words() -> Iterator[Kind]:
    damages: dict[str, Damage] = {
        "reversed": _words(lambda words: words[::-1]),
        "renamed": _words(lambda words: ["x", *words[1:]]),
        "one more": _words(lambda words: [*words, "x"]),
        "none": _words(lambda words: []),
        "long": _words(lambda words: ["x" * 10_000_000, *words[1:]]),
        "longer than all else": _words(lambda words: ["x" * 100_000_000, *words[1:]]),
        "numbers": _kind("f8"),
        "missing": _missing,
        "link to another file": _linked(lambda pipe: h5py.ExternalLink(str(pipe), "/x")),
        "never written": _kind(h5py.string_dtype()),
        "made of another file": _virtual,
    }
    for what, change in damages.items():
        yield Kind(f"coordinate: {what}", _inside(change, "coordinate"), True)


def _attribute(value: Any, **how: Any) -> Damage:
    def apply(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        file.attrs.create(name, value() if callable(value) else value, **how)

    return apply


def _gone(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    del file.attrs[name]


def _own_reference(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
    file.attrs.create(name, file["q"].ref, dtype=h5py.ref_dtype)


def _of_attributes() -> Iterator[Kind]:
    common: dict[str, Damage] = {
        "missing": _gone,
        "null": _attribute(lambda: h5py.Empty("S3")),
        "reference": _own_reference,
        "record": _attribute(np.zeros((), COMPOUND)),
        "truth value": _attribute(True),
        "complex": _attribute(1j),
        "enumeration": _attribute(1, dtype=ENUM),
        "list of words": _attribute(["a", "b"]),
    }
    text = common | {
        "number": _attribute(3.5),
        "huge": _attribute("x" * 30_000_000),
        "many": _attribute(["x" * 100] * 300),
        "not text": _attribute(np.bytes_(b"\xff\xfe\x00\x80")),
    }
    figure = common | {
        "words": _attribute("many"),
        "not a number": _attribute(np.nan),
        "negative": _attribute(-1),
        "infinite": _attribute(np.inf),
        "list": _attribute([1, 2, 3]),
        "none": _attribute(np.zeros(0)),
        "other version": _attribute(1.5),
    }
    for name in TEXTS:
        for what, change in text.items():
            yield Kind(f"{name}: {what}", _inside(change, name), True)
    for name in FIGURES:
        for what, change in figure.items():
            sound = {"enumeration"} | (
                {"other version"} if name in ("rtol", "cpu_seconds") else set()
            )
            yield Kind(f"{name}: {what}", _inside(change, name), what not in sound)
    for what, value in CHECKSUM_DAMAGES.items():
        yield Kind(f"checksums: {what}", _kept(_attribute(value)), True)
    yield Kind("status: unknown", _inside(_attribute("lost"), "status"), True)
    for what, model_text in MODEL_FILES.items():
        change = _attribute(model_text)
        yield Kind(f"model_file: {what}", _inside(change, "model_file"), True)


def _kept(change: Damage) -> Callable[[Path, random.Random, Path], None]:
    """Change the checksums alone."""

    def make(path: Path, rng: random.Random, pipe: Path) -> None:
        with h5py.File(path, "a") as file:
            change(file, "checksums", rng, pipe)

    return make


def _states(of: str, names: list[str]) -> str:
    return json.dumps({"variables": {}, "attributes": {}} | {of: dict.fromkeys(names, "0" * 64)})


CHECKSUM_DAMAGES: dict[str, Any] = {
    "none": "",
    "number": 3,
    "list": "[]",
    "of nothing": "{}",
    "deep": "[" * 500_000,
    "words": '{"variables": "q", "attributes": "rtol"}',
    "others": _states("variables", ["q"]),
    "of what is missing": _states("variables", ["nothing"]),
    "of no names": _states("variables", ["", "/", ".", "..", "/q"]),
    "of missing attributes": _states("attributes", ["nothing"]),
    "of every attribute": _states("attributes", ["_NCProperties", "coordinates", "checksums"]),
}
LINK = "{joint: {kind: revolute}, length: 1, section: {mass_per_length: 1, EIz: 9}%s}"
MODEL = f"flexarm: 1\nname: x\nlinks: [{LINK}]\n"
MODEL_FILES = {
    "empty": "",
    "words": "no model",
    "unfinished": "flexarm: 1\nlinks: [",
    "deep": "[" * 5000,
    "another arm": MODEL % ", shapes: {kind: loaded, bending_y: 2}",
    "modes by the hundred": MODEL % ", shapes: {kind: clamped-free, bending_y: 200}",
    "a table of this machine": MODEL % ", shapes: {kind: table, file: /etc/hostname}",
    "a device": MODEL % ", shapes: {kind: table, file: /dev/zero}",
    "a table beside": MODEL.replace("revolute", "revolute, input: {kind: csv, file: torque.csv}")
    % "",
    "a thousand links": "flexarm: 1\nname: x\nlinks:\n" + "- {joint: {kind: fixed}}\n" * 1001,
}


def _of_kept_files() -> Iterator[Kind]:
    name = "model_file_1"

    def renamed(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        file[name].attrs["long_name"] = rng.choice([str(pipe), "../x", "/etc/passwd", "x\ny", ""])

    def unnamed(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        del file[name].attrs["long_name"]

    def twice(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        file["model_file_2"] = file[name]

    def huge(file: h5py.File, name: str, rng: random.Random, pipe: Path) -> None:
        kept = dict(file[name].attrs)
        del file[name]
        made = file.create_dataset(name, (HUGE,), dtype="u1", chunks=(100_000,))
        made.attrs["long_name"] = kept["long_name"]

    damages: dict[str, Damage] = {
        "renamed": renamed,
        "unnamed": unnamed,
        "twice": twice,
        "huge": huge,
        "missing": _missing,
        "numbers": _converted("f8"),
        "link to another file": _linked(lambda pipe: h5py.ExternalLink(str(pipe), "/x")),
        "data in another file": _external_data,
        "empty": _shape(lambda s: (0,)),
    }
    for what, change in damages.items():
        yield Kind(f"{name}: {what}", _inside(change, name), True)


def _of_bytes() -> Iterator[Kind]:
    def cut(data: bytearray, rng: random.Random) -> None:
        del data[rng.randrange(len(data)) :]

    def flipped(data: bytearray, rng: random.Random) -> None:
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)

    def early(data: bytearray, rng: random.Random) -> None:
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(2000)] = rng.randrange(256)

    def blank(data: bytearray, rng: random.Random) -> None:
        at = rng.randrange(len(data))
        data[at : at + 500] = bytes(len(data[at : at + 500]))

    def longest(data: bytearray, rng: random.Random) -> None:
        at = rng.randrange(0, len(data) - 8)
        data[at : at + 8] = b"\xff" * 7 + b"\x7f"

    def shifted(data: bytearray, rng: random.Random) -> None:
        data[:0] = bytes(rng.choice([1, 512, 513]))

    def endless(data: bytearray, rng: random.Random) -> None:
        at = data.find(b"GCOL") + 16  # where HDF5 keeps texts: free space of no size
        data[at : at + 16] = bytes(16)

    def overlapping(data: bytearray, rng: random.Random) -> None:
        count = 10_000  # collections of texts that all go on in the same objects
        for k in range(count, 0, -1):
            data += b"GCOL\x01\0\0\0" + struct.pack("<QHHIQ", 1 << 40, 1, 0, 0, 32 * (k - 1))
        data += struct.pack("<HHIQ", 1, 0, 0, 0) * count

    def noise(data: bytearray, rng: random.Random) -> None:
        data[8:] = rng.randbytes(2000)

    def grown(data: bytearray, rng: random.Random) -> None:
        data += rng.randbytes(1000)

    changes = {
        "cut": cut, "flipped": flipped, "early": early, "blank": blank, "longest": longest,
        "shifted": shifted, "endless": endless, "overlapping": overlapping, "noise": noise,
        "grown": grown,
    }  # fmt: skip
    for what, change in changes.items():
        yield Kind(f"bytes: {what}", _bytes(change), what in ("noise", "endless", "overlapping"))


def _bytes(
    change: Callable[[bytearray, random.Random], None],
) -> Callable[[Path, random.Random, Path], None]:
    def make(path: Path, rng: random.Random, pipe: Path) -> None:
        data = bytearray(path.read_bytes())
        change(data, rng)
        path.write_bytes(data)

    return make
