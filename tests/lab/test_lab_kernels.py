"""Kernels of packages and of files: versions, configurations, images and fetching, apt scripted."""

import gzip
import hashlib
import lzma
import random
import struct
from pathlib import Path

import pytest

from deadbeat.base.model.errors import DataError, TargetError, UsageError
from deadbeat.lab.apt import Lab
from deadbeat.lab.kernels import Kernel, disk_needed, fetch, fetched, preemption
from deadbeat.lab.offers import chosen, offers, version_key
from deadbeat.lab.vmlinux import boot_image
from deadbeat.machine.host.kernel import options_of
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.local import LocalTarget

MIRROR = "http://mirror.example/debian"
BANNER = "Linux version {} (builder@example) (gcc 12, ld 2.40) # SMP PREEMPT_DYNAMIC\n\0"
#: In the order of deb-version(7).
ORDER = (
    *("5.10.223-1", "6.1.172-1~deb11u1", "6.1.172-1", "6.12.9-1", "6.12.90-1~bpo12+1"),
    *("6.12.90-2~bpo12+1", "6.12.90-2", "7.3~rc7-1~exp1", "7.3-1", "7.3.4-1", "1:1.0-1"),
)


def elf(release: str, *, machine: int = 62, note: bytes = b"Xen\0") -> bytes:
    """The smallest file that is taken for a kernel: a header, a note, a banner."""
    text = BANNER.format(release).encode()
    content = struct.pack("<III", len(note), 8, 18) + note + bytes(8)
    segment = struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(content), len(content), 4)
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 2, machine, 1)
    header += struct.pack("<QQQIHHHHHH", 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return header + segment + content + text


def bzimage(inner: bytes, *, wide: bool = True) -> bytes:
    """An x86 image of one sector of set-up, around compressed data."""
    start = bytearray(1024)
    start[0x1F1] = 1
    start[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", start, 0x206, 0x20F)
    start[0x236] = int(wide)
    struct.pack_into("<II", start, 0x248, 16, len(inner))
    return bytes(start) + bytes(16) + inner


def read(tmp_path: Path, data: bytes):
    path = tmp_path / "vmlinuz"
    path.write_bytes(data)
    return boot_image(path, LocalTarget(folder=tmp_path))


# --- versions and configurations --------------------------------------------------------------


def test_versions_are_in_debians_order():
    mixed = list(ORDER)
    random.Random(1).shuffle(mixed)
    assert sorted(mixed, key=version_key) == list(ORDER)


@pytest.mark.parametrize(
    ("config", "version", "default", "choices"),
    [
        ("PREEMPT_VOLUNTARY", (5, 10), "voluntary", ()),
        ("PREEMPT_RT", (5, 10), "rt", ()),
        ("PREEMPT_VOLUNTARY PREEMPT_DYNAMIC", (6, 1), "voluntary", ("none", "voluntary", "full")),
        (
            "PREEMPT_LAZY PREEMPT_DYNAMIC ARCH_HAS_PREEMPT_LAZY",
            (6, 16),
            "lazy",
            ("none", "voluntary", "full", "lazy"),
        ),
        ("PREEMPT_LAZY PREEMPT_DYNAMIC ARCH_HAS_PREEMPT_LAZY", (7, 3), "lazy", ("full", "lazy")),
        (
            "PREEMPT PREEMPT_RT PREEMPT_DYNAMIC ARCH_HAS_PREEMPT_LAZY",
            (7, 3),
            "rt",
            ("full", "lazy"),
        ),
    ],
)
def test_models_follow_from_the_configuration(config, version, default, choices):
    found = preemption(dict.fromkeys(config.split(), "y"), version)
    assert (found.default, found.choices) == (default, choices)
    assert found.models == (("rt",) if default == "rt" else choices or (default,))


def test_without_a_configuration_the_banner_says_what_it_can():
    found = preemption({}, (6, 1), "... # SMP PREEMPT_DYNAMIC Debian")
    assert (found.default, found.choices) == ("", ("none", "voluntary", "full"))
    assert preemption({}, (5, 10), "#1 SMP PREEMPT_RT Debian").default == "rt"


# --- images -----------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_an_x86_image_is_unpacked(tmp_path, pack):
    inner = elf("6.1.0-9-amd64")
    found = read(tmp_path, bzimage(pack(inner) + struct.pack("<I", len(inner))))
    assert (found.machine, found.release, found.data) == ("x86_64", "6.1.0-9-amd64", inner)


def test_an_x86_kernel_without_the_note_is_booted_as_it_came(tmp_path):
    image = bzimage(gzip.compress(elf("6.1.0", note=b"GNU\0")))
    assert read(tmp_path, image).data == image


def zimage(packed: bytes) -> bytes:
    """32-bit Arm: a head, a table that says where compressed data end, text, the data."""
    text = b"\xfd7zXZ\0\0\0XZ decompressor ran out of memory"
    end = 0x4C + len(text) + len(packed)
    head = bytes(0x24) + struct.pack("<IIIIII", 0x016F2818, 0, 0, 0x04030201, 0x45454545, 0x40)
    return head + bytes(4) + struct.pack("<III", 6, 0x5A534C4B, end) + text + packed + bytes(4)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_an_image_of_32_bit_arm_is_booted_as_it_came(tmp_path, pack):
    image = zimage(pack(BANNER.format("6.12.9-armmp").encode()))
    found = read(tmp_path, image)
    assert (found.machine, found.release, found.data) == ("arm", "6.12.9-armmp", image)


@pytest.mark.parametrize(
    ("at", "magic", "machine"), [(56, b"ARM\x64", "aarch64"), (48, b"RISCV", "riscv64")]
)
def test_images_of_other_machines(tmp_path, at, magic, machine):
    image = bytearray(64)
    image[at : at + len(magic)] = magic
    plain = bytes(image) + BANNER.format("6.12.1").encode()
    zboot = b"MZ\0\0zimg" + struct.pack("<II", 32, len(gzip.compress(plain))) + bytes(16)
    for data in (plain, gzip.compress(plain), zboot + gzip.compress(plain)):
        found = read(tmp_path, data)
        assert (found.machine, found.release, found.data) == (machine, "6.12.1", plain)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is no Linux kernel that the lab can boot"),
        (b"\x7fELF" + bytes(99), "is no Linux kernel"),
        (elf("6.1.0", machine=40), "is no Linux kernel"),
        (bzimage(b"", wide=False), "32-bit x86"),
        (bzimage(b"\x89LZO..."), "(lzo)"),
        (zimage(b""), "is a zImage that the lab cannot read"),
        (bzimage(b"\x1f\x8bnonsense"), "is a damaged kernel"),
        (b"MZ\0\0zimg" + struct.pack("<II", 32, 1 << 30), "it ends early"),
    ],
)
def test_a_wrong_file_is_refused_in_a_line(tmp_path, data, words):
    with pytest.raises(DataError) as caught:
        read(tmp_path, data)
    assert words in caught.value.message


