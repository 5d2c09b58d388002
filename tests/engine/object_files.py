"""The names that an object file leaves undefined, read from its symbol table."""

import struct

MACHO_NO_SECTION = 0
COFF_EXTERNAL = 2


def undefined_symbols(code: bytes) -> set[str]:
    """List the symbols that an ELF, COFF or Mach-O file of a 64-bit machine expects to find."""
    if code[:4] == b"\x7fELF":
        return _elf(code)
    if code[:4] == b"\xcf\xfa\xed\xfe":
        return _macho(code)
    return _coff(code)


def _text(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()


def _elf(code: bytes) -> set[str]:
    table, count, size = (
        struct.unpack_from("<Q", code, 40)[0],
        struct.unpack_from("<H", code, 60)[0],
        struct.unpack_from("<H", code, 58)[0],
    )
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    found = set()
    for section in sections:
        if section[1] == 2:  # SHT_SYMTAB
            names = sections[section[6]][4]
            for start in range(section[4], section[4] + section[5], 24):
                name, _, _, where, _, _ = struct.unpack_from("<IBBHQQ", code, start)
                if where == 0 and name:
                    found.add(_text(code, names + name))
    return found


def _coff(code: bytes) -> set[str]:
    start, count = struct.unpack_from("<II", code, 8)
    names = start + 18 * count
    found = set()
    k = 0
    while k < count:
        short, _, section, _, storage, extra = struct.unpack_from("<8sIhHBB", code, start + 18 * k)
        if section == 0 and storage == COFF_EXTERNAL:
            zeros, offset = struct.unpack("<II", short)
            found.add(short.rstrip(b"\0").decode() if zeros else _text(code, names + offset))
        k += 1 + extra
    return found


def _macho(code: bytes) -> set[str]:
    commands = struct.unpack_from("<I", code, 16)[0]
    found = set()
    place = 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", code, place)
        if kind == 2:  # LC_SYMTAB
            table, count, names, _ = struct.unpack_from("<IIII", code, place + 8)
            for k in range(count):
                name, flags, section, _, _ = struct.unpack_from("<IBBHQ", code, table + 16 * k)
                if flags & 0x0E == 0 and section == MACHO_NO_SECTION:
                    found.add(_text(code, names + name).removeprefix("_"))
        place += size
    return found
