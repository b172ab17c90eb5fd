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


def model(directory, rank=0):
    """What the run says about its model."""
    return json.loads((Path(directory) / f"rank-{rank}/model.json").read_text())


def weights(directory, rank):
    """[(weight, bias)] of the layers, first to last."""
    own = Path(directory) / f"rank-{rank}"
    said = model(directory, rank)
    layers = len(said["channels"]) + len(said["sizes"]) - 1
    return [tuple(numpy.load(own / f"layer{layer}.{part}.npy") for part in ("weight", "bias"))
            for layer in range(1, layers + 1)]


def flat(layers):
    return numpy.concatenate([part.ravel() for layer in layers for part in layer])


def samples(directory, rank):
    return numpy.load(Path(directory) / f"rank-{rank}/samples.npy")


def convolve(x, weight, bias):
    """3 × 3 pixels with zeros around, ReLU, the maxima of 2 × 2 pixels; x: images, channels, rows, columns."""
    images, _, rows, columns = x.shape
    around = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = numpy.zeros((images, len(weight), rows, columns), x.dtype) + bias[:, None, None]
    for i in range(3):
        for j in range(3):
            y += numpy.einsum("nchw,oc->nohw", around[:, :, i:i + rows, j:j + columns], weight[:, :, i, j],
                              optimize=True)
    return numpy.maximum(y, 0).reshape(images, len(weight), rows // 2, 2, columns // 2, 2).max(axis=(3, 5))


def accuracy(directory, rank=0):
    """On the 10 000 test images."""
    said = model(directory, rank)
    x = read_idx("t10k-images-idx3-ubyte.gz").astype(numpy.float32)[:, None]
    x = (x - said["mean"]) / said["deviation"]
    layers = weights(directory, rank)
    for weight, bias in layers[:len(said["channels"])]:
        x = convolve(x, weight, bias)
    x = x.reshape(len(x), -1).astype(numpy.float64)
    layers = layers[len(said["channels"]):]
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight.T.astype(numpy.float64) + bias
        if number + 1 < len(layers):
            x = numpy.maximum(x, 0)
    return float((x.argmax(axis=1) == read_idx("t10k-labels-idx1-ubyte.gz")).mean())