def test_a_file_of_the_users_own(tmp_path):
    config = gzip.compress(b"CONFIG_PREEMPT_RT=y\nCONFIG_HZ=1000\n")
    path = tmp_path / "vmlinux"
    path.write_bytes(elf("6.6.0-bsp") + b"IKCFG_ST" + config)
    kernel = Kernel.of_file(path, folder=tmp_path)
    assert (kernel.label, kernel.machine, kernel.preemption.default) == (
        "6.6.0-bsp",
        "x86_64",
        "rt",
    )
    assert options_of(kernel.config.read_text())["HZ"] == "1000"
    assert str(tmp_path) not in str(kernel.facts)


# --- packages ---------------------------------------------------------------------------------


def package(name: str, version: str, suite: str, size: int = 2 << 20) -> tuple[str, str]:
    """What ``apt-cache show`` and ``madison`` say of it."""
    deb = f"pool/{name}_{version}_amd64.deb"
    show = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nFilename: {deb}\n"
    show += f"Size: {size}\nSHA256: {hashlib.sha256(deb.encode()).hexdigest()}\n"
    return show, f" {name} | {version} | {MIRROR} {suite}/main amd64 Packages\n"


PACKAGES = {
    name: package(name, *rest)
    for name, *rest in (
        ("linux-image-6.12-amd64", "6.12.117-1", "trixie", 1500),
        ("linux-image-6.12.90+deb13-amd64", "6.12.90-1", "trixie"),
        ("linux-image-6.12.117+deb13-amd64", "6.12.117-1", "trixie"),
        ("linux-image-6.12.117+deb13-amd64-dbg", "6.12.117-1", "trixie"),
        ("linux-image-6.12.117+deb13-rt-amd64", "6.12.117-1", "trixie"),
        ("linux-image-7.3.4+deb13-amd64", "7.3.4-1~bpo13+1", "trixie-backports", 1800),
        ("linux-binary-7.3.4+deb13-amd64", "7.3.4-1~bpo13+1", "trixie-backports"),
        ("linux-base-7.3.4+deb13-amd64", "7.3.4-1~bpo13+1", "trixie-backports", 400),
    )
}


