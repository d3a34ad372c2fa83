import { basic } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aWorld, opened } from "../support/world.ts";

// The three doors that a password opens, and what is no password: each form of the header is refused at each of them with
// the same bytes as a request without one.

/** With colons, and letters beyond ASCII. */
const passwordOf = (door: string) => `p4ss:of:${door}-ünï`;
/** Every answer ends its connection. */
const PATIENCE_MS = 20_000;
const PREVIOUS = "b4fore:thät-one";
const world = opened(() =>
  aWorld({
    sandbox: { addonPassword: passwordOf("teapots") },
    environment: {
      ADDON_PASSWORD_PREVIOUS: PREVIOUS,
      OPERATOR_PASSWORD: passwordOf("operator"),
      METRICS_PASSWORD: passwordOf("metrics"),
    },
  }),
);

const doors = [
  { door: "platform", user: "teapots", asks: "DELETE /resources/no-uuid", right: 404 },
  { door: "operator", user: "operator", asks: "GET /operator", right: 200 },
  { door: "metrics", user: "metrics", asks: "GET /metrics", right: 200 },
];

const base64 = (text: string, encoding: BufferEncoding = "utf8") =>
  Buffer.from(text, encoding).toString("base64");
/** Headers with these words behind the scheme. */
const afterBasic = (...words: string[]) => words.map((word) => [`Basic ${word}`]);
/** Headers whose base64 is right, and holds these credentials. */
const holding = (...credentials: string[]) => afterBasic(...credentials.map((each) => base64(each)));

/** Each form is the `Authorization` headers of one request, in Latin-1, that are wrong by RFC 7617 or by what they hold. */
function wrongForms(user: string, password: string): string[][] {
  const right = `${user}:${password}`;
  const token = base64(right);
  const middle = (sign: string) => token.slice(0, 8) + sign + token.slice(8);
  const bytes = Buffer.from(right);
  const unpadded = token.replace(/=+$/, "");
  const replaced = Buffer.concat([bytes.subarray(0, bytes.indexOf("ü")), Buffer.from([0xff, 0x6e, 0xff])]);
  const schemes = [
    "Bearer",
    "Digest",
    "Negotiate",
    "Basics",
    "asic",
    "Basic:",
    "Basic,",
    "B\xe0sic",
    '"Basic',
  ];
  return [
    // Another scheme, or what stands between it and the token.
    ...["", "Basic", "Basic =", "Basic ==", "Basic ====", token, right].map((each) => [encoded(each)]),
    ...schemes.map((scheme) => [`${scheme} ${token}`]),
    ...["\t", " \t", "", "=", " = ", ":", "\xa0"].map((space) => [`Basic${space}${token}`]),
    // What decoders of base64 leave out or take for something else.
    ...afterBasic(...[".", "~", "-", "_", " ", "%", "*", "=", "\x80", "\xff", "\t", ",", ";"].map(middle)),
    ...afterBasic(...["=", "==", "A", ".", "~", ", Basic x", "; q=1", "\xa0", ` ${token}`].map((end) => token + end)),
    ...afterBasic(unpadded, `${unpadded}%3D`, encodeURIComponent(token), base64(token), `"${token}"`),
    ...afterBasic(token.toLowerCase(), token.replaceAll("+", "-").replaceAll("/", "_").replace(/=*$/, ".")),
    ...afterBasic(bytes.toString("hex"), encoded(right), withSpareBits(token)),
    // Other encodings of the right credentials.
    ...afterBasic(base64(right, "latin1"), base64(right, "utf16le"), replaced.toString("base64")),
    ...holding(right.normalize("NFD"), `\ufeff${right}`, encodeURIComponent(right)),
    // Other credentials.
    ...holding("", ":", "::", user, `${user}:`, `:${password}`, `${password}:${user}`, `${user}::${password}`),
    ...holding(`${right}:`, `${right} `, ` ${right}`, `${right}\0`, `${right}\n`, `${right}\r\n`, `${right}${right}`),
    ...holding(`${right}\n${right}`, `${user}\0:${password}`, `${user.toUpperCase()}:${password}`, right.slice(0, -1)),
    ...holding(`${user}:${password.toUpperCase()}`, `admin:${password}`, `${user}:${"x".repeat(7_000)}`, right.slice(1)),
    ...holding(...doors.filter((each) => each.user !== user).map((each) => `${user}:${passwordOf(each.user)}`)),
    // Several headers, of which a reader could take any.
    [`Basic ${token}`, `Basic ${token}`],
    [`Basic ${token}`, basic(user, "wrong")],
    [basic(user, "wrong"), `Basic ${token}`],
    ["", `Basic ${token}`],
    [`Basic ${token}`, ""],
    [`Basic ${token}, Basic ${token}`],
  ]; // prettier-ignore
}

/** As the bytes go into a header. */
const encoded = (text: string) => Buffer.from(text).toString("latin1");

/** The same bytes for a lax decoder: bits of the last letter that stand for nothing are set. */
function withSpareBits(token: string): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const [, last, padding] = /(.)(=+)$/.exec(token)!;
  return token.slice(0, -1 - padding!.length) + letters[letters.indexOf(last!) + 1]! + padding!;
}

async function answerTo(asks: string, headers: string[]): Promise<{ statuses: number[]; text: string }> {
  const lines = headers.map((header) => `Authorization: ${header}\r\n`).join("");
  const request = `${asks} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`;
  const { statuses, text } = await rawHttp(world.service.url!, Buffer.from(request, "latin1"), PATIENCE_MS);
  return { statuses, text: text.replace(/^(Date|Request-Id|.*script-src.*): .*\r\n/gim, "") };
}

describe.each(doors)("the $door door", ({ door, user, asks, right }) => {
  const password = passwordOf(user);

  it("refuses every wrong form of the header as it refuses none at all", async () => {
    const refusal = await answerTo(asks, []);
    expect(refusal.statuses).toEqual([401]);
    expect(refusal.text).toMatch(new RegExp(`^WWW-Authenticate: Basic realm="${door}"\r$`, "im"));
    for (const headers of wrongForms(user, password))
      expect([headers, await answerTo(asks, headers)]).toEqual([headers, refusal]);
  });

  it("opens to the right password, in each form that RFC 7617 has", async () => {
    const token = base64(`${user}:${password}`);
    const forms = ["Basic ", "basic ", "BASIC ", "bAsIc    ", " \tBasic "].map((begin) => `${begin}${token}`);
    const former = door === "platform" ? [basic(user, PREVIOUS)] : [];
    for (const header of [...forms, `Basic ${token} \t`, ...former])
      expect([header, (await answerTo(asks, [header])).statuses]).toEqual([header, [right]]);
  });

  it("refuses before the body has come, asks nobody for it, and closes the connection", async () => {
    const path = asks.split(" ")[1]!;
    for (const expect100 of ["", "Expect: 100-continue\r\n"]) {
      const head = `Host: x\r\nAuthorization: ${basic(user, "wrong")}\r\nContent-Length: 200000\r\n${expect100}`;
      const answer = await rawHttp(world.service.url!, `POST ${path} HTTP/1.1\r\n${head}\r\n`, PATIENCE_MS);
      expect(answer).toMatchObject({ statuses: [401], closed: true });
    }
  });
});
