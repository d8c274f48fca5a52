"""Read tar headers strictly: ``tarfile`` treats a damaged one as the end and trusts any size in it."""

import tarfile
from typing import Self

MAX_EXTENSION = 4 << 10
"""Largest size of a long name or extended header; older Python versions parse them in quadratic time."""

_PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_GNU = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class TarHeader(tarfile.TarInfo):
    """The header of a member; anything else but the block of zeros that ends an archive is an error."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Parse 512 bytes; a negative size would move backwards in the archive."""
        info = super().frombuf(buf, encoding, errors)
        if info.size < 0 or (info.type in _PAX + _GNU and info.size > MAX_EXTENSION):
            raise tarfile.ReadError(f"a header declares {info.size} bytes")
        return info

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        """Read the next header."""
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"it is truncated or a header is damaged: {error}") from None
