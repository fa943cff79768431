"""Makes the animations and the pictures with colour profiles of this folder, and what an independent implementation says of them.

    pip install --requirement Experiments/Benchmarks/requirements-images.txt
    python Tests/HalcyonTests/Processing/Fixtures/make_animations.py

`animations/` has the files, and `frames.txt` a line for each frame: the file, the frame's number, its duration in milliseconds, and
the SHA-256 of its pixels as RGBA, 0 where alpha is 0. GIF and WebP are Pillow's own frames. Pillow blends half-transparent frames of APNG
without regard to the alpha behind them, so that APNG's frames are worked out here by the definition (PNG, section 13.16) in whole numbers,
and compared with Pillow's where every alpha is 0 or 255. `profiles/` has pictures in other colour spaces; the `.pam` beside each is
what Pillow's ImageCms (lcms 2) makes of it in sRGB.
"""

import hashlib
import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageCms

from make import chunk, picture, saved

HERE = pathlib.Path(__file__).parent
ANIMATIONS, PROFILES = HERE / "animations", HERE / "profiles"
lines = []


def digest(pixels):
    pixels = np.array(pixels, dtype=np.uint8)
    pixels[pixels[:, :, 3] == 0] = 0
    return hashlib.sha256(pixels.tobytes()).hexdigest()


def note(name, frames, durations, loops):
    lines.append(f"{name} plays {loops}")
    for index, (frame, duration) in enumerate(zip(frames, durations)):
        lines.append(f"{name} {index} {duration} {digest(frame)}")


def pillow_frames(data):
    image = Image.open(io.BytesIO(data))
    frames, durations = [], []
    for index in range(image.n_frames):
        image.seek(index)
        image.load()
        frames.append(np.asarray(image.convert("RGBA")))
        durations.append(image.info["duration"])
    return frames, durations, image.info.get("loop")


# --- GIF, written by hand: rectangles, every disposal, local palettes, an interlaced frame


def lzw(indices, bits=8):
    """Codes of one length, with a clear code before the table grows: valid, if not small."""
    clear, out, value, count = 1 << bits, bytearray(), 0, 0
    codes = []
    for at, index in enumerate(indices):
        if at % 250 == 0:
            codes.append(clear)
        codes.append(int(index))
    codes.append(clear + 1)
    for code in codes:
        value |= code << count
        count += bits + 1
        while count >= 8:
            out.append(value & 255)
            value >>= 8
            count -= 8
    if count:
        out.append(value & 255)
    blocks = b"".join(bytes([len(out[i : i + 255])]) + out[i : i + 255] for i in range(0, len(out), 255))
    return bytes([bits]) + blocks + b"\0"


def gif(size, frames, loops):
    """frames: (x, y, indices, palette or None, disposal, delay, transparent or None, interlaced)."""
    palette = np.random.default_rng(2).integers(0, 256, (256, 3)).astype(np.uint8).tobytes()
    out = b"GIF89a" + struct.pack("<HHBBB", *size, 0xF7, 0, 0) + palette
    if loops is not None:
        out += b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", loops) + b"\0"
    for x, y, indices, local, disposal, delay, transparent, interlaced in frames:
        flags = disposal << 2 | (transparent is not None)
        out += b"\x21\xf9\x04" + struct.pack("<BHB", flags, delay, transparent or 0) + b"\0"
        height, width = indices.shape
        out += b"\x2c" + struct.pack("<HHHHB", x, y, width, height, (0x87 if local is not None else 0) | (0x40 if interlaced else 0))
        rows = indices
        if interlaced:
            order = [r for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for r in range(first, height, step)]
            rows = indices[order]
        out += (local.tobytes() if local is not None else b"") + lzw(rows.reshape(-1))
    return out + b"\x3b"


