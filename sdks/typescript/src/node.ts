// What needs a file system, apart from the rest so that the client also runs where there is none.
import { readFile } from "node:fs/promises";

/** Reads a file for a member such as `passportFront`. */
export async function fileFromPath(path: string | URL): Promise<Blob> {
  return new Blob([await readFile(path)]);
}
