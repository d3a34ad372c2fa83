import { inspect } from "node:util";
import { jest } from "@jest/globals";
import { KitError, mayQuote, messageOf, Refusal } from "../../src/errors.ts";
import { createLog, createSample, type Log } from "../../src/logging/log.ts";
import { PlatformRefused } from "../../src/platform/call.ts";
import { createScrubber, Secret } from "../../src/secret.ts";

function aLog(level = "trace") {
  const lines: string[] = [];
  const alarms: string[] = [];
  const scrubber = createScrubber("SVCK-");
  const write = (line: string) => void lines.push(line);
  const log = createLog(level, scrubber, { write }, (alarm) => void alarms.push(alarm));
  return { log, scrubber, lines, alarms, text: () => lines.join("") };
}

const never = (): never => {
  throw new Error("No one may look.");
};

/** A property that throws. */
const UNREADABLE = { enumerable: true, get: never };

const inUrl = encodeURIComponent;
const hex = (text: string) => Buffer.from(text).toString("hex");
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text)).buffer;
const asCode = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
const percent = (letter: string) => `%${hex(letter).toUpperCase()}`;
const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" } as Record<string, string>;
const markup = (text: string, quote: string) => text.replace(/[&<>"']/g, (letter) => MARKUP[letter] ?? quote);
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Ways in which secrets get into logs: what is logged. */
const ways: Record<string, (secret: string) => unknown[]> = {
  "as the message": (secret) => [secret],
  "in quotes, brackets, and after an equals sign": (s) => [
    `"${s}" [${s}] (${s}) {${s}} <${s}> secret=${s};x`,
  ],
  "after line feeds, tabs and escapes": (s) => [`first\n${s}\t${s}\r${s}\u001b${s}\u001b[0m`],
  "touching letters, digits and dashes": (s) => [`token${s}token 0-${s}_9-${s}`],
  "twice in a row": (secret) => [secret + secret],
  "with %s": (secret) => ["token %s", secret],
  "with %o": (secret) => ["answer %o", { a: { b: secret } }],
  "with %j": (secret) => ["answer %j", { a: [secret] }],
  "as a member": (secret) => [{ token: secret }, "x"],
  "as the name of a member": (secret) => [{ [secret]: 1 }, "x"],
  "at depth 5": (secret) => [{ a: { b: { c: { d: { token: secret } } } } }, "x"],
  "in an array": (secret) => [{ list: ["a", [secret]] }, "x"],
  "in an error's message": (secret) => [{ error: new Error(`bad token ${secret}`) }, "x"],
  "in an error logged by itself": (secret) => [new Error(`bad token ${secret}`)],
  "in an error under another name": (secret) => [{ reason: new Error(`bad token ${secret}`) }, "x"],
  "in an error's cause": (s) => [{ error: new Error("x", { cause: new Error(`inner ${s}`) }) }, "x"],
  "in the cause of a cause": (secret) => [
    { error: new Error("x", { cause: new Error("y", { cause: new Error(secret) }) }) },
  ],
  "in an error's member": (secret) => [
    { error: Object.assign(new Error("x"), { config: { headers: { authorization: secret } } }) },
  ],
  "in an error's stack": (secret) => [
    { error: Object.assign(new Error("x"), { stack: `Error: x\n    at ${secret} (file.ts:1:2)` }) },
  ],
  "in an error in a list": (secret) => [{ results: [Object.assign(new Error(secret), { secret })] }, "x"],
  "in an error at depth 4": (secret) => [{ a: { b: { c: new Map([[1, 2]]), d: new Error(secret) } } }, "x"],
  "in a refusal": (secret) => [{ error: new Refusal(`no: ${secret}`, { id: secret }) }, "x"],
  "in several errors at once": (s) => [{ error: new AggregateError([new Error(s)], `all failed: ${s}`) }],
  "thrown as a text": (secret) => [{ error: secret }, "x"],
  "in JSON": (secret) => [JSON.stringify({ token: secret })],
  "in JSON in JSON": (s) => [JSON.stringify({ body: JSON.stringify({ token: `a\n${s}` }) })],
  "as JavaScript shows it": (secret) => [inspect({ token: `a\n${secret}` })],
  "in a URL's path": (secret) => [`GET https://api.example.com/tokens/${inUrl(secret)}/x`],
  "in a URL's query": (secret) => [{ url: `https://x.example.com/?code=${inUrl(secret)}&a=b` }, "x"],
  "in a URL's password": (secret) => [`postgres://user:${inUrl(secret)}@host/db`],
  "in a URL in a URL": (s) => [`https://x/?next=${inUrl(`https://y/?a=b&code=${inUrl(s)}`)}`],
  "in a form": (s) => [new URLSearchParams({ grant_type: "x", client_secret: s }).toString()],
  "in base64": (secret) => [base64(secret)],
  "in base64 for URLs": (secret) => [Buffer.from(secret).toString("base64url")],
  "in Basic credentials": (s) => [["a", "ab", "abc"].map((user) => base64(`${user}:${s}`)).join(" ")],
  "in base64 with something behind it": (secret) => [base64(`${secret}:more of it`)],
  "in hexadecimal digits": (secret) => [`0x${hex(secret)} ${hex(`user:${secret}:x`).toUpperCase()}`],
  "as a buffer": (secret) => [{ token: Buffer.from(secret), list: [Buffer.from(secret)] }, "x"],
  "as a buffer with %o, and as the message": (secret) => ["token %o", Buffer.from(secret)],
  "as what JSON makes of a buffer": (secret) => [{ token: Buffer.from(secret).toJSON() }, "x"],
  "as typed arrays": (secret) => [{ of: new Uint8Array(Buffer.from(secret)), at: bytesOf(secret) }, "x"],
  "in a text as bytes": (secret) => [inspect([Buffer.from(secret), new Uint8Array(Buffer.from(secret))])],
  "in a text as JSON of a buffer": (secret) => [JSON.stringify({ token: Buffer.from(secret) })],
  "in an error as JSON of a buffer": (s) => [{ error: new Error(JSON.stringify(Buffer.from(s))) }, "x"],
  "in JSON with escaped slashes": (secret) => [JSON.stringify({ a: secret }).replaceAll("/", "\\/")],
  "in JSON with HTML's letters escaped": (s) => [JSON.stringify({ a: s }).replace(/[<>&']/g, asCode)],
  "in JSON in ASCII alone": (s) => [
    JSON.stringify({ a: s })
      .replaceAll("/", "\\/")
      .replace(/[^\0-\x7f]/g, asCode),
  ],
  "in an address that was encoded whole": (secret) => [`GET ${encodeURI(`https://x/${secret}`)}`],
  "in an address, as other languages encode it": (s) => [
    `${inUrl(s).replace(/[!'()*]/g, percent)} ${inUrl(s)
      .replace(/[!'()*]/g, percent)
      .replaceAll("%2F", "/")}`,
  ],
  "in the query of an address as Node writes it": (s) => [
    new URL(`https://x/?a=${s.replaceAll("#", "%23")}`).href,
  ],
  "in HTML": (secret) => [`<p>${markup(secret, "&#39;")}</p> <a title="${markup(secret, "&#x27;")}">`],
  "in HTML that escapes slashes": (secret) => [markup(secret, "&#x27;").replaceAll("/", "&#x2F;")],
  "in capitals": (secret) => [secret.toUpperCase()],
  "in small letters": (secret) => [`the token ${secret.toLowerCase()}Σ`],
  "in other letters for the digits of a URL": (s) => [inUrl(s).replace(/%../g, (code) => code.toLowerCase())],
};
const write = (log: Log, words: unknown[]) => (log.error as (...words: unknown[]) => void)(...words);

/** Forms of secrets. The first is recognised by its prefix, the others must be registered with the scrubber. */
const secrets: Record<string, string> = {
  "an access token": "SVCK-5f2a9c1e-77d0-4b8e-a3c4-9d1e2f3a4b5c",
  "a uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  hex: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
  "base64 with its signs": "q83vEjRWeJ+/Zm9v/YmFy+Zm9vYmFy+A==",
  "with dots and tildes": "abc.DEF~ghi.123-456_789",
  "with what forms are made of": "p&ss=w+rd%2F with space?#",
  "with quotes and backslashes": 'it\'s "quoted" \\ and / slashed',
  "beyond ASCII": "pässwörd-🫖-שלום",
  short: "s3cr3t!",
};

describe.each(Object.entries(secrets))("the scrubber hides a secret that is %s", (kind, secret) => {
  it.each(Object.entries(ways))("%s", (_way, said) => {
    const { log, scrubber, text, lines } = aLog();
    if (kind !== "an access token") scrubber.hide(new Secret(secret));
    write(log, said(secret));
    write(log.child({ token: secret }), ["x"]);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(JSON.parse(line)).toEqual(expect.any(Object));
    for (const shown of readings(text())) {
      expect(shown).not.toContain(secret);
      expect(shown.toLowerCase()).not.toContain(secret.toLowerCase());
    }
  });
});

it("bytes are shown by their number", () => {
  const { log, lines } = aLog();
  const buffer = Buffer.from("32 bytes, which are a key or not");
  log.info({ buffer, json: buffer.toJSON(), floats: new Float32Array(4), list: [1, 2] }, "x");
  const shown = { buffer: "[32 bytes]", json: "[32 bytes]", floats: "[16 bytes]", list: [1, 2] };
  expect(JSON.parse(lines[0]!)).toMatchObject(shown);
});

/** A line, and the forms in which a reader could decode it. */
function readings(text: string): string[] {
  const unescaped = text.replace(/\\(?:u([0-9a-f]{4})|(.))/g, (_all, code: string, sign: string) =>
    code
      ? String.fromCharCode(parseInt(code, 16))
      : ({ n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" }[sign] ?? sign),
  );
  const twice = unescaped.replace(/\\(.)/g, "$1");
  const decoded = [text, unescaped, twice].map((each) =>
    each
      .replaceAll("+", " ")
      .replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString()),
  );
  const fromBase64 = [...unescaped.matchAll(/[A-Za-z0-9+/_-]{8,}/g)].map(([word]) =>
    Buffer.from(word, "base64").toString(),
  );
  const fromHex = [...unescaped.matchAll(/(?:[0-9a-f]{2}){4,}/gi)].map(([word]) =>
    Buffer.from(word, "hex").toString(),
  );
  const fromNumbers = [...unescaped.matchAll(/\d+(?:,\s*\d+){3,}/g)].map(([list]) =>
    Buffer.from(list.split(",").map(Number)).toString(),
  );
  const spaced = [...unescaped.matchAll(/[0-9a-f]{2}(?: [0-9a-f]{2}){3,}/g)].map(([list]) =>
    Buffer.from(list.replaceAll(" ", ""), "hex").toString(),
  );
  const fromMarkup = unescaped.replace(/&(?:(amp)|(lt)|(gt)|(quot)|#(\d+)|#x([0-9A-F]+));/g, (...found) => {
    const [, amp, lt, gt, quot, decimal, digits] = found as (string | undefined)[];
    return amp
      ? "&"
      : lt
        ? "<"
        : gt
          ? ">"
          : quot
            ? '"'
            : String.fromCharCode(Number(decimal ?? `0x${digits}`));
  });
  return [
    text,
    unescaped,
    twice,
    ...decoded,
    ...fromBase64,
    ...fromHex,
    ...fromNumbers,
    ...spaced,
    fromMarkup,
  ];
}

describe("the scrubber", () => {
  const secret = new Secret("correct-horse-battery-staple");

  it("leaves other text unchanged", () => {
    const { scrub, hide } = createScrubber("SVCK-");
    hide(secret);
    const line = '{"msg":"correct-horse-battery-stapl orrect-horse","path":"/a%20b/c+d","n":1}\n';
    expect(scrub(line)).toBe(line);
  });

  it("does not hide every short word", () => {
    const { scrub, hide } = createScrubber("");
    hide(new Secret("abc"), new Secret('":'), new Secret(""));
    const line = String.raw`abc SVCK-0123456789 YWJj %22%3A {"msg":"{\"a\":\"{\\\"b\\\":1}\"}"}`;
    expect(scrub(line)).toBe(line);
  });

  it.each([
    ["https://admin:hunter2hunter2@queue.example/a", "https://admin:[secret]@queue.example/a"],
    ["postgresql://vendor:hunter2hunter2@db/x, or not", "postgresql://vendor:[secret]@db/x, or not"],
    ["redis://:hunter2hunter2@cache:6379", "redis://:[secret]@cache:6379"],
    ["amqps://me:p%40hunter2hunter2%2f@mq:5671?a=b@c", "amqps://me:[secret]@mq:5671?a=b@c"],
    ["https://me:hunter2@hunter2@host", "https://me:[secret]@host"],
    ["https://me:hunter2@a https://you:hunter2:hunter2@b", "https://me:[secret]@a https://you:[secret]@b"],
    ["mongodb://me:hunter2@one:27017,two:27017/x", "mongodb://me:[secret]@one:27017,two:27017/x"],
  ])("hides the password in an address: %s", (text, shown) => {
    const { log, lines } = aLog();
    expect(createScrubber("").scrub(text)).toBe(shown);
    log.warn({ error: new Error(text, { cause: new Error(text) }), to: [text] }, text);
    const line = JSON.parse(lines[0]!) as { error: { message: string; stack: string }; to: unknown };
    expect(line).toMatchObject({ error: { message: `${shown}: ${shown}` }, to: [shown], msg: shown });
    expect(lines[0]).not.toContain("hunter2");
  });

  it.each([
    "http://127.0.0.1:3000/@scope/a:b@c",
    "GET https://api.example.com:8443/users?mail=a@b.example",
    String.raw`{"body":"{\"url\":\"http://a.example:80\",\"mail\":\"me@b.example\"}"}`,
    "at file:///srv/node_modules/@scope/x.js:12:34",
    "ssh://git@host.example:22/x and mailto:me@b.example",
    "https://a.example#b:c@d",
  ])("leaves an address without a password unchanged: %s", (text) => {
    expect(createScrubber("").scrub(text)).toBe(text);
  });
});

describe("what foreign code throws", () => {
  const secret = "value of a config var";
  const thrown: [string, unknown][] = [
    ["an error", new Error(`No: ${secret}`)],
    ["one with a member", Object.assign(new Error(`No: ${secret}`), { headers: { authorization: secret } })],
    ["one with a cause", new Error("x", { cause: new Error(secret) })],
    ["a refusal", new Refusal(`No: ${secret}`, { id: secret })],
    ["a frozen error that quotes JSON", Object.freeze(new Error(JSON.stringify({ a: `"${secret}"` })))],
    ["an error that quotes an address", new Error(`GET /?a=${encodeURIComponent(secret)}`)],
    ["a text", `No: ${secret}`],
    ["an object", { no: { [secret]: secret } }],
  ];

  it.each(thrown)("is shown without the secrets that its work holds: %s", (_, each) => {
    const { log, text } = aLog();
    const error = mayQuote(each, [new Secret(secret)]);
    log.warn({ error, reason: messageOf(error), list: [new KitError("x", "x", { cause: error })] }, "x");
    expect(text()).toContain("[secret]");
    class Result {
      error = error;
    }
    const bare = Object.assign(Object.create(null) as object, { error });
    const circular: Record<string, unknown> = { error, shown: { toJSON: () => ({ error }) } };
    circular["self"] = circular;
    log.warn({ results: [{ error }, [error]], result: new Result(), bare, circular }, "x");
    for (const words of [[error], ["%s", error], ["%o %j", error, { error }], [{}, error]]) write(log, words);
    for (const shown of readings(text())) expect(shown).not.toContain(secret);
  });

  it("is shown without secrets, and holds nobody up, when very many calls have thrown the same one", () => {
    const shared = new Error(`No: ${secret}`);
    for (let call = 0; call < 50_000; call++)
      mayQuote(shared, [new Secret(call === 0 ? secret : (call * 2_654_435_761).toString(36).repeat(4))]);
    expect(messageOf(shared)).toBe("No: [secret]");
  });
});

it.each([
  ["connect EMFILE 10.0.0.1:443", "this process has no free file descriptors"],
  ["open ENFILE", "this machine has no free file descriptors"],
  ["getaddrinfo EBUSY db", "the name cannot be resolved, as when no file descriptor is free"],
  ["connect EADDRNOTAVAIL 10.0.0.1:443", "this machine has no free port, or no address, to connect from"],
])("an error says in words what is used up: %s", (message, words) => {
  const [syscall, code] = message.split(" ");
  const error = Object.assign(new Error(message), { syscall, code });
  expect(messageOf(error)).toBe(`${words} (${message})`);
  expect(messageOf(new AggregateError([error, error]))).toBe(`${words} (${message}); ${words} (${message})`);
  const { log, text } = aLog();
  log.warn({ error: new KitError("x", "It failed", { cause: error }) }, "x");
  expect(JSON.parse(text())).toMatchObject({ error: { message: `It failed: ${words} (${message})` } });
});

describe("the log", () => {
  it.each([
    ["a line feed and a forged line", 'x\n{"level":"fatal","msg":"forged"}'],
    ["carriage returns", "x\r\nlevel=fatal"],
    ["colours and a cleared screen", "\u001b[31mred\u001b[2J"],
    ["separators of JavaScript", "a\u2028b\u2029c"],
    ["half a surrogate pair", "\ud83d"],
  ])("writes one line for one event, whatever it contains: %s", (_case, text) => {
    const { log, lines } = aLog();
    log.warn({ plan: text, [text]: 1, error: new Error(text) }, text);
    expect(lines).toHaveLength(1);
    expect(lines[0]!.trimEnd()).not.toMatch(/\p{Cc}/u);
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: "warn" });
  });

  it.each<[string, (text: string) => unknown[]]>([
    ["a member", (text) => [{ asked: [text] }, "x"]],
    ["the message", (text) => [text]],
    ["an error", (text) => [{ error: new Error(text) }, "x"]],
  ])("truncates %s, without leaving the beginning of a secret", (_case, said) => {
    const secret = "correct-horse-battery-staple";
    const token = "SVCK-0123456789abcdef";
    const { log, scrubber, text, lines } = aLog();
    scrubber.hide(new Secret(secret));
    for (let shown = 1; shown < secret.length; shown++)
      for (const each of [secret, encodeURIComponent(`${secret} `), token])
        write(log, said(`${"x".repeat(2048 - shown)}${each} ${"y".repeat(50)}`));
    const ends = [...text().matchAll(/x([^x"]*)… \(cut\)/g)].map(([, end]) => end);
    expect(ends.length).toBeGreaterThanOrEqual(3 * 27);
    expect(ends.filter((end) => /^(corr|SVCK)/.test(end!))).toEqual([]);
    write(log, said("x".repeat(1_000_000)));
    expect(lines.at(-1)!.length).toBeLessThan(8_000);
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ level: "error" });
  });

  it("writes type, id, message, causes and stack of an error under any name", () => {
    const { log, lines } = aLog();
    const error = new Refusal("The kiln is full.", { id: "kiln_full", cause: new Error("No clay.") });
    log.error({ error, reason: error }, "x");
    const shown = {
      ...{ type: "Refusal", id: "kiln_full" },
      message: "The kiln is full.: No clay.",
      stack: expect.stringContaining("log.test.ts"),
    };
    expect(JSON.parse(lines[0]!)).toMatchObject({ error: shown, reason: shown });
  });

  it.each([
    ["at teapot (/app/dist/your-service/index.js:40:9)", "dist/your-service/index.js:40"],
    ["at async file:///a%20b/src/your-service/pots/kiln.ts:7:1", "src/your-service/pots/kiln.ts:7"],
    ["at run (/app/dist/process/run-web.js:1:1)", "src/your-service/z.ts:1"],
  ])("writes the first place in the vendor's code: %s", (frame, at) => {
    const { log, lines } = aLog();
    const stack = `Error: x\n    at node:internal/timers:1:1\n    ${frame}\n    at z (/app/src/your-service/z.ts:1:1)`;
    log.error({ error: Object.assign(new Error("x"), { stack }) }, "x");
    expect(JSON.parse(lines[0]!)).toMatchObject({ error: { at } });
  });

  it("writes the platform's request id of a refusal, however the error is wrapped", () => {
    const { log, lines, scrubber } = aLog();
    const call = { method: "GET", url: new URL("https://api.example/addons/1") };
    const refusalWith = (id: string, sent: string[] = []) =>
      new PlatformRefused(call, { status: 403, headers: { "request-id": id }, body: "{}" }, sent);
    const error = new Error("Not found out", { cause: refusalWith("f058ebd6") });
    log.error({ error, reason: refusalWith("f058ebd6") }, "x");
    const shown = { platformRequestId: "f058ebd6", message: expect.stringContaining("/addons/1") };
    expect(JSON.parse(lines[0]!)).toMatchObject({ error: shown, reason: shown });
    scrubber.hide(new Secret("a-secret-of-ours"));
    const sent = refusalWith("sent-secret", ["sent-secret"]);
    log.error({ error: sent, reason: refusalWith("a-secret-of-ours") }, "x");
    expect(lines[1]).not.toMatch(/sent-secret|a-secret-of-ours/);
  });

  it.each([
    ["a frozen one", Object.freeze(new Error("No clay."))],
    ["one with a getter that throws", Object.defineProperty(new Error("No clay."), "clay", UNREADABLE)],
    ["one with no readable cause", Object.defineProperty(new Error("No clay."), "cause", UNREADABLE)],
  ])("writes the message and the stack of an unusual error: %s", (_, error) => {
    const { log, lines } = aLog();
    log.error({ error, reason: error }, "x");
    const shown = { message: "No clay.", stack: expect.stringContaining("log.test.ts") };
    expect(JSON.parse(lines[0]!)).toMatchObject({ error: shown, reason: shown });
  });

  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a symbol", Symbol("x")],
    ["a number that JSON has not", 7n],
    ["a function", never],
    ["a function that cannot be read", new Proxy(never, { get: never })],
    ["a map", new Map([[1, 2]])],
    ["an object without a prototype", Object.create(null)],
    ["an alarm that is no text", { alarm: 7n }],
  ])("writes a line of JSON, whatever stands where: %s", (_, value) => {
    const { log, lines } = aLog();
    const error = log.error.bind(log) as (...line: unknown[]) => void;
    error(value);
    error(value, "x");
    error("x", value);
    error({ x: value, error: value, reason: value, job: value }, value, value);
    error("%s %d %j", value, value, value);
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(
      Array(5).fill("error"),
    );
  });

  it("writes everything else where something cannot be read", () => {
    const { log, lines } = aLog();
    const unreadable = new Proxy(new Error("x"), { get: never, getPrototypeOf: never, ownKeys: never });
    const error = Object.defineProperty(new Error("x"), "id", UNREADABLE);
    log.error({ a: [1, unreadable], error, uuid: "u" }, "x");
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    log.error({ proxy, uuid: "u" }, "x");
    log.error(Object.defineProperty({ uuid: "u" }, "x", UNREADABLE), "x");
    log.error({ uuid: "u" }, "%s", { toString: never });
    write(log, [unreadable, "x"]);
    expect(lines.slice(2).map((line) => JSON.parse(line) as object)).toMatchObject([
      { uuid: "u", x: "(unreadable)", msg: "x" },
      { uuid: "u", msg: "(unreadable)" },
      { level: "error", msg: "x" },
    ]);
    const shown = { level: "error", uuid: "u", msg: "x" };
    expect(JSON.parse(lines[0]!)).toMatchObject({
      ...shown,
      a: [1, "(unreadable)"],
      error: { message: "x", id: "(unreadable)" },
    });
    expect(JSON.parse(lines[1]!)).toMatchObject({ ...shown, proxy: "(unreadable)" });
  });
});

it.each([
  ["error", ["error", "fatal"]],
  ["fatal", ["fatal"]],
  ["silent", []],
])("an alarm is counted where the log is %s, whatever is written", (level, written) => {
  const { log, lines, alarms } = aLog(level);
  log.warn("only a warning");
  log.error({ alarm: "grant_lost" }, "x");
  log.child({ a: 1 }).fatal({ alarm: "crash" }, "x");
  expect(alarms).toEqual(["grant_lost", "crash"]);
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(written);
});

describe("the log's sample", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function aSampledLog() {
    const lines: Record<string, unknown>[] = [];
    const alarms: string[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
    const onAlarm = (alarm: string) => void alarms.push(alarm);
    const log = createLog("info", createScrubber(""), destination, onAlarm, createSample(60_000));
    return { log, lines, alarms };
  }

  it("of the warnings and errors of a kind one a minute is written, with the number of those before; each alarm counts", () => {
    const { log, lines, alarms } = aSampledLog();
    for (let second = 0; second < 150; second++) {
      for (const uuid of ["a", "b"]) log.error({ uuid, second, error: { id: "http_503" } }, "Lost");
      log.error({ alarm: "job_hangs" }, "Hangs");
      log.info("Each is written");
      jest.advanceTimersByTime(1_000);
    }
    expect(alarms).toHaveLength(150);
    const of = (msg: string) => lines.filter((line) => line["msg"] === msg);
    expect(of("Lost")).toMatchObject([
      { uuid: "a", second: 0 },
      { uuid: "a", second: 60, leftOut: 119 },
      { uuid: "a", second: 120, leftOut: 119 },
    ]);
    expect(of("Hangs").map(({ leftOut }) => leftOut)).toEqual([undefined, 59, 59]);
    expect(of("Each is written")).toHaveLength(150);
  });

  it("another sentence, error, reason, job or kind is another kind, but for the ids and times that an error names", () => {
    const { log, lines } = aSampledLog();
    for (const uuid of ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9a3b77c1-4f89-11d3-9a0c-0305e82c3301"]) {
      for (const status of [403, 422])
        log.warn({ uuid, error: new Error(`PATCH /addons/${uuid} was refused with ${status}`) }, "Not yet");
      const others = [{ reason: "expired" }, { reason: "unknown" }, { job: "a" }, { kind: "finish" }];
      for (const members of others) log.error({ uuid, ...members }, "Failed");
    }
    expect(lines).toHaveLength(6);
  });

  it("an alarm about one resource or person hides none about another", () => {
    const { log, lines } = aSampledLog();
    for (const about of [{ uuid: "u-1" }, { person: "p-1" }, { uuid: "u-2" }, { uuid: "u-1" }])
      log.error({ alarm: "quarantined", ...about }, "Quarantined");
    expect(lines).toMatchObject([{ uuid: "u-1" }, { person: "p-1" }, { uuid: "u-2" }]);
  });
});
