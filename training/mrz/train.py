"""Trains the recogniser of machine-readable zones, and writes it as ONNX.

    python train.py --shards shards --steps 6000 --out mrz.onnx
"""

import argparse
import glob
import json
import math
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from lines import HEIGHT, SYMBOLS

BLANK = len(SYMBOLS)
# Shards from here on are never trained on.
HELD_OUT = 500000


def conv(inputs, outputs, kernel, stride=1, padding=0):
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU())


class Recogniser(nn.Module):
    """n × 1 × 32 × width, 0–255, to n × width/2 × 38 logits: the symbols, then the blank."""

    def __init__(self, c=(16, 32, 48, 96)):
        super().__init__()
        self.stem = nn.Sequential(
            conv(1, c[0], 3, 2, 1),
            conv(c[0], c[1], 3, (2, 1), 1),
            conv(c[1], c[2], 3, (2, 1), 1),
            conv(c[2], c[3], (4, 3), 1, (0, 1)),
        )
        self.along = nn.ModuleList(conv(c[3], c[3], (1, 5), 1, (0, 2)) for _ in range(3))
        self.head = nn.Conv2d(c[3], BLANK + 1, 1)

    def forward(self, x):
        mean = x.mean((2, 3), keepdim=True)
        x = x - mean
        x = x / ((x * x).mean((2, 3), keepdim=True) + 16.0).sqrt()
        x = self.stem(x)
        for layer in self.along:
            x = x + layer(x)
        return self.head(x)[:, :, 0].transpose(1, 2)


class Probabilities(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x).softmax(-1)


def targets(labels, places, pitches, widths, frames):
    """The class of each frame, and -100 beyond the line."""
    n = len(labels)
    out = np.full((n, frames), BLANK, np.int64)
    x = np.arange(frames) * 2.0
    for i in range(n):
        known = labels[i] >= 0
        at = places[i][known]
        nearest = np.abs(x[:, None] - at[None, :]).argmin(1)
        close = np.abs(x - at[nearest]) < 0.3 * pitches[i]
        out[i, close] = labels[i][known][nearest][close]
        out[i, math.ceil(widths[i] / 2):] = -100
    return out


def load(path):
    with np.load(path) as z:
        return {k: z[k] for k in z.files}


