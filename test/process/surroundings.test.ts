import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Environment, readEnvironment } from "../../src/environment.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { settings } from "../../src/operator/doctor/installation.ts";
import { kitJson } from "../support/kit.ts";
import { aServiceProcess } from "../support/process.ts";
import { teapotConfig as readConfig } from "../support/sellers.ts";
import { aWorld } from "../support/world.ts";

const good: Environment = {
  ADDON_ID: "teapots",
  ADDON_PASSWORD: "a-password-of-tests",
  PLATFORM_API_URL: "https://api.example.com",
  PLATFORM_AUTH_URL: "https://id.example.com",
  PLATFORM_STATUS_URL: "https://status.example.com",
  ENCRYPTION_KEY: "9f2c41e07ab85d3613ce8047fb2a9d65",
  DATABASE_URL: "postgresql://shop:its-password@127.0.0.1:5432/shop?sslmode=disable",
};
const UNVERIFIED = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
const bare = (url: string, more: Environment) => ({ DATABASE_URL: url, DATABASE_CA: "no-verify", ...more });

describe("what turns off the checks of TLS", () => {
  it.each<[string, Environment]>([
    ["NODE_TLS_REJECT_UNAUTHORIZED=0", UNVERIFIED],
    [
      "PGSSLMODE=no-verify",
      { PGSSLMODE: "no-verify", DATABASE_URL: "postgresql://shop@db.example.com/shop" },
    ],
  ])("ends a start with its name, and is a warning in development: %s", (name, change) => {
    const refused = () => readConfig({ ...good, ...change });
    expect(refused).toThrow(
      new RegExp(`^These settings are invalid [^\\n]*\\n {2}${name} turns off .* remove it`),
    );
    const { remarks } = readConfig({ ...good, ...change, ALLOW_INSECURE_PLATFORM: "on" });
    expect(remarks[0]).toContain(`${name} turns off`);
  });

  it("keeps every command from sending a secret, and kit doctor names it", async () => {
    const settings = { ...good, ...UNVERIFIED };
    const refused = {
      code: 78,
      data: { message: expect.stringContaining("NODE_TLS_REJECT_UNAUTHORIZED=0 turns off") },
    };
    expect(await kitJson(settings, ["secret", "set"], "a-secret-of-the-portal")).toMatchObject(refused);
    expect(await kitJson(settings, ["migrate"])).toMatchObject(refused);
    const { code, data } = await kitJson<DoctorReport>(settings, ["doctor"]);
    expect({ code, check: data.checks[0] }).toMatchObject({
      code: 78,
      check: { id: "settings", ok: false, ...refused.data },
    });
    await expect(aServiceProcess("worker", settings)).rejects.toThrow(
      "worker ended with 78 before it was ready",
    );
  });
});

/** The warnings of a start with these settings. */
const remarksOn = (change: Environment) => readConfig({ ...good, ...change }).remarks;

