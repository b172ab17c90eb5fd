"""Trains a small network on Fashion-MNIST with DistributedDataParallel.

All that it knows of the cluster is RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT.
"""

import argparse
import gzip
import os
import sys
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def read(path):
    """A file of bytes in IDX format: 0, 0, 8, the number of dimensions, each of them in four bytes, the data."""
    with gzip.open(path) as file:
        data = file.read()
    shape = numpy.frombuffer(data, ">u4", count=data[3], offset=4)
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(shape).copy())


def load(directory, part, device):
    images = read(f"{directory}/{part}-images-idx3-ubyte.gz").to(device).flatten(1).float()
    labels = read(f"{directory}/{part}-labels-idx1-ubyte.gz").to(device).long()
    return (images / 255 - 0.286) / 0.353, labels


def batches(count, size, seed):
    """This rank's share of all images, in an order that is the same on all ranks."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    world = dist.get_world_size()
    return order[:count - count % world][dist.get_rank()::world].split(size)


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def train(options, device):
    images, labels = load(options.data, "train", device)
    test = load(options.data, "t10k", device)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(1, options.epochs + 1):
        began, losses = time.monotonic(), []
        for batch in batches(len(images), options.batch, seed=epoch):
            batch = batch.to(device)
            loss = cross_entropy(parallel(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        loss = torch.stack(losses).mean()
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}  loss {loss.item() / dist.get_world_size():.4f}  accuracy {accuracy(model, *test):.4f}  "
                  f"{len(images) / (time.monotonic() - began):.0f} samples/s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="images of each rank in a step")
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} ranks on {device.type}: PyTorch {torch.__version__} in {sys.prefix}", flush=True)
    train(options, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
