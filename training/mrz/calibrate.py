"""How often characters that the network is sure of are wrong: python calibrate.py WEIGHTS SHARD

Prints, for each power of the probabilities, the mean loss, and for each certainty the number of characters above it,
how many of those are wrong, and how many should be.
"""

import sys

import numpy as np
import torch

from train import BLANK, Recogniser, load

POWERS = (1, 1.25, 1.3, 1.5, 2, 3)
CERTAINTIES = (0.5, 0.9, 0.99, 0.999, 0.9999)


def characters(net, shard):
    """The geometric mean of the steps of each character, and what is printed there."""
    means, truths = [], []
    for i, width in enumerate(shard["widths"]):
        x = torch.tensor(shard["pics"][i][None, None, :, :width], dtype=torch.float32)
        with torch.no_grad():
            logs = net(x).log_softmax(-1)[0].numpy()[:, :BLANK]
        places, pitch = shard["places"][i], shard["pitches"][i]
        known = (shard["labels"][i] >= 0) & (places > 1) & (places < width - 2)
        for place, truth in zip(places[known], shard["labels"][i][known]):
            first = max(0, int(np.ceil((place - 0.3 * pitch) / 2)))
            last = max(first + 1, int(np.floor((place + 0.3 * pitch) / 2)) + 1)
            means.append(logs[first:last].mean(0))
            truths.append(truth)
    return np.array(means), np.array(truths)


def main():
    net = Recogniser()
    net.load_state_dict(torch.load(sys.argv[1]))
    net.eval()
    logs, truths = characters(net, load(sys.argv[2]))
    for power in POWERS:
        p = np.exp(logs * power)
        p /= p.sum(1, keepdims=True)
        best, sure = p.argmax(1), p.max(1)
        loss = -np.log(p[np.arange(len(truths)), truths] + 1e-12).mean()
        print(f"power {power}: loss {loss:.4f}, right {(best == truths).mean():.4f} of {len(truths)}")
        for level in CERTAINTIES:
            above = sure > level
            wrong = int((above & (best != truths)).sum())
            print(f"  above {level}: {int(above.sum())}, {wrong} wrong, {float((1 - sure[above]).sum()):.1f} expected")


if __name__ == "__main__":
    main()
