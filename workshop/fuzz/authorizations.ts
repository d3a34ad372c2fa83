import { rawHttp } from "../../test/support/raw-http.ts";
import { createRandom, type Random } from "../chaos/random.ts";

export interface AuthorizationsReport {
  headers: number;
  faults: string[];
}

const AT_ONCE = 8;
/** Above 16 kB of headers, Node itself answers 431. */
const MOST_BYTES = 15_000;

/** Sends `count` mutated `Authorization` headers: each must be refused, and all refusals must be identical. */
export async function fuzzAuthorizations(needs: {
  url: string;
  user: string;
  password: string;
  seed: number;
  count: number;
}): Promise<AuthorizationsReport> {
  const { url, user, password, seed, count } = needs;
  const random = createRandom(seed);
  const headers = Array.from({ length: count }, () => aWrongHeader(random, user, password));
  const refusal = answerOf((await asked(url, null)).text);
  const faults: string[] = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let header = headers.pop(); header !== undefined; header = headers.pop()) {
        const { statuses, text } = await asked(url, header);
        if (String(statuses) === "401" && answerOf(text) === refusal) continue;
        faults.push(`${JSON.stringify(header.slice(0, 80))}: answered ${statuses.join()} ${text.slice(0, 300)}`);
      }
    }),
  );
  return { headers: count, faults };
} // prettier-ignore

/** Sends a header as Latin-1, one byte per character, which an HTTP client would not allow. */
function asked(url: string, authorization: string | null) {
  const header = authorization === null ? "" : `Authorization: ${authorization}\r\n`;
  return rawHttp(url, Buffer.from(`POST /resources HTTP/1.1\r\nHost: x\r\n${header}Content-Length: 0\r\n\r\n`, "latin1"), 10_000);
} // prettier-ignore

/** An answer without the headers that differ in every answer. */
function answerOf(text: string): string {
  return text.replace(/^(Date|Request-Id): .*\r\n/gim, "");
}

function aWrongHeader(random: Random, user: string, password: string): string {
  for (;;) {
    const header = aHeader(random, user, password);
    if (header.length < MOST_BYTES && !isRight(header, `${user}:${password}`)) return header;
  }
}

function aHeader(random: Random, user: string, password: string): string {
  const credentials = random.one(CREDENTIALS)(`${user}:${password}`, random);
  const base64 = Buffer.from(credentials, random.one(["utf8", "utf8", "latin1", "utf16le"] as const)).toString("base64");
  const scheme = random.one(["Basic", "Basic", "Basic", "basic", "BASIC", "Bearer", "Digest", "Negotiate", "Básic", ""]);
  const space = random.one([" ", " ", " ", "  ", "\t", "", " = "]);
  return random.one(HEADERS)(`${scheme}${space}${base64}`, random);
} // prettier-ignore

const CREDENTIALS: readonly ((right: string, random: Random) => string)[] = [
  (right) => right,
  (right, random) => right.slice(0, Math.floor(random.next() * right.length)),
  (right, random) => right.slice(Math.floor(random.next() * right.length)),
  (right, random) => right + random.one(["x", "\0", "\n", ":", " ", "é"]),
  (right, random) => replaced(right, random, random.one(["x", "X", ":", "\0", "🫖", ""])),
  (right) => right.toUpperCase(),
  (right) => right.replace(":", ""),
  (right) => right.replace(":", "::"),
  (right) => right.split(":").reverse().join(":"),
  (_, random) => ":".repeat(Math.floor(random.next() * 4)),
  (_, random) => `${"u".repeat(Math.floor(random.next() * 3_000))}:${"p".repeat(Math.floor(random.next() * 5_000))}`,
]; // prettier-ignore

const HEADERS: readonly ((header: string, random: Random) => string)[] = [
  (header) => header,
  (header) => header,
  (header, random) => replaced(header, random, random.one(["~", ".", "-", "_", "=", " ", "\xff", "\x80", "\t", ",", '"'])),
  (header, random) => replaced(header, random, String.fromCharCode(0x20 + Math.floor(random.next() * 0x5f))),
  (header) => header.replace(/=*$/, ""),
  (header, random) => header + random.one(["=", "==", "A", "AA==", ", Basic x", "; q=1", "\xa0"]),
  (header) => `${header}, ${header}`,
  (header) => `"${header}"`,
  (header) => header.split("").reverse().join(""),
  (header, random) => header.slice(0, Math.floor(random.next() * header.length)),
  (_, random) => Array.from({ length: Math.floor(random.next() * 300) }, () => anyByte(random)).join(""),
]; // prettier-ignore

/** A random byte that HTTP allows in a header value (RFC 9110, 5.5); any other is refused by Node's parser. */
function anyByte(random: Random): string {
  const byte = 0x20 + Math.floor(random.next() * 0xe0);
  return String.fromCharCode(byte === 0x7f ? 0x09 : byte);
}

function replaced(text: string, random: Random, by: string): string {
  const at = Math.floor(random.next() * text.length);
  return text.slice(0, at) + by + text.slice(at + 1);
}

/** Whether the header is right by RFC 7617, decided without the service's own code. */
function isRight(header: string, credentials: string): boolean {
  const [, token] = /^basic +([^ ]+)$/i.exec(header.replace(/^[ \t]+|[ \t]+$/g, "")) ?? [];
  return token === Buffer.from(credentials).toString("base64");
}