def batches(shard, size, r):
    order = np.argsort(shard["widths"] + r.uniform(0, 24, len(shard["widths"])))
    chunks = [order[i:i + size] for i in range(0, len(order) - size + 1, size)]
    for k in r.permutation(len(chunks)):
        pick = chunks[k]
        width = int(-(-shard["widths"][pick].max() // 16) * 16)
        yield {key: value[pick] for key, value in shard.items()} | {"width": min(width, 640)}


def varied(x, r):
    """Cheap changes, so that a line is never seen twice: gain, gamma, noise, height, covered parts."""
    n, h, w = x.shape
    x = x.astype(np.float32)
    gamma = np.exp(r.normal(0, 0.15, (n, 1, 1)))
    x = 255 * (x / 255) ** gamma
    x += r.normal(0, 1, x.shape) * r.uniform(0, 5, (n, 1, 1))
    for i in range(n):
        s = int(r.integers(-2, 3))
        if s > 0:
            x[i] = np.roll(x[i], s, 0)
            x[i, :s] = x[i, s]
        elif s < 0:
            x[i] = np.roll(x[i], s, 0)
            x[i, s:] = x[i, s - 1]
        if r.random() < 0.08:
            a, b = int(r.integers(0, w)), int(r.integers(4, 30))
            c, d = int(r.integers(0, h)), int(r.integers(8, 32))
            x[i, max(0, c - d // 2):c + d // 2, a:a + b] = r.choice([r.uniform(0, 255), 255, x[i].mean()])
    return np.clip(x, 0, 255)


def cells(probabilities, places):
    """The probabilities at the places of one line's characters: the mean of the two nearest frames."""
    t = np.clip(places / 2, 0, len(probabilities) - 1.001)
    i = t.astype(int)
    f = (t - i)[:, None]
    return probabilities[i] * (1 - f) + probabilities[i + 1] * f


def measure(net, shard, limit=600):
    net.eval()
    right = total = lines = 0
    nll = 0.0
    confident_wrong = 0
    with torch.no_grad():
        for i in range(limit):
            w = int(shard["widths"][i])
            p = net(torch.tensor(shard["pics"][i][None, None, :, :w], dtype=torch.float32)).softmax(-1)[0].numpy()
            known = (shard["labels"][i] >= 0) & (shard["places"][i] > 1) & (shard["places"][i] < w - 2)
            truth = shard["labels"][i][known]
            c = cells(p, shard["places"][i][known])[:, :BLANK]
            c = (c + 1e-5) / (c + 1e-5).sum(1, keepdims=True)
            good = c.argmax(1) == truth
            right += good.sum()
            total += len(truth)
            lines += good.all()
            nll -= np.log(c[np.arange(len(truth)), truth]).sum()
            confident_wrong += ((c.max(1) > 0.98) & ~good).sum()
    net.train()
    return {
        "characters": round(right / total, 5),
        "lines": lines / limit,
        "nll": round(nll / total, 4),
        "above .98 but wrong": int(confident_wrong),
        "of": int(total),
    }


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--shards", default="shards")
    a.add_argument("--steps", type=int, default=6000)
    a.add_argument("--batch", type=int, default=32)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--rate", type=float, default=2e-3)
    a.add_argument("--threads", type=int, default=1)
    a.add_argument("--out", default="mrz.onnx")
    a = a.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    r = np.random.default_rng(a.seed)
    net = Recogniser().to(memory_format=torch.channels_last)
    print("parameters", sum(p.numel() for p in net.parameters()), flush=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=a.rate, weight_decay=1e-2)
    held = load(f"{a.shards}/{HELD_OUT}.npz")
    start, step, mean = time.time(), 0, None
    while step < a.steps:
        paths = sorted(glob.glob(f"{a.shards}/0*.npz"))
        for path in r.permutation(paths):
            for batch in batches(load(path), a.batch, r):
                w = batch["width"]
                x = torch.from_numpy(varied(batch["pics"][:, :, :w], r))[:, None].float()
                x = x.to(memory_format=torch.channels_last)
                keys = ("labels", "places", "pitches", "widths")
                y = torch.from_numpy(targets(*(batch[key] for key in keys), w // 2))
                progress = step / a.steps
                rate = a.rate * min(1, (step + 1) / 200) * (0.02 + 0.98 * (1 + math.cos(math.pi * progress)) / 2)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                value = F.cross_entropy(net(x).reshape(-1, BLANK + 1), y.reshape(-1), ignore_index=-100)
                optimizer.zero_grad()
                value.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                mean = value.item() if mean is None else 0.98 * mean + 0.02 * value.item()
                step += 1
                if step % 50 == 0:
                    seconds = round(time.time() - start)
                    print(json.dumps({"step": step, "loss": round(mean, 4), "seconds": seconds}), flush=True)
                if step % 500 == 0:
                    print(json.dumps(measure(net, held, 300)), flush=True)
                    torch.save(net.state_dict(), a.out + ".pt")
                if step >= a.steps:
                    break
            if step >= a.steps:
                break
    print(json.dumps(measure(net, held, 2000)), flush=True)
    export(net, a.out)


def export(net, path):
    net.eval()
    torch.onnx.export(
        Probabilities(net), torch.zeros(1, 1, HEIGHT, 320), path, input_names=["lines"], output_names=["symbols"],
        dynamic_axes={"lines": {0: "n", 3: "width"}, "symbols": {0: "n", 1: "steps"}}, opset_version=17, dynamo=False,
    )


if __name__ == "__main__":
    main()
