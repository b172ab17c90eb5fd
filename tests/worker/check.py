"""What a run has saved, judged by NumPy alone: nothing here is shared with pinstep-worker."""

import gzip
import json
from pathlib import Path

import numpy

DATA = Path("/usr/share/datasets/fashion-mnist")


def read_idx(name):
    with gzip.open(DATA / name) as file:
        content = file.read()
    dimensions = content[3]
    sizes = numpy.frombuffer(content, ">u4", dimensions, 4)
    return numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * dimensions).reshape(sizes)


def write_part(directory, images, test_images):
    """The first images and labels, as IDX files that are not packed."""
    for part, count in (("train", images), ("t10k", test_images)):
        for name in (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"):
            array = read_idx(name + ".gz")[:count]
            head = bytes([0, 0, 8, array.ndim]) + numpy.array(array.shape, ">u4").tobytes()
            (Path(directory) / name).write_bytes(head + array.tobytes())


def weights(directory, rank):
    """[(weight, bias)] of the layers, first to last."""
    own = Path(directory) / f"rank-{rank}"
    layers = len(json.loads((own / "model.json").read_text())["sizes"]) - 1
    return [tuple(numpy.load(own / f"layer{layer}.{part}.npy") for part in ("weight", "bias"))
            for layer in range(1, layers + 1)]


def flat(layers):
    return numpy.concatenate([part.ravel() for layer in layers for part in layer])


def samples(directory, rank):
    return numpy.load(Path(directory) / f"rank-{rank}/samples.npy")


def accuracy(directory, rank=0):
    """On the 10 000 test images."""
    model = json.loads((Path(directory) / f"rank-{rank}/model.json").read_text())
    x = read_idx("t10k-images-idx3-ubyte.gz").reshape(-1, 784).astype(numpy.float64)
    x = (x - model["mean"]) / model["deviation"]
    layers = weights(directory, rank)
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight.T.astype(numpy.float64) + bias
        if number + 1 < len(layers):
            x = numpy.maximum(x, 0)
    return float((x.argmax(axis=1) == read_idx("t10k-labels-idx1-ubyte.gz")).mean())
