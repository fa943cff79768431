"""Makes the pictures of this folder, and what an independent implementation says that they are.

    pip install pillow==13.0.0 numpy && python make.py

Every `name.ext` has a `name.pam` beside it (Netpbm's RGB_ALPHA) with the pixels that Pillow decodes, or that went into a file
which is written here byte by byte. Only what a test reads is kept.
"""

import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

FOLDER = pathlib.Path(__file__).parent
WIDTH, HEIGHT = 37, 29


def picture(width=WIDTH, height=HEIGHT, seed=7):
    """Gradients, an edge and noise, as H x W x 4 bytes; alpha from 0 to 255."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    red = 255 * x / max(width - 1, 1)
    green = 255 * y / max(height - 1, 1)
    blue = np.where((x + y) % 16 < 8, 220, 40) + random.integers(-20, 20, (height, width))
    alpha = np.clip(300 * np.hypot(x - width / 3, y - height / 2) / width - 30, 0, 255)
    return np.clip(np.stack([red, green, blue, alpha], axis=2), 0, 255).astype(np.uint8)


def write_pam(name, pixels):
    pixels = np.asarray(pixels, dtype=np.uint8)
    height, width, _ = pixels.shape
    header = f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
    (FOLDER / f"{name}.pam").write_bytes(header.encode() + pixels.tobytes())


def rgba(image):
    return np.asarray(image.convert("RGBA"))


def write(name, extension, data, expected=None):
    (FOLDER / f"{name}.{extension}").write_bytes(data)
    write_pam(name, rgba(Image.open(io.BytesIO(data))) if expected is None else expected)


def saved(image, format, **options):
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def exif(orientation, big=False):
    order = ">" if big else "<"
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return (b"MM" if big else b"II") + struct.pack(order + "HIH", 42, 8, 1) + entry + b"\0\0\0\0"


# --- JPEG


def jpegs():
    colour = Image.fromarray(picture()[:, :, :3].copy())
    write("jpeg-420", "jpg", saved(colour, "JPEG", quality=85, subsampling="4:2:0"))
    write("jpeg-444", "jpg", saved(colour, "JPEG", quality=95, subsampling="4:4:4"))
    write("jpeg-progressive", "jpg", saved(colour, "JPEG", quality=85, progressive=True))
    write("jpeg-restarts", "jpg", saved(colour, "JPEG", quality=85, restart_marker_blocks=2))
    write("jpeg-grey", "jpg", saved(colour.convert("L"), "JPEG", quality=85))

    # Four inks, stored inverted. Expected from Pillow's inks by the definition: light = (1 - ink) * (1 - black).
    inks = saved(Image.fromarray(picture(seed=3), mode="CMYK"), "JPEG", quality=90)
    decoded = np.asarray(Image.open(io.BytesIO(inks))).astype(np.int64)
    light = (255 - decoded[:, :, :3]) * (255 - decoded[:, :, 3:])
    light = (light * 2 + 255) // 510
    opaque = np.full((HEIGHT, WIDTH, 1), 255)
    write("jpeg-cmyk", "jpg", inks, np.concatenate([light, opaque], axis=2))

    # Decoded at 1/2, 1/4 and 1/8 inside the transform.
    large = Image.fromarray(picture(90, 70)[:, :, :3].copy())
    data = saved(large, "JPEG", quality=90)
    (FOLDER / "jpeg-scaled.jpg").write_bytes(data)
    for denominator in (2, 4, 8):
        image = Image.open(io.BytesIO(data))
        image.draft("RGB", (90 // denominator, 70 // denominator))
        write_pam(f"jpeg-scaled-{denominator}", rgba(image))

    for orientation in range(1, 9):
        small = Image.fromarray(picture(13, 7)[:, :, :3].copy())
        data = saved(small, "JPEG", quality=95, subsampling="4:4:4", exif=b"Exif\0\0" + exif(orientation, orientation % 2 == 0))
        from PIL import ImageOps

        write(f"jpeg-orientation-{orientation}", "jpg", data, rgba(ImageOps.exif_transpose(Image.open(io.BytesIO(data)))))


# --- PNG, written by hand where Pillow cannot


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def packed(rows, depth):
    """Samples (rows x columns x channels) as PNG's bytes, each row behind the filter 0."""
    out = b""
    for row in rows:
        flat = np.asarray(row).reshape(-1)
        if depth == 16:
            line = flat.astype(">u2").tobytes()
        elif depth == 8:
            line = flat.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in flat)
            bits += "0" * (-len(bits) % 8)
            line = int(bits, 2).to_bytes(len(bits) // 8, "big")
        out += b"\0" + line
    return out


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, depth, kind, interlaced=False, extra=b""):
    samples = np.asarray(samples)
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    if interlaced:
        passes = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        data = b"".join(packed(p, depth) for p in passes if p.size)
    else:
        data = packed(samples, depth)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def opaque(colours):
    colours = np.asarray(colours)
    return np.concatenate([colours, np.full(colours.shape[:2] + (1,), 255)], axis=2)


