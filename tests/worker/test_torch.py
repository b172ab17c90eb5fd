"""What pinstep-worker computes, beside PyTorch: steps from the same weights on the same images, and which images."""

import numpy
import pytest
import torch
from torch.utils.data import DistributedSampler

import check

MODELS = {"mlp": ["--model=mlp"], "cnn": ["--model=cnn"], "synthetic": ["--model=synthetic:50K/2"]}
OPTIMIZERS = {
    "sgd": ["--lr=0.1"],
    "sgd with decay": ["--lr=0.05", "--momentum=0.8", "--weight-decay=0.1"],
    "adamw": ["--optimizer=adamw"],
    "adamw with decay": ["--optimizer=adamw", "--lr=0.01", "--weight-decay=0.1"],
}
RATE = {"sgd": 0.1, "sgd with decay": 0.05, "adamw": 0.001, "adamw with decay": 0.01}


def build(model):
    """The same model in PyTorch, in double precision."""
    layers, channels = [], 1
    for outputs in model["channels"]:
        layers += [torch.nn.Conv2d(channels, outputs, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        channels = outputs
    layers.append(torch.nn.Flatten())
    for inputs, outputs in zip(model["sizes"], model["sizes"][1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).double()


def optimizer(name, parameters):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    if name == "sgd with decay":
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.8, weight_decay=0.1)
    if name == "adamw":
        return torch.optim.AdamW(parameters)
    return torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1)


def put_weights(module, layers):
    own = [part for part in module if hasattr(part, "weight")]
    assert len(own) == len(layers)
    with torch.no_grad():
        for part, (weight, bias) in zip(own, layers):
            assert part.weight.shape == weight.shape
            part.weight.copy_(torch.from_numpy(weight))
            part.bias.copy_(torch.from_numpy(bias))


def weights_of(module):
    with torch.no_grad():
        return numpy.concatenate([tensor.numpy().ravel() for part in module if hasattr(part, "weight")
                                  for tensor in (part.weight, part.bias)])


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def images():
    return (torch.from_numpy(check.read_idx("train-images-idx3-ubyte.gz")[:6000].astype(numpy.float64)),
            torch.from_numpy(check.read_idx("train-labels-idx1-ubyte.gz")[:6000].astype(numpy.int64)))


@pytest.mark.parametrize("optimized", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_pytorch(train, tmp_path, images, name, optimized):
    """Five steps of two ranks with two batches of eight images each; all of 32 images are one step of PyTorch."""
    common = [*MODELS[name], "--batch=8", "--accumulate=2"]
    before, after = tmp_path / "before", tmp_path / "after"
    train(1, *common, "--lr=0", "--steps=1", f"--save={before}").ok()
    train(2, *common, *OPTIMIZERS[optimized], "--steps=5", f"--save={after}").ok()

    model = check.model(before)
    module = build(model)
    put_weights(module, check.weights(before, 0))
    first = weights_of(module)
    steps = optimizer(optimized, module.parameters())
    seen = [check.samples(after, rank).reshape(5, 16) for rank in range(2)]
    for mine, other in zip(*seen):
        index = torch.from_numpy(numpy.concatenate([mine, other]).astype(numpy.int64))
        x = ((images[0][index] - model["mean"]) / model["deviation"]).unsqueeze(1)
        steps.zero_grad()
        torch.nn.functional.cross_entropy(module(x), images[1][index]).backward()
        steps.step()

    expected, found = weights_of(module), check.flat(check.weights(after, 0))
    moved = numpy.abs(expected - first)
    off = numpy.abs(found - expected)
    assert moved.max() > RATE[optimized] / 10
    # AdamW moves a weight by the whole rate however small its gradient is: where that is rounding alone, the
    # direction is too.
    limit = 1e-5 if optimized.startswith("sgd") else RATE[optimized] / 20
    assert numpy.quantile(off, 0.999) < limit, (numpy.quantile(off, [0.5, 0.99, 0.999, 1]), moved.max())
    assert off.max() < (2e-5 if optimized.startswith("sgd") else 10 * RATE[optimized])


# ---- which images

@pytest.mark.parametrize("samples, ranks, drop_last", [
    (101, 3, False), (101, 3, True), (100, 2, False), (2, 3, False), (7, 1, False), (9, 4, True)])
def test_images_are_dealt_as_by_distributed_sampler(train, tmp_path, samples, ranks, drop_last):
    """PyTorch's permutations are written to a file; all that follows from them is compared."""
    epochs, seed = 3, 5
    lines = []
    for epoch in range(epochs):
        generator = torch.Generator()
        generator.manual_seed(seed + epoch)
        lines.append(" ".join(map(str, torch.randperm(samples, generator=generator).tolist())))
    order = tmp_path / "order"
    order.write_text("\n".join(lines) + "\n")
    train(ranks, f"--images={samples}", "--test-images=10", "--batch=4", f"--epochs={epochs}", f"--order={order}",
          "--hidden=4", f"--save={tmp_path}", *["--drop-last"] * drop_last).ok()
    for rank in range(ranks):
        expected = []
        sampler = DistributedSampler(range(samples), num_replicas=ranks, rank=rank, shuffle=True, seed=seed,
                                     drop_last=drop_last)
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            expected += list(sampler)
        assert list(check.samples(tmp_path, rank)) == expected