def gifs():
    random = np.random.default_rng(21)

    def part(width, height, transparent=None):
        indices = random.integers(1, 256, (height, width))
        if transparent is not None:
            indices[random.random((height, width)) < 0.4] = transparent
        return indices

    local = random.integers(0, 256, (256, 3)).astype(np.uint8)
    # Disposal 0, unspecified, is left out: Pillow goes on with that of the frame before, browsers keep.
    frames = [
        (0, 0, part(24, 20, 0), None, 1, 10, 0, False),
        (3, 2, part(10, 9, 0), None, 2, 20, 0, False),
        (8, 6, part(12, 11, 0), local, 3, 30, 0, True),
        (1, 1, part(6, 15, 0), None, 3, 0, 0, False),
        (5, 5, part(14, 4, 0), None, 1, 7, 0, False),
        (0, 0, part(24, 20, 0), None, 3, 5, 0, False),
        (2, 9, part(20, 8, 0), local, 2, 5, 0, False),
        (10, 0, part(14, 20, 0), None, 1, 65535, 0, False),
    ]
    for name, data in {
        "disposals.gif": gif((24, 20), frames, 3), "forever.gif": gif((24, 20), frames[:3], 0),
        "once.gif": gif((24, 20), frames[:2], None),
    }.items():
        (ANIMATIONS / name).write_bytes(data)
        shown, durations, loops = pillow_frames(data)
        note(name, shown, durations, "forever" if loops == 0 else 1 if loops is None else loops + 1)


# --- WebP: a container of frames that libwebp encoded


