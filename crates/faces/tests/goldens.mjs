// Makes goldens.json: where `human` (the package that the detector and the mesh come from) sees the faces of the sample
// photographs, by its own pipeline. Run by hand, only when the package's version changes. It decodes no JPEG, so each
// argument is NAME=FILE, a file of width and height (little-endian u32) and RGB bytes:
//   node crates/faces/tests/goldens.mjs NODE_MODULES sample3=/tmp/sample3.rgb … > crates/faces/tests/goldens.json
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [root, ...pictures] = process.argv.slice(2);
const packages = resolve(root, '@vladmandic');

// The package's browser build brings its own runtime, but mistakes Node for a server with tfjs-node installed.
const process_ = globalThis.process;
globalThis.process = undefined;
const { Human } = await import(`${packages}/human/dist/human.esm.js`);
globalThis.process = process_;

globalThis.fetch = async (url) => {
  const name = String(url).split('/').pop();
  const type = name.endsWith('json') ? 'application/json' : 'application/octet-stream';
  return new Response(readFileSync(`${packages}/human/models/${name}`), { headers: { 'content-type': type } });
};
const off = { enabled: false };
const human = new Human({
  backend: 'cpu', modelBasePath: 'http://models/', warmup: 'none', filter: off, gesture: off, body: off, hand: off, object: off,
  face: {
    enabled: true, iris: off, emotion: off, description: off, antispoof: off, liveness: off, attention: off,
    detector: { modelPath: 'blazeface.json', maxDetected: 10, minConfidence: 0.3, rotation: true },
    mesh: { enabled: true, modelPath: 'facemesh.json' },
  },
});
human.tf.env().setPlatform('node', {
  fetch: globalThis.fetch,
  now: () => performance.now(),
  encode: (text) => new TextEncoder().encode(text),
  decode: (bytes) => new TextDecoder().decode(bytes),
  isTypedArray: ArrayBuffer.isView,
});
await human.tf.setBackend('cpu');
await human.tf.ready();

const goldens = {};
for (const picture of pictures) {
  const [name, file] = picture.split('=');
  const raw = readFileSync(file);
  const shape = [1, raw.readUInt32LE(4), raw.readUInt32LE(0), 3];
  const { face } = await human.detect(human.tf.tensor4d(new Float32Array(raw.subarray(8)), shape));
  const middle = (mesh, [a, b]) => [0, 1].map((axis) => (mesh[a][axis] + mesh[b][axis]) / 2);
  goldens[name] = face.map(({ mesh }) => ({ right: middle(mesh, [33, 133]), left: middle(mesh, [263, 362]) }));
}
console.log(JSON.stringify(goldens));
