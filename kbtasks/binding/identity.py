"""What tells a folder or file on disk from another one at the same path."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping

_FS_IOC_GETVERSION = 0x80087601


def generation(path: str) -> int | None:
    """The inode's generation: a file system that gives a freed inode number to a new folder changes it.

    Linux ext4, xfs, btrfs and others know it (FS_IOC_GETVERSION); None elsewhere.
    """
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        answer = bytearray(8)
        fcntl.ioctl(handle, _FS_IOC_GETVERSION, answer)
        return int.from_bytes(answer[:4], "little")
    except (OSError, ValueError):
        return None
    finally:
        os.close(handle)


def filesystem(path: str) -> str | None:
    """The file system's own identifier (statvfs, in hex), which on most outlives a remount; None where it has none."""
    try:
        number = int(os.statvfs(path).f_fsid)
    except (OSError, AttributeError):
        return None
    return f"{number:x}" if number else None


def folder_identity(path: str, found: os.stat_result) -> dict[str, int | str | None]:
    """Device, inode, file system and generation of the folder ``path``; found: its lstat."""
    return {
        "device": found.st_dev,
        "inode": found.st_ino,
        "filesystem": filesystem(path),
        "generation": generation(path),
    }


def same_folder(pinned: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Whether both describe one folder: same inode and generation, on the same device or the same file system.

    A device number may change with a reboot or remount; the file system's identifier then still names the disk.
    """
    if pinned["inode"] != now["inode"]:
        return False
    if pinned["device"] != now["device"] and not (pinned["filesystem"] and pinned["filesystem"] == now["filesystem"]):
        return False
    return pinned["generation"] is None or now["generation"] is None or pinned["generation"] == now["generation"]


def stamp(found: os.stat_result) -> str:
    """Everything in a file's stat that a change of its bytes, rights or place would alter."""
    return (
        f"{found.st_dev}.{found.st_ino}.{found.st_mode}.{found.st_uid}.{found.st_gid}.{found.st_nlink}."
        f"{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}"
    )


def settled(found: os.stat_result, now: float) -> bool:
    """Whether the file is old enough for its stat to be trusted as unchanged (Git's racy rule, two seconds)."""
    return max(found.st_mtime, found.st_ctime) < now - 2.0