def webp(size, frames, loops):
    def riff(kind, content):
        return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)

    def three(value):
        return struct.pack("<I", value)[:3]

    body = riff(b"VP8X", bytes([0x12, 0, 0, 0]) + three(size[0] - 1) + three(size[1] - 1))
    body += riff(b"ANIM", bytes([9, 8, 7, 255]) + struct.pack("<H", loops))
    for x, y, pixels, duration, disposal, blend, lossless in frames:
        still = saved(Image.fromarray(pixels), "WEBP", lossless=lossless, exact=True, quality=80)
        chunks, at = b"", 12
        while at < len(still):
            length = struct.unpack("<I", still[at + 4 : at + 8])[0]
            if still[at : at + 4] in (b"VP8L", b"VP8 ", b"ALPH"):
                chunks += still[at : at + 8 + length + length % 2]
            at += 8 + length + length % 2
        height, width = pixels.shape[:2]
        head = three(x // 2) + three(y // 2) + three(width - 1) + three(height - 1) + three(duration)
        body += riff(b"ANMF", head + bytes([(0 if blend else 2) | disposal]) + chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def webps():
    def part(width, height, seed):
        return picture(width, height, seed)

    frames = [
        (0, 0, part(30, 24, 1), 40, 0, True, True), (4, 2, part(16, 12, 2), 50, 1, True, True),
        (8, 6, part(20, 14, 3), 60, 0, True, False), (2, 8, part(12, 12, 4), 70, 1, False, True),
        (0, 0, part(30, 24, 5), 80, 1, True, True), (6, 4, part(18, 16, 6), 90, 1, True, False),
        (0, 0, part(10, 20, 7), 100, 0, True, True), (0, 0, part(30, 24, 8), 110, 0, True, True),
    ]
    for name, data in {"blended.webp": webp((30, 24), frames, 0), "five.webp": webp((30, 24), frames[3:], 5)}.items():
        (ANIMATIONS / name).write_bytes(data)
        shown, durations, loops = pillow_frames(data)
        note(name, shown, durations, "forever" if loops == 0 else loops)


# --- APNG


def filtered(pixels):
    return zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 9)


def apng(size, frames, plays, hidden=None, color=6, extra=b""):
    """frames: (x, y, samples, numerator, denominator, disposal, blend). `hidden`: a first picture that is no frame."""
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, color, 0, 0, 0)) + extra
    out += chunk(b"acTL", struct.pack(">II", len(frames), plays))
    number = 0
    if hidden is not None:
        out += chunk(b"IDAT", filtered(hidden))
    for index, (x, y, samples, numerator, denominator, disposal, blend) in enumerate(frames):
        height, width = samples.shape[:2]
        out += chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, x, y, numerator, denominator, disposal, blend))
        number += 1
        data = filtered(samples)
        if index == 0 and hidden is None:
            out += chunk(b"IDAT", data)
        else:
            for half in (data[: len(data) // 2], data[len(data) // 2 :]):
                out += chunk(b"fdAT", struct.pack(">I", number) + half)
                number += 1
    return out + chunk(b"IEND", b"")


def over(front, behind):
    """Non-multiplied pixels over others, each channel rounded to the nearest, in whole numbers."""
    front, behind = front.astype(np.int64), behind.astype(np.int64)
    upper, lower = front[:, :, 3:] * 255, behind[:, :, 3:] * (255 - front[:, :, 3:])
    alpha = upper + lower
    colour = (2 * (front[:, :, :3] * upper + behind[:, :, :3] * lower) + alpha) // np.maximum(2 * alpha, 1)
    return np.concatenate([colour, (2 * alpha + 255) // 510], axis=2).astype(np.uint8)


def drawn(size, frames, expand=lambda samples: samples):
    canvas = np.zeros((size[1], size[0], 4), dtype=np.uint8)
    shown = []
    for index, (x, y, samples, _, _, disposal, blend) in enumerate(frames):
        pixels = expand(samples)
        height, width = pixels.shape[:2]
        before = canvas.copy()
        place = canvas[y : y + height, x : x + width]
        place[:] = over(pixels, place) if blend else pixels
        shown.append(canvas.copy())
        if disposal == 1 or (disposal == 2 and index == 0):
            place[:] = 0
        elif disposal == 2:
            canvas = before
    return shown


def apngs():
    size = (26, 18)
    frames = [
        (0, 0, picture(26, 18, 1), 1, 10, 0, 0), (3, 4, picture(15, 9, 2), 25, 1000, 1, 1),
        (7, 2, picture(12, 14, 3), 3, 0, 2, 1), (0, 0, picture(26, 18, 4), 1, 30, 2, 0),
        (5, 5, picture(10, 10, 5), 1, 8, 0, 1), (1, 0, picture(20, 17, 6), 2, 1, 1, 1), (12, 9, picture(14, 9, 7), 1, 4, 0, 1),
    ]
    hard = [(x, y, np.where(np.arange(4) == 3, np.where(p[:, :, 3:] > 127, 255, 0), p).astype(np.uint8), n, d, dis, b) for x, y, p, n, d, dis, b in frames]
    # Pillow restores too little after two frames in a row that are undone.
    hard[3] = hard[3][:5] + (0,) + hard[3][6:]
    indices = [np.random.default_rng(s).integers(0, 4, shape).astype(np.uint8) for s, shape in ((1, (18, 26)), (2, (9, 11)), (3, (7, 20)))]
    palette = np.array([[9, 9, 9], [200, 40, 0], [0, 180, 70], [60, 10, 250]], dtype=np.uint8)
    alpha = np.array([0, 255, 255, 255], dtype=np.uint8)
    coloured = [(x, y, i, 1, 5, dis, 1) for (x, y, dis), i in zip(((0, 0, 0), (4, 3, 1), (2, 8, 0)), indices)]
    tables = chunk(b"PLTE", palette.tobytes()) + chunk(b"tRNS", alpha.tobytes())

    def looked_up(samples):
        return np.concatenate([palette[samples], alpha[samples][:, :, None]], axis=2)

    files = {
        "soft.png": (apng(size, frames, 0), drawn(size, frames), frames, 0),
        "hard.png": (apng(size, hard, 4), drawn(size, hard), hard, 4),
        "hidden.png": (apng(size, hard, 2, hidden=picture(26, 18, 30)), drawn(size, hard), hard, 2),
        "palette.png": (apng(size, coloured, 1, color=3, extra=tables), drawn(size, coloured, looked_up), coloured, 1),
    }
    for name, (data, shown, parts, plays) in files.items():
        (ANIMATIONS / name).write_bytes(data)
        note(name, shown, [1000 * p[3] / (p[4] or 100) for p in parts], plays or "forever")
        if name in ("hard.png", "palette.png"):
            frames_of_pillow, _, _ = pillow_frames(data)
            assert [digest(f) for f in frames_of_pillow] == [digest(f) for f in shown], name


# --- Profiles


def s15(value):
    return struct.pack(">i", round(value * 65536))


def icc(space, tags):
    """A monitor profile of these tags, in XYZ under D50."""
    table, data = struct.pack(">I", len(tags)), b""
    for name, content in tags:
        content += b"\0" * (-len(content) % 4)
        table += name + struct.pack(">II", 128 + 4 + 12 * len(tags) + len(data), len(content))
        data += content
    size = 128 + len(table) + len(data)
    head = struct.pack(">IIBBH", size, 0, 4, 0x30, 0) + b"mntr" + space + b"XYZ " + b"\0" * 12 + b"acsp" + b"\0" * 28
    head += s15(0.9642) + s15(1.0) + s15(0.8249)
    return head + b"\0" * (128 - len(head)) + table + data


def xyz(*values):
    return b"XYZ \0\0\0\0" + b"".join(s15(v) for v in values)


def text(value):
    units = value.encode("utf-16-be")
    return b"mluc\0\0\0\0" + struct.pack(">II", 1, 12) + b"enUS" + struct.pack(">II", len(units), 28) + units


def colorants(primaries, white):
    """Columns to XYZ under D50: the primaries at their white, adapted by Bradford's matrix."""
    def column(x, y):
        return np.array([x / y, 1, (1 - x - y) / y])

    matrix = np.array([column(*p) for p in primaries]).T
    white = column(*white)
    matrix = matrix * np.linalg.solve(matrix, white)
    bradford = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    d50 = np.array([0.9642, 1.0, 0.8249])
    return np.linalg.inv(bradford) @ np.diag((bradford @ d50) / (bradford @ white)) @ bradford @ matrix


def profile(primaries, white, curve, name):
    columns = colorants(primaries, white)
    tags = [(b"desc", text(name)), (b"cprt", text("none")), (b"wtpt", xyz(0.9642, 1.0, 0.8249))]
    tags += [(tag, xyz(*columns[:, i])) for i, tag in enumerate((b"rXYZ", b"gXYZ", b"bXYZ"))]
    return icc(b"RGB ", tags + [(tag, curve) for tag in (b"rTRC", b"gTRC", b"bTRC")])


def profiles():
    d65 = (0.3127, 0.3290)
    srgb_curve = b"para\0\0\0\0" + struct.pack(">HH", 3, 0) + b"".join(map(s15, (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)))
    gamma = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(563 / 256 * 256))
    steps = np.round(65535 * (np.arange(1024) / 1023) ** 1.8).astype(">u2")
    table = b"curv\0\0\0\0" + struct.pack(">I", 1024) + steps.tobytes()
    made = {
        "p3": profile(((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)), d65, srgb_curve, "P3"),
        "adobe": profile(((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), d65, gamma, "Adobe"),
        "prophoto": profile(((0.7347, 0.2653), (0.1596, 0.8404), (0.0366, 0.0001)), (0.3457, 0.3585), table, "ProPhoto"),
        "srgb": profile(((0.64, 0.33), (0.30, 0.60), (0.15, 0.06)), d65, srgb_curve, "sRGB"),
    }
    grey = icc(b"GRAY", [(b"desc", text("grey")), (b"cprt", text("none")), (b"wtpt", xyz(0.9642, 1.0, 0.8249)),
        (b"kTRC", b"curv\0\0\0\0" + struct.pack(">IH", 1, round(1.8 * 256)))])
    # Every combination of sixteen values of three channels.
    axis = np.arange(16) * 17
    cube = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=3).reshape(64, 64, 3).astype(np.uint8)
    target = ImageCms.createProfile("sRGB")

    def converted(image, data):
        source = ImageCms.ImageCmsProfile(io.BytesIO(data))
        flags = ImageCms.Flags.NOOPTIMIZE | ImageCms.Flags.HIGHRESPRECALC
        result = ImageCms.profileToProfile(
            image, source, target, renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC, outputMode="RGB", flags=flags)
        return np.asarray(result.convert("RGBA"))

    def write(name, data, expected):
        (PROFILES / name).write_bytes(data)
        height, width, _ = expected.shape
        header = f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
        (PROFILES / (name.rsplit(".", 1)[0] + ".pam")).write_bytes(header.encode() + expected.tobytes())

    image = Image.fromarray(cube)
    for name, data in made.items():
        write(f"{name}.png", saved(image, "PNG", icc_profile=data, optimize=True), converted(image, data))
    write("p3-webp.webp", saved(image, "WEBP", lossless=True, icc_profile=made["p3"]), converted(image, made["p3"]))
    jpeg = saved(image, "JPEG", quality=95, subsampling="4:4:4", icc_profile=made["adobe"])
    write("adobe-jpeg.jpg", jpeg, converted(Image.open(io.BytesIO(jpeg)), made["adobe"]))
    ramp = Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16))
    write("grey.png", saved(ramp, "PNG", icc_profile=grey), converted(ramp, grey))
    # Tables: kept as it is.
    lab = icc(b"RGB ", [(b"desc", text("tables")), (b"A2B0", b"mft2" + b"\0" * 60)])
    write("tables.png", saved(image, "PNG", icc_profile=lab), np.asarray(image.convert("RGBA")))


if __name__ == "__main__":
    ANIMATIONS.mkdir(exist_ok=True)
    PROFILES.mkdir(exist_ok=True)
    gifs()
    webps()
    apngs()
    (ANIMATIONS / "frames.txt").write_text("\n".join(lines) + "\n")
    profiles()
