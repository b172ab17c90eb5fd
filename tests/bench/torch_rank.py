"""What worker_rank.cc does, by PyTorch's DistributedDataParallel: torch_rank.py DIR IMAGES BATCH DATA MODEL, where DIR
has what worker_rank left. The same weights, order, batches and update; says what it was built with, then "ready".

Images and convolutions are channels_last, in which PyTorch's cnn is a fifth faster; its own order is the default."""

import json
import os
import sys
import time
from pathlib import Path

import numpy
import torch
import torch.distributed as distributed
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[1] / "worker"))

import check        # noqa: E402


def model_of(directory):
    """Convolutions first, where there are any: their weights have four dimensions."""
    layers = check.weights(directory, 0)
    parts = []
    for number, (weight, bias) in enumerate(layers):
        is_convolution = weight.ndim == 4
        layer = (nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2], padding=weight.shape[2] // 2)
                 if is_convolution else nn.Linear(weight.shape[1], weight.shape[0]))
        layer.weight.data.copy_(torch.from_numpy(weight))
        layer.bias.data.copy_(torch.from_numpy(bias))
        if not is_convolution and (number == 0 or layers[number - 1][0].ndim == 4):
            parts.append(nn.Flatten())
        parts += [layer] + [nn.ReLU()] * (number + 1 < len(layers)) + [nn.MaxPool2d(2)] * is_convolution
    return nn.Sequential(*parts).to(memory_format=torch.channels_last)


def main(directory, images, batch):
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    distributed.init_process_group("gloo", init_method="env://")
    rank = distributed.get_rank()
    size = distributed.get_world_size()
    model = nn.parallel.DistributedDataParallel(model_of(directory))
    settings = json.loads((Path(directory) / "rank-0/model.json").read_text())
    x = torch.from_numpy(check.read_idx("train-images-idx3-ubyte.gz")[:images, None].copy())
    y = torch.from_numpy(check.read_idx("train-labels-idx1-ubyte.gz")[:images].astype(numpy.int64))
    order = torch.from_numpy(numpy.load(f"{directory}/order-{rank}.npy").astype(numpy.int64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    entropy = nn.CrossEntropyLoss()
    mean, scale = settings["mean"], 1 / settings["deviation"]

    def epoch():
        losses = []
        began, cpu_began = time.perf_counter(), time.process_time()
        for index in order.split(batch):
            inputs = ((x[index].float() - mean) * scale).contiguous(memory_format=torch.channels_last)
            optimizer.zero_grad(set_to_none=False)
            loss = entropy(model(inputs), y[index])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return {"seconds": (time.perf_counter() - began) / len(losses),
                "cpu_seconds": (time.process_time() - cpu_began) / len(losses), "losses": losses}

    print(f"PyTorch {torch.__version__}, oneDNN {torch.backends.mkldnn.is_available()}, {size} ranks", flush=True)
    print("ready", flush=True)
    for _ in sys.stdin:
        distributed.barrier()
        print(json.dumps(epoch()), flush=True)
    os._exit(0)     # Gloo's threads may still be in a collective of another rank's end


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
