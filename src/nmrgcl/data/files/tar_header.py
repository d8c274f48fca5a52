"""Headers of a tar, read strictly: ``tarfile`` takes a damaged one for the end, and an absurd one for an order."""

import tarfile
from typing import Self

MAX_EXTENSION = 4 << 10
"""Bytes of one long name or list of attributes; older versions of Python search them in quadratic time."""

_PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_GNU = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class TarHeader(tarfile.TarInfo):
    """A member; whatever is not one, and not the block of zeros that ends an archive, is an error."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The header in these 512 bytes; sizes below zero would lead back."""
        info = super().frombuf(buf, encoding, errors)
        if info.size < 0 or (info.type in _PAX + _GNU and info.size > MAX_EXTENSION):
            raise tarfile.ReadError(f"a header says {info.size} bytes")
        return info

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        """The next header of the archive."""
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"its end is missing or a header damaged: {error}") from None
