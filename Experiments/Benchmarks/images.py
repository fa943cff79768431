"""Pictures processed by Halcyon beside Pillow, in one run on one machine.

    make bench-images

Each time is the median of fifteen, in milliseconds of one thread's processor time. `round` in Pillow draws a rounded rectangle as a mask, as large
as the picture, and puts it in as its alpha; that has hard edges, Halcyon's smooth ones.
"""

import argparse
import os
import statistics
import subprocess
import time

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, __version__


def picture(mode):
    random = np.random.default_rng(1)
    pixels = random.integers(0, 256, (1000, 1000, 4)).astype(np.uint8)
    pixels[:, :, 0] = np.linspace(0, 255, 1000)[None, :]
    pixels[:, :, 3] = 255
    image = Image.fromarray(pixels)
    return image if mode == "rgba" else image.convert("RGB")


def rounded(image):
    mask = Image.new("L", image.size, 0)
    ImageDraw.Draw(mask).rounded_rectangle([0, 0, 999, 999], 100, fill=255)
    result = image.convert("RGBA") if image.mode != "RGBA" else image.copy()
    result.putalpha(mask)
    return result


JOBS = {
    "resize-500": lambda image: image.resize((500, 500), Image.Resampling.BICUBIC),
    "resize-2000": lambda image: image.resize((2000, 2000), Image.Resampling.BICUBIC),
    "blur-2": lambda image: image.filter(ImageFilter.GaussianBlur(2)),
    "blur-10": lambda image: image.filter(ImageFilter.GaussianBlur(10)),
    "round-100": rounded,
}


def median_time(job, image):
    times = []
    for _ in range(1 if "HALCYON_BENCH_SHORT" in os.environ else 15):
        start = time.thread_time()
        job(image)
        times.append((time.thread_time() - start) * 1e3)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=".build/release/ImageBenchmark")
    arguments = parser.parse_args()
    pillow = {f"{name}-{mode}": median_time(job, picture(mode)) for name, job in JOBS.items() for mode in ("rgb", "rgba")}
    lines = subprocess.run([arguments.binary], check=True, capture_output=True, text=True).stdout.splitlines()
    halcyon = {name: float(value) for name, value in (line.split("\t") for line in lines)}
    print(f"| milliseconds | Halcyon | Pillow {__version__} | ratio |\n|---|---|---|---|")
    for name, value in halcyon.items():
        if name in pillow:
            print(f"| {name} | {value:.2f} | {pillow[name]:.2f} | {value / pillow[name]:.2f} |")
    print("\n| decoding 4000x3000 JPEG | |\n|---|---|")
    for name, value in halcyon.items():
        if name not in pillow:
            print(f"| {name} | {value:.3f} |")


if __name__ == "__main__":
    main()
