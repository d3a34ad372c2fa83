import type { Random } from "../chaos/random.ts";
import { raw } from "./raw-json.ts";

/** A value of a kind that does not belong where it is put. */
export function junkValue(random: Random): unknown {
  return random.one(VALUES)(random);
}

/** A member name that a program may misinterpret. */
export function junkKey(random: Random): string {
  return random.one([
    ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length", "then", "toJSON"],
    ...["", " ", "uuid ", "UUID", "plan\u0000", "\ud800", "🫖", "e\u0301", "a.b", "a[0]", "0", "-1", "$ref"],
    ...[
      "id",
      "state",
      "answer_status",
      "sealed_answer",
      "uuid",
      "plan",
      "k".repeat(random.one([300, 20_000])),
    ],
  ]);
}

const VALUES: readonly ((random: Random) => unknown)[] = [
  ...([null, true, false, 0, -1, 17.5, 2 ** 53, [], {}, [[]], [null], { a: 1 }] as unknown[]).map(
    (value) => () => structuredClone(value),
  ),
  ...["", " ", "0", "null", "undefined", "[object Object]", "a\u0000b", "\ud800", "x\udfff", "\ufeffx", "\ufffd"].map(asIs),
  ...["🫖".repeat(40), `x${"🫖".repeat(40)}`, "שלום", "\u202eevil", "e\u0301\u200b", "ﬀ", "İi", "\u2028\u2029"].map(asIs),
  ...["'; DROP TABLE resources; --", "$1", "%s%n", "${process.env}", "{{7*7}}", "<script>", "`id`", "\\", '"'].map(asIs),
  ...["../../apps", "a\r\nSet-Cookie: x=1", '\n{"level":"error","msg":"forged"}', "\u001b[2J", "\b\t\f"].map(asIs),
  ...["1e999", "-1e999", "-0", "1E-400", "0.1e1", "123456789012345678901234567890"].map((text) => () => raw(text)),
  ...['"\\u0000"', '"\\ud83e\\uded6"', '"\\ud800"', '"\\/"', "1".repeat(5_000)].map((text) => () => raw(text)),
  (random) => random.one(["x", "é", "🫖", " ", "\\", "\u0001"]).repeat(sizeUpTo(random, 70_000)),
  (random) => nested(random, "[", "]"),
  (random) => nested(random, '{"a":', "}"),
  (random) => raw(`[${"0,".repeat(sizeUpTo(random, 33_000))}0]`),
  (random) => raw(`{${Array.from({ length: sizeUpTo(random, 6_000) }, (_, index) => `"k${index}":1`).join(",")}}`),
]; // prettier-ignore

function asIs(text: string): () => string {
  return () => text;
}

function nested(random: Random, open: string, close: string): string {
  const depth = sizeUpTo(random, 30_000);
  return raw(`${open.repeat(depth)}0${close.repeat(depth)}`);
}

/** A random size, each order of magnitude equally likely. */
export function sizeUpTo(random: Random, most: number): number {
  return Math.floor(most ** random.next());
}
