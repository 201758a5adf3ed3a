"""Embeds the pictures whose paths are read from standard input. crates/bonafide/src/cli/eval/peer.rs has the format.

Except for enlargement, it uses the package's defaults: the HOG detector, the small landmark model, no jitter, and 0.6
as the threshold. By default, the detector doubles a picture once. Here it doubles a small one until its shorter side
has 160 pixels or more, because it finds no face below 80. If a picture has several faces, the largest counts, as in
Bonafide.
"""

import json
import math
import sys
import time

import face_recognition
import numpy
from PIL import Image, ImageOps


def embedding(path):
    try:
        # The package's own function leaves phone pictures on their side.
        picture = numpy.array(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
    except (OSError, Image.DecompressionBombError):
        return None
    doublings = max(1, math.ceil(math.log2(160 / min(picture.shape[:2]))))
    faces = face_recognition.face_locations(picture, doublings)
    if not faces:
        return None
    largest = max(faces, key=lambda face: (face[2] - face[0]) * (face[1] - face[3]))
    return face_recognition.face_encodings(picture, [largest])[0].tolist()


print(json.dumps({"name": "face_recognition", "threshold": 0.6}))
for line in sys.stdin:
    before = time.process_time()
    found = embedding(line.rstrip("\n"))
    elapsed = 1000 * (time.process_time() - before)
    print(json.dumps({"embedding": found, "processorMs": elapsed}))