def pngs():
    pixels = picture()
    write("png-rgb", "png", saved(Image.fromarray(pixels[:, :, :3].copy()), "PNG"))
    write("png-rgba", "png", saved(Image.fromarray(pixels), "PNG"))
    write("png-rgba-interlaced", "png", png(pixels, 8, 6, interlaced=True), pixels)
    write("png-grey-alpha", "png", saved(Image.fromarray(pixels).convert("LA"), "PNG"))

    random = np.random.default_rng(11)
    wide = random.integers(0, 65536, (HEIGHT, WIDTH, 4))
    rounded = (wide * 255 * 2 + 65535) // (2 * 65535)
    write("png-rgba-16", "png", png(wide, 16, 6), rounded)
    write("png-rgb-16-interlaced", "png", png(wide[:, :, :3], 16, 2, interlaced=True), opaque(rounded[:, :, :3]))
    write("png-grey-16", "png", png(wide[:, :, :1], 16, 0), opaque(np.repeat(rounded[:, :, :1], 3, axis=2)))

    for depth in (1, 2, 4):
        grey = random.integers(0, 1 << depth, (HEIGHT, WIDTH, 1))
        value = np.repeat(grey * 255 // ((1 << depth) - 1), 3, axis=2)
        write(f"png-grey-{depth}", "png", png(grey, depth, 0, interlaced=depth == 2), opaque(value))

    # Palettes, the second with transparency for the first of its colours; a transparent colour named by its value.
    colours = random.integers(0, 256, (16, 3)).astype(np.uint8)
    indices = random.integers(0, 16, (HEIGHT, WIDTH, 1))
    palette = chunk(b"PLTE", colours.tobytes())
    expected = opaque(colours[indices[:, :, 0]])
    write("png-palette", "png", png(indices, 4, 3, extra=palette), expected)
    alpha = np.concatenate([[0, 90, 200], np.full(13, 255)])
    with_alpha = expected.copy()
    with_alpha[:, :, 3] = alpha[indices[:, :, 0]]
    write("png-palette-alpha", "png", png(indices, 8, 3, True, palette + chunk(b"tRNS", bytes([0, 90, 200]))), with_alpha)
    keyed = opaque(colours[indices[:, :, 0]])
    key = colours[5]
    keyed[np.all(keyed[:, :, :3] == key, axis=2), 3] = 0
    transparency = chunk(b"tRNS", struct.pack(">HHH", *[int(v) for v in key]))
    write("png-keyed", "png", png(colours[indices[:, :, 0]], 8, 2, extra=transparency), keyed)

    # Gamma and a turn by EXIF: the first is left aside, the second followed.
    turned = png(pixels, 8, 6, extra=chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"eXIf", exif(6, big=True)))
    write("png-turned", "png", turned, np.rot90(pixels, -1))


# --- WebP and GIF


def webps():
    image = Image.fromarray(picture())
    write("webp-lossless", "webp", saved(image, "WEBP", lossless=True, exact=True), picture())
    write("webp-lossy", "webp", saved(image.convert("RGB"), "WEBP", quality=80))
    write("webp-lossy-alpha", "webp", saved(image, "WEBP", quality=80))
    data = saved(image, "WEBP", lossless=True, exact=True, exif=b"Exif\0\0" + exif(8))
    write("webp-turned", "webp", data, np.rot90(picture(), 1))
    quarters = np.zeros((48, 64, 4), dtype=np.uint8)
    quarters[:24, :32], quarters[:24, 32:] = (200, 10, 30, 255), (5, 190, 60, 255)
    quarters[24:, :32], quarters[24:, 32:] = (20, 40, 240, 255), (255, 128, 0, 255)
    quarters[24:, 32:, 3] = 128
    write("webp-quarters", "webp", saved(Image.fromarray(quarters), "WEBP", lossless=True, exact=True), quarters)
    second = Image.fromarray(picture(seed=9))
    frames = saved(image, "WEBP", lossless=True, exact=True, save_all=True, append_images=[second], duration=50)
    write("webp-animated", "webp", frames)


def gifs():
    colour = Image.fromarray(picture()[:, :, :3].copy()).quantize(64)
    write("gif-plain", "gif", saved(colour, "GIF", interlace=0))
    write("gif-interlaced", "gif", saved(colour, "GIF", interlace=1))
    clear = colour.copy()
    write("gif-transparent", "gif", saved(clear, "GIF", transparency=int(np.asarray(clear)[0, 0])))
    second = Image.fromarray(picture(seed=9)[:, :, :3].copy()).quantize(32)
    write("gif-animated", "gif", saved(colour, "GIF", save_all=True, append_images=[second], duration=50))
    # Noise: so many strings that the table of codes fills up and is begun anew.
    noise = np.random.default_rng(5).integers(0, 256, (96, 96)).astype(np.uint8)
    image = Image.fromarray(noise)
    write("gif-full-table", "gif", saved(image, "GIF"))


if __name__ == "__main__":
    jpegs()
    pngs()
    webps()
    gifs()
