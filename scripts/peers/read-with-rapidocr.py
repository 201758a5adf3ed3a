"""Reads the pictures whose paths are read from standard input. crates/bonafide/src/cli/eval/documents/speed.rs has the
format.

It uses the package's defaults (PP-OCRv6 small) on one thread. The package reads any text. Lines that look like those of
a machine-readable zone count as its zone.
"""

import json
import logging
import sys
from importlib.metadata import version

from rapidocr import RapidOCR

logging.disable(logging.CRITICAL)
reader = RapidOCR(
    params={
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }
)


def zone(path):
    texts = [text.replace(" ", "").upper() for text in reader(path).txts or ()]
    lines = [text for text in texts if len(text) >= 24 and "<" in text]
    return lines or None


print(json.dumps({"name": "rapidocr " + version("rapidocr")}), flush=True)
for line in sys.stdin:
    print(json.dumps({"mrz": zone(line.rstrip("\n"))}), flush=True)
