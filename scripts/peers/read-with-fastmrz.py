"""Reads the pictures whose paths are read from standard input. crates/bonafide/src/cli/eval/documents/speed.rs has the
format.

The package's Tesseract model `mrz` is not in its wheel. If Tesseract has none of that name, its model `eng` is used.
"""

import json
import sys
from importlib.metadata import version

import cv2
import fastmrz.fastmrz
import pytesseract

cv2.setNumThreads(1)
MODEL = "mrz" if "mrz" in pytesseract.get_languages() else "eng"
original = pytesseract.image_to_string


def image_to_string(image, lang, config):
    return original(image, lang=MODEL, config=config)


fastmrz.fastmrz.pytesseract.image_to_string = image_to_string
reader = fastmrz.fastmrz.FastMRZ()


def zone(path):
    text = reader.get_details(path, ignore_parse=True)
    return text.split("\n") if text else None


print(json.dumps({"name": f"fastmrz {version('fastmrz')} with Tesseract's {MODEL}"}), flush=True)
for line in sys.stdin:
    print(json.dumps({"mrz": zone(line.rstrip("\n"))}), flush=True)
