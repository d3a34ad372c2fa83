/** PostgreSQL's number for the type `bytea`. */
const BYTEA = 17;

/**
 * Encodes a list of byte strings in PostgreSQL's binary format; returns any other value as it is. The driver would
 * write each byte as two digits, which PostgreSQL has to parse: a third of what a batch of sealed values costs both.
 *
 * The format: the number of dimensions (1), whether there are nulls, the type of the elements, their number, the index
 * of the first; then each element with its length in front, −1 for null (array_recv in PostgreSQL's arrayfuncs.c).
 */
export function bytesInBinary(value: unknown): unknown {
  if (!isListOfBytes(value)) return value;
  const size = value.reduce((sum, each) => sum + 4 + (each?.length ?? 0), 20);
  const form = Buffer.allocUnsafe(size);
  let at = 0;
  for (const number of [1, value.includes(null) ? 1 : 0, BYTEA, value.length, 1])
    at = form.writeInt32BE(number, at);
  for (const each of value) {
    at = form.writeInt32BE(each?.length ?? -1, at);
    if (each) form.set(each, at);
    at += each?.length ?? 0;
  }
  return form;
}

function isListOfBytes(value: unknown): value is (Uint8Array | null)[] {
  return Array.isArray(value) && value.find((each) => each !== null) instanceof Uint8Array;
}