it.each<[string, Environment, string]>([
  [
    "--tls-min-v1.0",
    { NODE_OPTIONS: "--tls-min-v1.0" },
    "Node's flag --tls-min-v1.0 allows versions of TLS that are broken",
  ],
  [
    "--tls-min-v1.1 beside another",
    { NODE_OPTIONS: "--no-warnings --tls-min-v1.1" },
    "--tls-min-v1.1 allows",
  ],
  [
    "weak ciphers",
    { NODE_OPTIONS: '"--tls-cipher-list=ALL:@SECLEVEL=0"' },
    "--tls-cipher-list chooses the ciphers",
  ],
  ["a log of keys", { NODE_OPTIONS: "--tls-keylog=/tmp/keys" }, "--tls-keylog writes the keys"],
  ["a lenient parser", { NODE_OPTIONS: "--insecure-http-parser" }, "--insecure-http-parser accepts"],
  ["a lenient parser, with underscores", { NODE_OPTIONS: "--insecure_http_parser" }, "accepts requests"],
  ["the inspector", { NODE_OPTIONS: "--inspect=0.0.0.0:9229" }, "Node's flag --inspect opens"],
  ["a proxy by flag", { NODE_OPTIONS: "--use-env-proxy" }, "--use-env-proxy sends"],
  [
    "a proxy by variable",
    { NODE_USE_ENV_PROXY: "1", HTTPS_PROXY: "http://proxy" },
    "NODE_USE_ENV_PROXY sends",
  ],
  [
    "OpenSSL's old providers",
    { NODE_OPTIONS: "--openssl-legacy-provider" },
    "--openssl-legacy-provider makes",
  ],
  ["a report with the environment", { NODE_OPTIONS: "--report-on-signal" }, "--report-on-signal writes"],
  ["headers on standard error", { NODE_DEBUG: "http,net" }, "NODE_DEBUG prints headers"],
  ["keys for other libraries", { SSLKEYLOGFILE: "/tmp/keys" }, "SSLKEYLOGFILE asks for the keys"],
  ["roots that are missing", { NODE_EXTRA_CA_CERTS: "/no/such/file" }, "NODE_EXTRA_CA_CERTS names no file"],
  ["roots that are none", { NODE_EXTRA_CA_CERTS: tmpdir() }, "NODE_EXTRA_CA_CERTS names no file"],
  ["PGHOST", bare("postgresql://u:p@/db", { PGHOST: "elsewhere" }), "PGHOST decide"],
  ["PGPORT", bare("postgresql://u:p@host/db", { PGPORT: "1", PGUSER: "x" }), "PGPORT decide"],
  [
    "PGUSER, PGPASSWORD",
    bare("postgresql://host:1/db", { PGUSER: "u", PGPASSWORD: "hush-hush" }),
    "PGUSER and PGPASSWORD decide",
  ],
  ["PGDATABASE", bare("postgresql://u:p@host:1", { PGDATABASE: "x" }), "PGDATABASE decide"],
  ["PGSSLMODE", { DATABASE_URL: "postgresql://u:p@host:1/db", PGSSLMODE: "disable" }, "PGSSLMODE decide"],
  [
    "a slip",
    { OPERATOR_PASWORD: "hush-hush" },
    "OPERATOR_PASWORD is no setting: is OPERATOR_PASSWORD meant?",
  ],
  [
    "two letters that changed places",
    { SSO_SATL: "hush-hush" },
    "SSO_SATL is no setting: is SSO_SALT meant?",
  ],
  ["small letters", { trust_proxy: "1" }, "trust_proxy is no setting: is TRUST_PROXY meant?"],
  [
    "other signs",
    { "METRICS-PASSWORD": "hush-hush" },
    "METRICS-PASSWORD is no setting: is METRICS_PASSWORD meant?",
  ],
  [
    "traces in clear",
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://o", OTEL_EXPORTER_OTLP_HEADERS: "hush-hush" },
    "OTEL_EXPORTER_OTLP_HEADERS are sent unencrypted",
  ],
])("%s is a warning, without its value", (_, change, sentence) => {
  const remarks = remarksOn(change);
  expect(remarks).toEqual([expect.stringContaining(sentence)]);
  expect(remarks.join()).not.toMatch(/hush-hush|elsewhere|0\.0\.0\.0|no\/such/);
});

it.each<[string, Environment]>([
  [
    "what a platform sets",
    { PATH: "/bin", HOME: "/", NODE_ENV: "production", DYNO: "web.1", HOSTNAME: "x", PORTS: "1" },
  ],
  [
    "variables of others",
    { LOG_FORMAT: "json", DATABASE_HOST: "x", REDIS_URL: "x", WEB_CONCURRENCY: "2", HTTPS_PROXY: "x" },
  ],
  [
    "harmless flags",
    { NODE_OPTIONS: "--max-old-space-size=400 --enable-source-maps --tls-min-v1.3 --import ./apm.js" },
  ],
  [
    "the driver's variables where the address says it all",
    { PGHOST: "x", PGPORT: "1", PGUSER: "x", PGSSLMODE: "no-verify" },
  ],
  ["a name that is nearly one that is set", { ADDON_IDS: "1", ADDON_PASSWORDS: "1" }],
  ["checks of TLS that stay on", { NODE_TLS_REJECT_UNAUTHORIZED: "1" }],
])("%s is no warning", (_, change) => {
  expect(remarksOn(change)).toEqual([]);
});

