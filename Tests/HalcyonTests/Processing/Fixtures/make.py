"""Makes the pictures of this folder, and what an independent implementation says that they are.

    pip install --requirement Experiments/Benchmarks/requirements-images.txt
    python Tests/HalcyonTests/Processing/Fixtures/make.py

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


# --- What processors make of `png-rgb` and `png-rgba`. Where Pillow has the operation it says what comes out; the others are worked
# out here from their definitions, in floating point.


def rounded(values):
    return np.clip(np.floor(np.asarray(values, dtype=np.float64) + 0.5), 0, 255)


def premultiplied(pixels):
    pixels = pixels.astype(np.float64)
    return np.concatenate([pixels[:, :, :3] * pixels[:, :, 3:] / 255, pixels[:, :, 3:]], axis=2)


def straight(values):
    alpha = values[:, :, 3:]
    colour = np.where(alpha < 0.5, 0, values[:, :, :3] * 255 / np.maximum(alpha, 1e-9))
    return rounded(np.concatenate([colour, alpha], axis=2))


def catmull_rom(x):
    x = np.abs(x)
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def resize_matrix(length, target, kernel=catmull_rom):
    """All of the filter's values, normalised: one row a pixel of the result."""
    scale = length / target
    stretch = max(scale, 1)
    distance = (np.arange(length)[None, :] + 0.5 - (np.arange(target)[:, None] + 0.5) * scale) / stretch
    weights = kernel(distance)
    return weights / weights.sum(axis=1, keepdims=True)


def resizes(rgb, whole):
    filters = {
        "box": Image.Resampling.BOX,
        "bilinear": Image.Resampling.BILINEAR,
        "bicubic": Image.Resampling.BICUBIC,
        "lanczos": Image.Resampling.LANCZOS,
    }
    for name, kind in filters.items():
        write_pam(f"resize-{name}-down", rgba(rgb.resize((17, 11), kind)))
        write_pam(f"resize-{name}-up", rgba(rgb.resize((50, 41), kind)))
    # Pillow limits to 0...255 between the axes, which shows where this filter overshoots.
    across, down = resize_matrix(WIDTH, 50, lanczos), resize_matrix(HEIGHT, 41, lanczos)
    values = np.einsum("yh,hwc->ywc", down, opaque(whole[:, :, :3]).astype(float))
    write_pam("resize-lanczos-up", rounded(np.einsum("xw,ywc->yxc", across, values)))
    across, down = resize_matrix(WIDTH, 20), resize_matrix(HEIGHT, 40)
    values = np.einsum("yh,hwc->ywc", down, premultiplied(whole))
    write_pam("resize-alpha", straight(np.einsum("xw,ywc->yxc", across, values)))