class Mirror:
    """A machine whose apt has these packages, of which some cannot be fetched."""

    def __init__(self, folder: Path, *, gone: tuple[str, ...] = ()) -> None:
        self.gone, self.online = gone, True
        self.target = FakeTarget(commands={"env": self.env, "sh": self.sh})
        self.folder, self.etc = folder / "lab", folder / "etc"
        (self.etc / "sources.list.d").mkdir(parents=True)
        (self.etc / "sources.list").write_text(f"deb {MIRROR} trixie main\n")
        self.folder.mkdir()
        self.fetched: list[str] = []

    @property
    def lab(self) -> Lab:
        return Lab(target=self.target, folder=self.folder, etc=self.etc)

    def done(self, stdout: str = "", stderr: str = "") -> Completed:
        return Completed(argv=(), returncode=100 if stderr else 0, stdout=stdout, stderr=stderr)

    def env(self, argv: tuple[str, ...]) -> Completed:
        names = [name for name in PACKAGES if name in argv]
        if not self.online:
            return self.done(stderr=f"E: Failed to fetch {MIRROR}/x  Could not resolve\n")
        if "pkgnames" in argv:
            return self.done("\n".join(name for name in PACKAGES if name.startswith(argv[-1])))
        if "show" in argv:
            return self.done("\n".join(PACKAGES[name][0] for name in names))
        if "madison" in argv:
            return self.done("".join(PACKAGES[name][1] for name in names))
        if "download-file" in argv:
            name = Path(argv[-2]).name.partition("_")[0]
            assert argv[-3].startswith(f"{MIRROR}/pool/{name}")
            if name in self.gone:
                return self.done(stderr=f"E: Failed to fetch {MIRROR}/{name}  404  Not Found\n")
            Path(argv[-2]).write_text(name)
            self.fetched.append(name)
        return self.done()

    def sh(self, argv: tuple[str, ...]) -> Completed:
        deb, root, *patterns = argv[3:]
        release = Path(deb).name.partition("_")[0].split("-", 2)[2]
        if any("config" in each for each in patterns):
            Path(root, "config").write_text("CONFIG_PREEMPT_VOLUNTARY=y\n")
        if any("vmlinu" in each for each in patterns):
            Path(root, "vmlinuz").write_bytes(elf(release))
        return self.done()


def test_kernels_of_whole_and_of_split_packages_are_offered(tmp_path):
    mirror = Mirror(tmp_path)
    found = offers("x86_64", now=1e9, lab=mirror.lab).kernels
    assert [(each.name, each.label, len(each.packages)) for each in found] == [
        ("6.12.90+deb13-amd64", "6.12-amd64", 1),
        ("6.12.117+deb13-amd64", "6.12-amd64", 1),
        ("6.12.117+deb13-rt-amd64", "6.12-rt-amd64", 1),
        ("7.3.4+deb13-amd64", "7.3-amd64", 2),
    ]
    mirror.online = False
    again = offers("x86_64", now=1e9 + 1e6, lab=mirror.lab)
    assert again.kernels == found
    assert not any(MIRROR.split("/")[2] in str(each) for each in again.kernels)


def test_without_network_and_without_an_answer_it_says_so(tmp_path):
    mirror = Mirror(tmp_path)
    mirror.online = False
    with pytest.raises(TargetError, match=r"no kernel for x86_64 .*Could not resolve"):
        offers("x86_64", lab=mirror.lab)


def test_words_that_mean_kernels(tmp_path):
    known = offers("x86_64", lab=Mirror(tmp_path).lab).kernels
    names = [[each.name for each in one] for one in chosen("6.12-amd64", known)]
    assert names == [["6.12.117+deb13-amd64", "6.12.90+deb13-amd64"]]
    assert [len(one) for one in chosen("all", known)] == [1, 1, 1, 1]
    assert chosen("6.12.90+deb13-amd64", known) == ((known[0],),)
    with pytest.raises(UsageError, match=r"6\.12-arm64"):
        chosen("6.12-arm64", known)


def test_one_that_cannot_be_had_is_stood_in_for_and_does_not_stop_the_rest(tmp_path):
    mirror = Mirror(tmp_path, gone=("linux-image-6.12.117+deb13-amd64",))
    known = offers("x86_64", lab=mirror.lab).kernels
    wanted = [one for word in ("6.12-amd64", "7.3-amd64") for one in chosen(word, known)]
    assert disk_needed(wanted, folder=mirror.folder)[0] == (4 << 20) + 400
    steps = []
    got = fetch(wanted, report=lambda *step: steps.append(step), lab=mirror.lab)
    assert [each.name for each in got.kernels] == ["6.12.90+deb13-amd64", "7.3.4+deb13-amd64"]
    assert got.refused == {
        "6.12.117+deb13-amd64": "linux-image-6.12.117+deb13-amd64 cannot be fetched:"
        " Failed to fetch debian/linux-image-6.12.117+deb13-amd64 404 Not Found"
    }
    assert steps[-1] == (1.0, "7.3.4+deb13-amd64, 2 of 2, 4.19 MB of 4.19 MB")
    assert fetched(folder=mirror.folder) == got.kernels
    assert got.kernels[0].preemption.default == "voluntary"
    assert list((mirror.folder / "packages").iterdir()) == []
    before = list(mirror.fetched)
    assert fetch(wanted[1:], lab=mirror.lab).kernels == got.kernels[1:]
    assert mirror.fetched == before


def test_a_folder_that_is_not_whole_is_fetched_again(tmp_path):
    mirror = Mirror(tmp_path)
    wanted = chosen("6.12-rt-amd64", offers("x86_64", lab=mirror.lab).kernels)
    (kernel,) = fetch(wanted, lab=mirror.lab).kernels
    kernel.image.unlink()
    assert fetched(folder=mirror.folder) == ()
    assert fetch(wanted, lab=mirror.lab).kernels == (kernel,)
    assert len(mirror.fetched) == 2
