// Removes what the compiler made, so that no file of an earlier build is shipped or tested.
import { rm } from "node:fs/promises";

for (const folder of ["dist", "build"]) {
  await rm(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
}
