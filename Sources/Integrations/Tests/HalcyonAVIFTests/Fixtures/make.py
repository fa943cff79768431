"""Makes the AVIF files of this folder with Pillow, and beside each the pixels that Pillow decodes (Netpbm's RGB_ALPHA).
`profile.avif` is `opaque.avif` with a `colr` box of the type `prof` in its item properties, whose profile is a header alone.

    pip install --requirement Experiments/Benchmarks/requirements-images.txt
    python Sources/Integrations/Tests/HalcyonAVIFTests/Fixtures/make.py
"""

import io
import pathlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent


def write(name, image, exif=None, **options):
    stream = io.BytesIO()
    image.save(stream, "AVIF", **({"exif": exif} if exif else {}), **options)
    (HERE / f"{name}.avif").write_bytes(stream.getvalue())
    shown = Image.open(stream)
    from PIL import ImageOps

    pixels = np.asarray(ImageOps.exif_transpose(shown).convert("RGBA"))
    height, width, _ = pixels.shape
    header = f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
    (HERE / f"{name}.pam").write_bytes(header.encode() + pixels.tobytes())


random = np.random.default_rng(4)
y, x = np.mgrid[0:27, 0:39]
colour = np.stack([x * 6, y * 9, np.where((x + y) % 14 < 7, 220, 30)], axis=2).astype(np.uint8)
alpha = np.clip(x * 9 - 40, 0, 255).astype(np.uint8)
# No chroma subsampling: upsampling is each version's own choice.
write("opaque", Image.fromarray(colour), quality=80, subsampling="4:4:4")
write("alpha", Image.fromarray(np.dstack([colour, alpha])), quality=100, subsampling="4:4:4")
turned = Image.Exif()
turned[0x0112] = 6
write("turned", Image.fromarray(colour), exif=turned, quality=80, subsampling="4:4:4")
