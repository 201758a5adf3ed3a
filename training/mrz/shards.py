"""Renders shards of 2,000 lines each: python shards.py FIRST COUNT FOLDER"""

import os
import sys

import numpy as np

from lines import HEIGHT, MAX_WIDTH, SYMBOLS, line

LINES = 2000
LONGEST = 44


def shard(number):
    """The pictures, widths, labels, places and pitches of a shard's lines. Missing labels are -1."""
    pictures = np.zeros((LINES, HEIGHT, MAX_WIDTH), np.uint8)
    widths = np.zeros(LINES, np.int32)
    labels = np.full((LINES, LONGEST), -1, np.int8)
    places = np.full((LINES, LONGEST), -100, np.float32)
    pitches = np.zeros(LINES, np.float32)
    for i in range(LINES):
        picture, text, at, pitch = line(number * LINES + i)
        width = picture.shape[1]
        pictures[i, :, :width] = picture
        pictures[i, :, width:] = int(picture.mean())
        widths[i], pitches[i] = width, pitch
        labels[i, : len(text)] = [SYMBOLS.index(c) for c in text]
        places[i, : len(text)] = at
    return {"pics": pictures, "widths": widths, "labels": labels, "places": places, "pitches": pitches}


def main():
    first, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    os.makedirs(folder, exist_ok=True)
    for number in range(first, first + count):
        path = f"{folder}/{number:05d}.npz"
        if not os.path.exists(path):
            np.savez(path + ".part.npz", **shard(number))
            os.rename(path + ".part.npz", path)


if __name__ == "__main__":
    main()
