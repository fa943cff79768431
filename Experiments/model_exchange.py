"""Do models go to Python's safetensors and back?

    make model-exchange

Trains an eviction model and a planner on a small generated trace, opens both with the `safetensors` package, checks names, shapes,
numbers and metadata, and writes them anew with that package, their tensors in another order. A replay with the copy must give
the very hits of one with the original, and others with a copy whose weights are all 0: what is compared must matter.
Prints a line for each; exits 1 when one is missed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

SHAPES = {
    "halcyon.model": {"hidden.weight": (40, 16), "output.weight": (16,), "output.bias": (1,)},
    "halcyon.planner": {"hidden.weight": (40, 16), "output.weight": (16,), "output.bias": (1,), "calibration": (2,)},
}


def command(*arguments):
    """Standard output of a command; its own sentence and exit code if it fails."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)
    return done.stdout


def require(holds, sentence):
    print(("ok      " if holds else "MISSED  ") + sentence)
    if not holds:
        sys.exit(1)


def read(path):
    """The tensors and the metadata of a file, as Python's safetensors has them."""
    with safe_open(str(path), framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def exchange(replay, trace, folder, kind, train, use):
    """Trains a model, takes it to Python and back, and holds the replays with each against one another."""
    original, copy, blank = (folder / f"{kind}-{name}.safetensors" for name in ("original", "copy", "blank"))
    command(replay, "train", trace, *train, "--output", original)
    tensors, metadata = read(original)
    require(metadata["format"] == kind, f"{kind}: format and version {metadata['format_version']} in the metadata")
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    require(shapes == SHAPES[kind], f"{kind}: {', '.join(f'{name} {list(shape)}' for name, shape in shapes.items())}")
    numbers = numpy.concatenate([tensor.ravel() for tensor in tensors.values()])
    require(
        all(tensor.dtype == numpy.float32 for tensor in tensors.values())
        and bool(numpy.isfinite(numbers).all()) and len(set(numbers.tolist())) > numbers.size / 2,
        f"{kind}: {numbers.size:,} finite numbers of 32 bits")
    save_file({name: tensors[name] for name in reversed(sorted(tensors))}, str(copy), metadata=metadata)
    zeros = {name: tensor if name == "calibration" else tensor * 0 for name, tensor in tensors.items()}
    save_file(zeros, str(blank), metadata=metadata)

    def hits(model):
        report = command(replay, trace, "--policy", "learned", "--only", "--capacity", "5%", "--format", "json", *use(model))
        return json.loads(report)["runs"][0]["hits"]

    expected, found, without = hits(original), hits(copy), hits(blank)
    require(found == expected, f"{kind}: {found:,} hits with the copy, {expected:,} with the original")
    require(without != expected, f"{kind}: {without:,} hits with weights of 0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", default=".build/release/replay", help="the command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trace = folder / "shop.csv"
        command(options.replay, "generate", "shop", "--set", "requests=20000", "--output", trace)
        exchange(options.replay, trace, folder, "halcyon.model", [], lambda model: ["--model", model])
        exchange(
            options.replay, trace, folder, "halcyon.planner", ["--prefetch", "planner"],
            lambda model: ["--prefetch", "planner", "--prefetch-model", model])


main()
