import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { Random } from "../chaos/random.ts";

/** A body as it is sent. */
export interface Envelope {
  headers: Record<string, string>;
  /** The body before it was compressed: what a JSON parser sees if everything is decoded. */
  plain: Buffer;
  bytes: Buffer;
  /**
   * How it is sent: `whole`; `chunked`, without a length; `cut`, left incomplete; or `gone`, whole, but the client does
   * not wait for the answer.
   */
  manner: "whole" | "chunked" | "cut" | "gone";
}

/** Mutations of a body's headers, encoding and manner of sending. */
export const envelopeMutations: Record<string, (envelope: Envelope, random: Random) => void> = {
  "another type": (envelope, random) => {
    envelope.headers["content-type"] = random.one([
      ...["application/vnd.svc-addons+json; version=3", "APPLICATION/JSON", "application/json;charset=UTF8"],
      ...['application/json; charset="utf-8"', "application/json; charset=utf-16", "application/json; charset=latin1"],
      ...["text/plain", "text/json", "application/jsonx", "application/+json", "application/x+json+", "", "json"],
      ...["application/json; charset=utf-8; charset=utf-16", "application/json;;;", "multipart/form-data; boundary=x"],
      ...["application/x-www-form-urlencoded", "*/*", `application/${"x".repeat(4_000)}+json`, "application/json, text/plain"],
    ]);
  },
  "no type": ({ headers }) => void delete headers["content-type"],
  "another alphabet": (envelope, random) => {
    const alphabet = random.one(["utf16le", "latin1"] as const);
    // Latin-1 cannot represent most characters: the result counts as what was sent.
    envelope.plain = envelope.bytes = Buffer.from(envelope.plain.toString(), alphabet);
    if (random.chance(0.5)) envelope.headers["content-type"] = "application/json; charset=utf-16le";
  },
  packed: (envelope, random) => {
    const [name, pack] = random.one(PACKINGS);
    envelope.headers["content-encoding"] = name;
    envelope.bytes = pack(envelope.bytes);
  },
  "packed, and harmed": (envelope, random) => {
    const [name, pack] = random.one(PACKINGS);
    envelope.headers["content-encoding"] = name;
    const packed = pack(envelope.bytes);
    envelope.bytes = packed.subarray(0, Math.floor(random.next() * packed.length));
  },
  "packed small": (envelope) => {
    envelope.headers["content-encoding"] = "gzip";
    envelope.bytes = Buffer.concat([gzipSync(envelope.bytes), (vast ??= gzipSync(Buffer.alloc(20_000_000, " ")))]);
  },
  "said to be packed": ({ headers }, random) => {
    headers["content-encoding"] = random.one(["gzip", "br", "deflate", "zstd", "compress", "identity", "gzip, gzip", "x"]);
  },
  "in pieces": (envelope) => void (envelope.manner = "chunked"),
  "left unfinished": (envelope) => void (envelope.manner = "cut"),
  "nobody waits for the answer": (envelope) => void (envelope.manner = "gone"),
  "odd headers": ({ headers }, random) => {
    const [name, value] = random.one([
      ...[["accept", "text/html"], ["accept", "x".repeat(3_000)], ["expect", "100-continue"], ["expect", "200-ok"]],
      ...[["x-http-method-override", "DELETE"], ["range", "bytes=0-1"], ["if-none-match", "*"], ["upgrade", "h2c"]],
      ...[["request-id", "a b\tc"], ["x-request-id", "'; DROP"], ["cookie", "x=1"], ["content-md5", "x"], ["te", "trailers"]],
    ] as [string, string][]);
    headers[name] = value;
  },
}; // prettier-ignore

const PACKINGS: readonly [string, (bytes: Buffer) => Buffer][] = [
  ["gzip", (bytes) => gzipSync(bytes)],
  ["deflate", (bytes) => deflateSync(bytes)],
  ["br", (bytes) => brotliCompressSync(bytes)],
];

/** 20 MB of white space, compressed to 20 kB. Compressed pieces may be concatenated. */
let vast: Buffer | undefined;
