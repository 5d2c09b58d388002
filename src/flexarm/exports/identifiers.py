"""Conversion of an arm's name to a C identifier, which also names the arm's files."""

import re

from flexarm.exports.constants import IDENTIFIER_LENGTH

# Keywords of C up to C23, of C++ (which includes the header) and of GNU C.
KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while
    alignas alignof bool constexpr false nullptr static_assert thread_local true typeof
    typeof_unqual
    and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl
    concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend
    mutable namespace new noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires static_cast template this throw try typeid typename using virtual
    wchar_t xor xor_eq
    asm
"""
# Words that compilers or system headers define as macros.
MACROS = """
    cdecl complex far hpux i386 imaginary interface linux m68k math_errhandling mips near noreturn
    pascal sparc stderr stdin stdout sun unix vax
"""
# Headers of C, which a file of the same name would hide, and devices of Windows.
FILES = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
    stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string
    tgmath threads time uchar wchar wctype
    aux con nul prn com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5
    lpt6 lpt7 lpt8 lpt9
"""
OWN = "equations example unit fmi2 fmi3 kernel"  # other files, and printed kernels' prefix
CASADI = "null jac hess"  # names that no function of CasADi may have
TAKEN = frozenset(" ".join((KEYWORDS, MACROS, FILES, OWN, CASADI)).split())


def identifier(name: str) -> str:
    """Return an arm's name as a C identifier that is no keyword, macro, header or device name."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", name).lower()[:IDENTIFIER_LENGTH].strip("_")
    word = word if word[:1].isalpha() else f"arm_{word}".strip("_")
    return f"{word}_arm" if word in TAKEN else word