describe("a .env file", () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), "addon-env-"))));
  afterEach(() => rm(folder, { recursive: true }));
  const read = async (text: string | Buffer) => {
    await writeFile(path.join(folder, ".env"), text);
    return readConfig(readEnvironment({ ...good, DATA_DIR: folder }, folder));
  };

  it.each<[string, Buffer]>([
    ["UTF-16", Buffer.from("\uFEFFADDON_ID=hush-hush\n", "utf16le")],
    ["UTF-16, the other way", Buffer.from("\uFEFFADDON_ID=hush-hush\n", "utf16le").swap16()],
    ["UTF-16 without its mark", Buffer.from("ADDON_ID=hush-hush\n", "utf16le")],
    ["UTF-16 without its mark, the other way", Buffer.from("ADDON_ID=hush-hush\n", "utf16le").swap16()],
    ["zeros", Buffer.from("ADDON_ID=hush-hush\0\n")],
    ["Latin-1", Buffer.from("ADDON_ID=hush-hüsh\n", "latin1")],
  ])("in %s is refused", async (_, bytes) => {
    const refused = read(bytes);
    await expect(refused).rejects.toThrow(/\.env is not in UTF-8.*[Ss]ave it as UTF-8/);
    await expect(refused).rejects.toMatchObject({ id: "misconfigured" });
    await expect(refused).rejects.not.toThrow(/hush/);
  });

  it.each([
    ["no =", "LOG_LEVEL debug\n", "line 1 is not of the form NAME=value, and may spoil the next one."],
    ["YAML", "A=1\nLOG_LEVEL: debug\n", "line 2 is not of the form NAME=value"],
    ["a shell's words", "set LOG_LEVEL=debug\n", "line 1 is not of the form NAME=value"],
    ["a hyphen in a name", "LOG-LEVEL=debug\n", "line 1 is not of the form NAME=value"],
    ["an open quote", 'LOG_LEVEL="debug\n', "line 1: LOG_LEVEL has a quote that is never closed"],
    [
      "a quote that swallows",
      "X='hush-hush\nPORT=1'\nY=2\n",
      "line 1: X has a quote that only a later setting closes.",
    ],
    ["more behind a quote", `X="hush" hush\n`, "line 1: X has something behind its closing quote"],
    ["quotes of a word processor", "X=“hush-hush”\n", "line 1: the quotes around X are typographic ones"],
    ["a name twice", "X=hush\n\nX=hush-hush\n", "line 3 sets X again: the value of line 1 does not count."],
    ["an open quote at the end", 'X="hush', "line 1: X has a quote that is never closed"],
    ["a bare # in a value", "X=hush#hush", "line 1: X ends before its first #."],
    [
      "a bare # in front of a value",
      "OPERATOR_PASSWORD=#hush-hush\n",
      "OPERATOR_PASSWORD ends before its first #.",
    ],
  ])("with %s is a warning", async (_, text, sentence) => {
    // A name that swallowed others is refused where it meets a setting.
    const said = await read(text).then(
      ({ remarks }) => remarks.join("\n"),
      ({ message }: Error) => message,
    );
    expect(said).toContain(`${path.join(folder, ".env")}, `);
    expect(said).toContain(sentence);
    expect(said).not.toContain("hush");
  });

  it("may have what it usually has", async () => {
    const pem = `"-----BEGIN CERTIFICATE-----\nabcd==\nAB12=\n-----END CERTIFICATE-----"`;
    const lines = [
      "# of issue#1",
      "export A=1",
      "B = 2 # x#y",
      "C='x#y' # \"z",
      `D=${pem}`,
      "E=it's",
      "F=",
      "G=   # none",
    ];
    expect((await read(`\uFEFF${lines.join("\r\n")}\r\n`)).remarks).toEqual([]);
  });

  it("is named beside what is missing for it", async () => {
    const { ADDON_ID: _, ...others } = good;
    await writeFile(path.join(folder, ".env"), "ADDON_ID teapots\n");
    const refused = () => readConfig(readEnvironment({ ...others, DATA_DIR: folder }, folder));
    expect(refused).toThrow(
      /\n {2}ADDON_ID is required: .*\nAlso:\n {2}.*\.env, line 1 is not of the form NAME=value/s,
    );
  });
});

it.each([
  [{ DATABASE_URL: "postgresql://u:p@db.example.com/db?sslmode=no-verify" }, "certificate is not verified"],
  [
    { DATABASE_URL: "postgresql://u:p@db.example.com/db", DATABASE_CA: "no-verify" },
    "certificate is not verified",
  ],
  [{ DATABASE_URL: "postgresql://u:p@db.example.com/db" }, "asks for no encryption"],
  [{ DATABASE_URL: "postgresql://u:p@db.example.com/db?sslmode=verify-full" }, "make sense"],
])("kit doctor names how far the database is trusted: %j", (change, sentence) => {
  expect(settings(readConfig({ ...good, ...change })).message).toContain(sentence);
});

it("warnings are logged at the start, and kit doctor names them", async () => {
  const world = await aWorld({ environment: { NODE_DEBUG: "http", OPERATOR_PASWORD: "hush-hush" } });
  expect(world.lines(`"level":"warn"`, "NODE_DEBUG prints headers")).toHaveLength(1);
  expect(world.lines(`"level":"warn"`, "is OPERATOR_PASSWORD meant?")).toHaveLength(1);
  const { data } = await kitJson<DoctorReport>(world.environment, ["doctor"]);
  expect(data.checks[0]!.message).toMatch(/NODE_DEBUG prints headers.* is OPERATOR_PASSWORD meant\?/);
  expect(world.logged() + JSON.stringify(data)).not.toContain("hush-hush");
  await world.close();
});
