import type { Random } from "../chaos/random.ts";
import { sizeUpTo } from "./junk.ts";

/** Mutations of a body's bytes. */
export const byteMutations: Record<string, (bytes: Buffer, random: Random) => Buffer> = {
  "bits flip": (bytes, random) => {
    const changed = Buffer.from(bytes);
    for (let left = 1 + Math.floor(random.next() * 8); left > 0 && changed.length > 0; left--) {
      const at = Math.floor(random.next() * changed.length);
      changed[at]! ^= 1 << Math.floor(random.next() * 8);
    }
    return changed;
  },
  "bytes that are no UTF-8": (bytes, random) =>
    spliced(bytes, random, 0, Buffer.from(random.one(["ff", "c080", "eda080", "f4908080", "e2 82", "80"]).replace(" ", ""), "hex")),
  "bytes put in": (bytes, random) =>
    spliced(bytes, random, 0, Buffer.from(Array.from({ length: sizeUpTo(random, 200) }, () => Math.floor(random.next() * 256)))),
  "bytes taken out": (bytes, random) => spliced(bytes, random, sizeUpTo(random, 100), Buffer.alloc(0)),
  "a piece again": (bytes, random) => {
    const at = Math.floor(random.next() * bytes.length);
    return spliced(bytes, random, 0, bytes.subarray(at, at + sizeUpTo(random, 200)));
  },
}; // prettier-ignore

function spliced(bytes: Buffer, random: Random, removed: number, put: Buffer): Buffer {
  const at = Math.floor(random.next() * bytes.length);
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + removed)]);
}