def blurs(rgb, whole):
    from PIL import ImageFilter

    for sigma in (0.8, 2.5, 9.0):
        # Pillow continues the edge anew at each of its passes; far enough outside that does not matter.
        wide = Image.fromarray(np.pad(whole[:, :, :3], [(60, 60), (60, 60), (0, 0)], mode="edge"))
        blurred = wide.filter(ImageFilter.GaussianBlur(sigma)).crop((60, 60, 60 + WIDTH, 60 + HEIGHT))
        write_pam(f"blur-{round(sigma * 10)}", rgba(blurred))
    # The exact Gaussian.
    sigma, reach = 2.5, 20
    kernel = np.exp(-np.arange(-reach, reach + 1) ** 2 / (2 * sigma**2))
    write_pam("blur-exact", straight(convolved(whole[:, :, :3], kernel / kernel.sum())))
    # Alpha: three extended boxes as one kernel, on colours weighed by alpha.
    variance = 2.5**2 / 3
    radius = int(((12 * variance + 1) ** 0.5 - 1) // 2)
    share = (2 * radius + 1) * (radius * (radius + 1) - 3 * variance) / (6 * (variance - (radius + 1) ** 2))
    box = np.array([share] + [1] * (2 * radius + 1) + [share])
    box /= box.sum()
    write_pam("blur-alpha", straight(convolved(whole, np.convolve(np.convolve(box, box), box))))


def convolved(pixels, kernel):
    values = premultiplied(pixels if pixels.shape[2] == 4 else opaque(pixels))
    for axis in (0, 1):
        reach = len(kernel) // 2
        padding = [(0, 0)] * 3
        padding[axis] = (reach, reach)
        wide = np.pad(values, padding, mode="edge")
        values = sum(k * np.take(wide, range(i, i + values.shape[axis]), axis=axis) for i, k in enumerate(kernel))
    return values


def rounded_shape(radii, inset=0.0, fine=32):
    """The share of each pixel inside of a rounded rectangle, by fine x fine points."""
    left, top, right, bottom = inset, inset, WIDTH - inset, HEIGHT - inset
    y, x = (np.mgrid[0 : HEIGHT * fine, 0 : WIDTH * fine] + 0.5) / fine
    inside = (x > left) & (x < right) & (y > top) & (y < bottom)
    for radius, from_x, from_y, sx, sy in (
        (radii[0], left, top, 1, 1), (radii[1], right, top, -1, 1),
        (radii[2], right, bottom, -1, -1), (radii[3], left, bottom, 1, -1),
    ):
        dx, dy = radius - (x - from_x) * sx, radius - (y - from_y) * sy
        inside &= ~((dx > 0) & (dy > 0) & (dx * dx + dy * dy > radius * radius))
    return inside.reshape(HEIGHT, fine, WIDTH, fine).mean(axis=(1, 3))


def over(colour, share, pixels):
    """A colour at `share` of its alpha over pixels, both straight."""
    pixels = pixels.astype(np.float64)
    above = (share * colour[3] / 255)[:, :, None]
    below = pixels[:, :, 3:] / 255 * (1 - above)
    alpha = above + below
    mixed = (np.array(colour[:3]) * above + pixels[:, :, :3] * below) / np.maximum(alpha, 1e-12)
    return rounded(np.concatenate([mixed, alpha * 255], axis=2))


def shapes(whole):
    colours = opaque(whole[:, :, :3])
    radii = (9, 4.5, 14, 0)
    alpha = rounded(255 * rounded_shape(radii))[:, :, None]
    write_pam("round", np.concatenate([colours[:, :, :3] * (alpha > 0), alpha], axis=2))
    faded = rounded(whole[:, :, 3:] * rounded_shape(radii)[:, :, None])
    write_pam("round-alpha", np.concatenate([whole[:, :, :3] * (faded > 0), faded], axis=2))
    write_pam("round-background", over((0, 0, 0, 0), np.zeros((HEIGHT, WIDTH)), rounded(
        colours * rounded_shape(radii)[:, :, None] + np.array([250, 30, 60, 255]) * (1 - rounded_shape(radii)[:, :, None]))))
    frame = rounded_shape((0, 0, 0, 0)) - rounded_shape((0, 0, 0, 0), 3)
    write_pam("border", over((10, 200, 90, 255), frame, colours))
    frame = rounded_shape(radii) - rounded_shape([max(0, r - 2.5) for r in radii], 2.5)
    write_pam("border-round", over((10, 200, 90, 160), frame, whole))


def colours(rgb, whole):
    from PIL import ImageChops

    def keep_alpha(colour):
        return np.concatenate([rounded(colour), whole[:, :, 3:]], axis=2)

    solid = Image.new("RGB", rgb.size, (240, 20, 100))
    write_pam("overlay-pillow", rgba(Image.blend(solid, rgb, 0.25)))
    write_pam("tint", keep_alpha(whole[:, :, :3] * (1 - 77 / 255) + np.array([240, 20, 100]) * (77 / 255)))

    def controls(brightness, contrast, saturation, exposure):
        c = whole[:, :, :3] / 255
        luma = (c @ np.array([0.2126, 0.7152, 0.0722]))[:, :, None]
        c = luma + (c - luma) * saturation + brightness
        return keep_alpha(255 * ((c - 0.5) * contrast + 0.5) * 2**exposure)

    write_pam("controls", controls(0.1, 1.3, 0.6, -0.2))
    write_pam("blackwhite", controls(0, 1, 0, 0.7))

    chops = {
        "multiply": ImageChops.multiply, "screen": ImageChops.screen, "overlay": ImageChops.overlay,
        "hardLight": ImageChops.hard_light, "darken": ImageChops.darker, "lighten": ImageChops.lighter,
        "difference": ImageChops.difference,
    }
    for name, chop in chops.items():
        write_pam(f"blend-pillow-{name}", rgba(chop(solid, rgb)))

    def blend(name, behind, strength, B):
        cs, front = whole[:, :, :3] / 255, whole[:, :, 3:] / 255 * strength
        cb, back = np.broadcast_to(np.array(behind[:3]) / 255, cs.shape), behind[3] / 255
        mixed = (1 - back) * cs + back * B(cb, cs)
        alpha = front + back * (1 - front)
        out = (front * mixed + (1 - front) * back * cb) / np.maximum(alpha, 1e-12)
        write_pam(f"blend-{name}", rounded(255 * np.concatenate([out, alpha], axis=2)))

    def soft(cb, cs):
        d = np.where(cb <= 0.25, ((16 * cb - 12) * cb + 4) * cb, np.sqrt(cb))
        return np.where(cs <= 0.5, cb - (1 - 2 * cs) * cb * (1 - cb), cb + (2 * cs - 1) * (d - cb))

    def dodge(cb, cs):
        return np.where(cb == 0, 0, np.where(cs == 1, 1, np.minimum(1, cb / np.maximum(1 - cs, 1e-12))))

    def burn(cb, cs):
        return np.where(cb == 1, 1, np.where(cs == 0, 0, 1 - np.minimum(1, (1 - cb) / np.maximum(cs, 1e-12))))

    behind = (200, 60, 0, 180)
    for name, B in {
        "normal": lambda cb, cs: cs, "multiply": lambda cb, cs: cb * cs, "softLight": soft, "colorDodge": dodge,
        "colorBurn": burn, "exclusion": lambda cb, cs: cb + cs - 2 * cb * cs,
    }.items():
        blend(name, behind, 0.8, B)


def processed():
    whole = picture()
    rgb = Image.fromarray(whole[:, :, :3].copy())
    resizes(rgb, whole)
    write_pam("crop", rgba(rgb.crop((10, 20, 10 + 18, 20 + 9))))
    blurs(rgb, whole)
    shapes(whole)
    colours(rgb, whole)


if __name__ == "__main__":
    processed()
    jpegs()
    pngs()
    webps()
    gifs()
