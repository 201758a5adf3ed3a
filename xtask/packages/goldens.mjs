// Makes xtask/src/models/goldens.json: what each package's own runtime answers to a fixed pattern. `xtask models` compares
// every converted model with it. Run by hand, only when a package's version changes:
//   node xtask/packages/goldens.mjs .cache/models/npm/node_modules > xtask/src/models/goldens.json
// The line of SFace comes from golden-sface.py.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const packages = resolve(process.argv[2], '@vladmandic');

// The packages' browser builds bring their own runtime, but mistake Node for a server with tfjs-node installed.
const process_ = globalThis.process;
globalThis.process = undefined;
const tf = await import(`${packages}/human/dist/tfjs.esm.js`);
const faceapi = await import(`${packages}/face-api/dist/face-api.esm.js`);
globalThis.process = process_;
const platform = {
  fetch,
  now: () => performance.now(),
  encode: (text) => new TextEncoder().encode(text),
  decode: (bytes) => new TextDecoder().decode(bytes),
  isTypedArray: ArrayBuffer.isView,
};
for (const runtime of [tf, faceapi.tf]) {
  runtime.env().setPlatform('node', platform);
  await runtime.setBackend('cpu');
  await runtime.ready();
}

/** The same pattern as `golden::pattern` in Rust: bytes 0–255, height × width × RGB. */
function pattern(side) {
  const bytes = new Float32Array(side * side * 3);
  let i = 0;
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      for (let c = 0; c < 3; c++) bytes[i++] = (x * 7 + y * 13 + c * 50 + ((x >> 4) ^ (y >> 4)) * 37) & 255;
    }
  }
  return bytes;
}

/** At most 1500 values, evenly spaced, six digits each. */
async function sample(tensor) {
  const values = await tensor.data();
  const step = Math.ceil(values.length / 1500) | 1; // odd, so that rows of any even length are crossed
  const kept = [];
  for (let i = 0; i < values.length; i += step) kept.push(Number(values[i].toPrecision(6)));
  return { shape: tensor.shape, step, values: kept };
}

async function graph(name) {
  const json = JSON.parse(readFileSync(`${packages}/human/models/${name}.json`));
  const weights = readFileSync(`${packages}/human/models/${name}.bin`);
  return tf.loadGraphModel(tf.io.fromMemory({
    modelTopology: json.modelTopology,
    weightSpecs: json.weightsManifest[0].weights,
    weightData: weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.byteLength),
  }));
}

const input = (side, scale, offset) =>
  tf.tensor4d(pattern(side).map((v) => v * scale + offset), [1, side, side, 3]);

const goldens = {};

const detected = (await graph('blazeface')).execute(input(256, 1 / 127.5, -1)).sort((a, b) => a.size - b.size);
const [scores384, scores512, boxes384, boxes512] = detected;
goldens['face-detector'] = [await sample(tf.concat([tf.concat([scores512, boxes512], 2), tf.concat([scores384, boxes384], 2)], 1))];

const mesh = (await graph('facemesh')).execute(input(192, 1 / 255, 0));
const of = (size) => mesh.find((tensor) => tensor.size === size);
goldens['face-mesh'] = [await sample(of(1404)), await sample(of(1))];

const specs = JSON.parse(readFileSync(`${packages}/face-api/model/face_recognition_model-weights_manifest.json`))[0].weights;
const bytes = readFileSync(`${packages}/face-api/model/face_recognition_model.bin`);
const net = new faceapi.FaceRecognitionNet();
net.loadFromWeightMap(faceapi.tf.io.decodeWeights(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), specs));
const face = faceapi.tf.tensor3d(pattern(150), [150, 150, 3]);
goldens['dlib-embedding'] = [await sample(net.forwardInput(new faceapi.NetInput([face])))];

// One line a model: small, and a change is seen in a diff.
console.log(`{\n${Object.entries(goldens).map(([name, outputs]) => `  ${JSON.stringify(name)}: ${JSON.stringify(outputs)}`).join(',\n')}\n}`);
