import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { readConfig as readAny } from "../../src/config.ts";
import { type Environment, readEnvironment } from "../../src/environment.ts";
import { Misconfigured, Refusal } from "../../src/errors.ts";
import { createOwnScrubber, Secret } from "../../src/secret.ts";
import {
  inRegion,
  keyList,
  ownUrl,
  perRegion,
  postgresUrl,
  secret,
  setting,
  type ValuesOf,
  wholeNumber,
} from "../../src/setting.ts";
import { aFreshDatabase } from "../support/database.ts";
import { aServiceProcess } from "../support/process.ts";
import { aRefusingDatabase } from "../support/refusing-database.ts";
import { teapotConfig as readConfig } from "../support/sellers.ts";
import { aWorld } from "../support/world.ts";

const KEY = "9f2c41e07ab85d3613ce8047fb2a9d65";

/** Settings with which the service starts. */
const good: Environment = {
  ADDON_ID: "teapots",
  ADDON_PASSWORD: "a-password-of-tests",
  PLATFORM_API_URL: "https://api.example.com",
  PLATFORM_AUTH_URL: "https://id.example.com",
  PLATFORM_STATUS_URL: "https://status.example.com",
  ENCRYPTION_KEY: KEY,
  DATABASE_URL: "postgresql://shop@127.0.0.1:5432/shop",
};
/** Required where people sign in. */
const OURS = { PUBLIC_URL: "https://addon.example.com" };

/** The error message for these settings. */
function refusalOf(change: Environment): string {
  try {
    readConfig({ ...good, ...OURS, ...change });
  } catch (error) {
    expect(error).toBeInstanceOf(Misconfigured);
    return (error as Error).message;
  }
  throw new Error("These settings were accepted.");
}

describe("readConfig", () => {
  it("reads, completes and freezes valid settings", () => {
    const config = readConfig(good);
    expect(config).toMatchObject({
      ...{ port: 3000, resourcesPath: "/resources", webJobs: true, logLevel: "info" },
      ...{ clientSecret: undefined, decryptionKeys: [], allowInsecurePlatform: false },
      ...{ platformMediaType: "application/vnd.svc+json; version=3", platformTokenPrefix: "SVCK-" },
    });
    expect(() => Object.assign(config, { port: 1 })).toThrow(TypeError);
  });

  it.each<[string, string[]]>([
    ["PORT", ["http", "65536", "0x50"]],
    ["TRUST_PROXY", ["true"]],
    ["DATABASE_URL", ["mysql://user:hunter2hunter2@host/db", "hunter2hunter2"]],
    ["DATABASE_URL", ["postgresql://u:hunter2#hunter2@host/db", "postgresql://app:1234#hunter2@host/db"]],
    ["DATABASE_URL", ["postgresql://app:12/hunter2@host/db", "postgresql://app:12?hunter2@host/db"]],
    [
      "DATABASE_URL",
      ["postgresql://app:hunt@er2/hunter2@host/db", "postgresql://app:1?user=2#hunter2@host/db"],
    ],
    ["MIGRATION_DATABASE_URL", ["https://user:hunter2hunter2@host/db"]],
    ["DATABASE_POOL", ["many"]],
    ["ADDON_ID", ["tea:pots", "teapots\n"]],
    ["ADDON_PASSWORD", ["hunter2\nhunter2", "change-me", "c", "<the password from the portal>"]],
    ["OPERATOR_PASSWORD", ["hunter2"]],
    ["SSO_SALT", ["abcabcabcabcabc"]],
    ["ENCRYPTION_KEY", ["k".repeat(32), KEY.slice(1), `${KEY},`, KEY.replace("b", " "), `${KEY}\n`]],
    ["ENCRYPTION_KEY", ["change-me-".repeat(4), "x".repeat(40)]],
    ["DECRYPTION_KEYS", [`${KEY}x,short`, `${KEY}x,,${KEY}y`, `${KEY}x,`, `${KEY}x, ${KEY}y`]],
    ["DECRYPTION_KEYS", [`${KEY}x,${KEY}x`, KEY]],
    ["ADDON_PASSWORD_PREVIOUS", ["a\u0000b", "a\u2028b", "a\u2029b", "a\ufffdb"]],
    ["RESOURCES_PATH", ["no-slash-before-it", "/resources/", "/", "/re sources"]],
    ["PLATFORM_MEDIA_TYPE", ["application/json\r\nX-Evil: 1", "application/jsön", "nonsense"]],
    ["ALLOW_INSECURE_PLATFORM", ["true"]],
    ["CLIENT_SECRET", ["\n", "two\nlines", "changeme", "your-client-secret"]],
    ["OPERATOR_ACCOUNTS", ["everybody", "@example.com", "*@example.com", "one@example.com two@example.com"]],
    ["SWEEP_CRON", ["often", "99 * * * * *", "0 0 31 2,4 *"]],
    ["WEB_JOBS", ["no"]],
    ["TOKEN_CONCURRENCY", ["0"]],
    ["PROCESSES_EXPECTED", ["0", "web=2,worker=1"]],
    ["LOG_LEVEL", ["loud"]],
  ])("names a bad %s, without its value", (name, values) => {
    for (const value of values) {
      const message = refusalOf({ [name]: value });
      expect(message).toContain(`\n  ${name} `);
      for (const part of value.split(",")) {
        if (part.trim().length > 6) expect(message).not.toContain(part.trim());
      }
      expect(message).not.toContain("hunter2");
    }
  });

  it.each([
    ["  spaces  ", "  spaces  "],
    ["a line that was copied whole\r\n", "a line that was copied whole"],
  ])("takes a client secret as it is, but for a line end, of which it warns: %j", (CLIENT_SECRET, kept) => {
    const { clientSecret, remarks } = readConfig({ ...good, CLIENT_SECRET });
    expect(clientSecret!.reveal()).toBe(kept);
    const warning = "CLIENT_SECRET ended with a line end, which was dropped: set it without one.";
    expect(remarks).toEqual(kept === CLIENT_SECRET ? [] : [warning]);
  });
});

it("OPERATOR_ACCOUNTS holds ids and e-mails, and needs the OAuth client that people sign in with", () => {
  const CLIENT = { OAUTH_CLIENT_ID: "a-client", OAUTH_CLIENT_SECRET: "the-secret-of-tests" };
  const ID = "01234567-89AB-cdef-0123-456789abcdef";
  const accounts = { ...CLIENT, ...OURS, OPERATOR_ACCOUNTS: ` Ops+1@Example.com , ${ID}` };
  expect(readConfig({ ...good, ...accounts }).operatorAccounts).toEqual(["Ops+1@Example.com", ID]);
  expect(readConfig({ ...good, OPERATOR_ACCOUNTS: "" }).operatorAccounts).toEqual([]);
  for (const half of [[], ...Object.entries(CLIENT).map((each) => [each])])
    expect(refusalOf({ OPERATOR_ACCOUNTS: ID, ...Object.fromEntries(half) })).toContain(
      "OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET are required together, and beside OPERATOR_ACCOUNTS",
    );
});

it.each<Environment>([
  { OAUTH_CLIENT_ID: "01234567", OAUTH_CLIENT_SECRET: "abcdefghijklmnop" },
  { SSO_SALT: "2f97bfa52ca102f8874716e2" },
  { OPERATOR_PASSWORD: "a-password-of-tests" },
])("PUBLIC_URL is required where people sign in in production: %j", (way) => {
  const message = refusalOf({ ...way, PUBLIC_URL: "" });
  expect(message).toContain(`PUBLIC_URL is required beside ${Object.keys(way)[0]}:`);
  expect(readConfig({ ...good, ...way, ...OURS }).publicUrl).toBe(OURS.PUBLIC_URL);
  const inDevelopment = { ...good, ...way, PUBLIC_URL: "", ALLOW_INSECURE_PLATFORM: "on" };
  expect(readConfig(inDevelopment).publicUrl).toBeUndefined();

  const plain = { PUBLIC_URL: "http://addon.example.com" };
  expect(refusalOf({ ...way, ...plain })).toContain(
    `PUBLIC_URL must begin with https:// beside ${Object.keys(way)[0]}:`,
  );
  expect(readConfig({ ...inDevelopment, ...plain }).remarks).toEqual([]);
  expect(readConfig({ ...good, ...plain }).remarks).toEqual([expect.stringMatching(/^PUBLIC_URL .*http:/)]);
});

describe("the vendor's settings", () => {
  const own = { shopUrl: setting("SHOP_URL", "where the shop is", postgresUrl) };
  const url = "postgresql://shop:hunter2hunter2@host/shop";

  it("are read with the kit's, and missing ones are named in the same error", () => {
    const { yours } = readAny({ ...good, SHOP_URL: url }, undefined, own) as unknown as {
      yours: { shopUrl: Secret };
    };
    expect(yours.shopUrl.reveal()).toBe(url);
    expect(Object.isFrozen(yours)).toBe(true);
    const wrong = { ...good, ADDON_ID: "", SHOP_URL: "hunter2hunter2" };
    expect(() => readAny(wrong, undefined, own)).toThrow(/ADDON_ID is.*SHOP_URL must be/s);
    expect(() => readAny(good, undefined, own)).toThrow("SHOP_URL is required: where the shop is.");
  });

  it("are hidden in the log if they are secret, also in a list or an object", () => {
    const keys = ["one-of-the-keys-of-the-shop-0123456789", "another-of-the-keys-of-the-shop-012345"];
    const all = {
      ...own,
      keys: setting("SHOP_KEYS", "several", keyList),
      account: setting("SHOP_ACCOUNT", "as text", (text) => ({ user: "shop", password: new Secret(text) })),
    };
    const theirs = { SHOP_URL: url, SHOP_KEYS: keys.join(","), SHOP_ACCOUNT: "the-password-of-the-shop" };
    const { scrub } = createOwnScrubber(readAny({ ...good, ...theirs }, undefined, all));
    expect(scrub(`${url} opens with ${keys.join(" or ")} or the-password-of-the-shop`)).toBe(
      "[secret] opens with [secret] or [secret] or [secret]",
    );
  });

  it.each([
    [url, "hunter2hunter2"],
    ["postgresql://shop:p%40ss%2Fw%6Frd@host/shop", "p@ss/word"],
    ["postgresql://shop:p%40ss%2Fw%6Frd@host/shop", "p%40ss%2Fw%6Frd"],
    ["postgresql://shop:100%-quite-sure@host/shop", "100%-quite-sure"],
  ])("have their password hidden too if they are addresses: %s", (address, password) => {
    const config = readAny({ ...good, SHOP_URL: address }, undefined, own);
    expect(createOwnScrubber(config).scrub(`the password ${password} was not taken`)).toBe(
      "the password [secret] was not taken",
    );
  });
});

describe("addresses of the platform", () => {
  const HOSTS = [
    ...["127.0.0.1", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "10.0.0.1", "127.0.0.1.", "１２７.0.0.1"],
    ...["[::1]", "[::ffff:169.254.169.254]", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]"],
    ...["localhost", "localhost.", "localhost..", "api.localhost", "localhost.localdomain", "ip6-localhost"],
    ...[
      "localhost6.localdomain6",
      "LOCALHOST.LOCALDOMAIN",
      "metadata",
      "printer.local",
      "metadata.internal.",
    ],
    ...["nas.home.arpa", "router.lan", "api.test", "api.default.svc", "a..example", ".a.example"],
    ...["a.example:8443", "user@a.example", "user:hunter2hunter2@a.example", "@a.example", ":@a.example"],
    ...["a.exam\tple", "a.example\\@evil.example", "evil.example\\a.example", "a.example\\", "\\a.example"],
    ...[
      "\u0430.example",
      "xn--80ak6aa92e.\u0441om",
      "a\u3002example",
      "%61.example",
      "/a.example",
      "a.exam\u00adple",
    ],
    ...["a.example?x=1", "a.example#x", "a.example?", "a.example/#", "a.example/v 1"],
  ];
  it.each(["PLATFORM_API_URL", "PLATFORM_AUTH_URL", "PLATFORM_STATUS_URL"])("are refused: %s", (name) => {
    const others =
      "http://a.example ftp://a.example a.example https:// https:a.example https:/a.example javascript:alert(1)".split(
        " ",
      );
    for (const url of [...others, ...HOSTS.map((host) => `https://${host}`)]) {
      const message = refusalOf({ [name]: url });
      expect([url, message]).toEqual([url, expect.stringContaining(`  ${name} must `)]);
      expect(message).not.toContain("hunter2");
    }
  });

  it.each([
    ["https://api.example.com", "https://api.example.com"],
    ["https://api.example.com/", "https://api.example.com"],
    ["https://api.example.com:443", "https://api.example.com:443"],
    ["HTTPS://API.Example.com", "HTTPS://API.Example.com"],
    ["https://xn--bcher-kva.example", "https://xn--bcher-kva.example"],
    ["https://api.example.com/v1/", "https://api.example.com/v1"],
    [" https://api.example.com/ \r\n", "https://api.example.com"],
  ])("are accepted: %s", (url, kept) => {
    expect(readConfig({ ...good, PLATFORM_API_URL: url }).platformApiUrl).toBe(kept);
    expect(readConfig({ ...good, PUBLIC_URL: url }).publicUrl).toBe(kept);
  });

  it("may be loopback or http where that is allowed, but still contain no password", () => {
    const insecure = { ALLOW_INSECURE_PLATFORM: "on" };
    const config = readConfig({ ...good, ...insecure, PLATFORM_API_URL: "http://127.0.0.1:4000/" });
    expect(config.platformApiUrl).toBe("http://127.0.0.1:4000");
    for (const PLATFORM_API_URL of ["http://a:b@localhost:4000", "ftp://localhost", "http://localhost\\x"])
      expect(refusalOf({ ...insecure, PLATFORM_API_URL })).toContain("PLATFORM_API_URL must be");
  });
});

describe("the sources of settings", () => {
  let folder: string;
  beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "addon-config-"))));
  afterAll(() => rm(folder, { recursive: true }));

  it.each<[string, Environment, string, string, Environment]>([
    [
      "an empty value in .env counts as unset, and an empty variable in the environment unsets that of .env",
      { LOG_LEVEL: "" },
      "ADDON_ID=      # the add-on's id\nLOG_LEVEL=debug\n",
      "ADDON_ID=made-up\n",
      { ADDON_ID: "made-up", LOG_LEVEL: "" },
    ],
    [
      "the environment overrides .env, and .env overrides the file of npm run dev",
      { PORT: "0" },
      "PORT=1\nLOG_LEVEL=debug\n",
      "PORT=2\nLOG_LEVEL=trace\nADDON_ID=made-up\n",
      { PORT: "0", LOG_LEVEL: "debug", ADDON_ID: "made-up" },
    ],
    [
      "the file of npm run dev is ignored where another database is named",
      {},
      "DATABASE_URL=postgres://host/db\n",
      "ADDON_ID=made-up\n",
      { DATABASE_URL: "postgres://host/db" },
    ],
    [
      "a byte order mark and line ends of Windows belong to no setting",
      {},
      "\uFEFFADDON_ID=one\r\nEMPTY= \r\nA='a#b' # of issue#1\r\n",
      "",
      { ADDON_ID: "one", A: "a#b" },
    ],
  ])("%s", async (_, env, dotEnv, devEnv, expected) => {
    await writeFile(path.join(folder, ".env"), `${dotEnv}DATA_DIR=${folder}\n`);
    await writeFile(path.join(folder, "dev.env"), devEnv);
    expect(readEnvironment(env, folder)).toEqual({ DATA_DIR: folder, ...expected });
  });
});

describe("the start of the process", () => {
  /** Its exit code, and what it says. */
  const refusalOf = (environment: Environment) =>
    aServiceProcess("web", environment).then(
      () => "It started.",
      ({ message }: Error) => message,
    );
  const MISCONFIGURED = "web ended with 78 before it was ready:\n";

  it("exits with 78 and names the missing and the wrong settings", async () => {
    const said = await refusalOf({ DATA_DIR: "/nowhere", ADDON_PASSWORD: "hunter2hunter2\t" });
    expect(said).toContain(`${MISCONFIGURED}These settings are invalid (see .env.example):\n`);
    expect(said).toContain("\n  ADDON_PASSWORD must be one line");
    for (const name of Object.keys(good))
      if (name !== "ADDON_PASSWORD") expect(said).toContain(`\n  ${name} is required: `);
    expect(said).not.toContain("hunter2");
  });

  it("exits with 78 when its port is taken", async () => {
    const neighbour = createServer().listen(0);
    await once(neighbour, "listening");
    const { port } = neighbour.address() as AddressInfo;
    const said = await refusalOf({ ...good, PORT: String(port) });
    expect(said).toContain(`${MISCONFIGURED}HOST and PORT cannot be used: listen EADDRINUSE`);
    expect(said).not.toContain("Starting");
    neighbour.close();
  });

  it("exits with 78 when there is no client secret, and says how to set one", async () => {
    const database = await aFreshDatabase();
    const said = await refusalOf({ ...good, PORT: "0", LOG_LEVEL: "silent", ...database.environment });
    expect(said).toContain(
      `${MISCONFIGURED}No client secret is stored. Set CLIENT_SECRET, or run: npm run --silent kit -- secret set\n`,
    );
    expect(said).not.toContain(KEY);
    await database.close();
  });

  it("exits with 78 when the database was encrypted with another key: it names the key's id and its rows, and changes nothing", async () => {
    const world = await aWorld({ environment: { ENCRYPTION_KEY: KEY, LOG_LEVEL: "silent" } });
    await world.installed(1);
    await world.service.stop();
    const tables = ["resources", "credentials", "steps", "client_secrets", "sealing_keys"];
    const dump = () => Promise.all(tables.map((table) => world.rows(`SELECT * FROM ${table}`)));
    const before = await dump();
    const [{ key_id: keyId }] = before.at(-1) as [{ key_id: string }];

    const wrong = { ENCRYPTION_KEY: `${KEY}-wrong`, CLIENT_SECRET: "another-secret-of-tests" };
    const said = await refusalOf({ ...world.environment, ...wrong });
    // The resource, its credential and the client secret.
    expect(said).toContain(MISCONFIGURED);
    const needed = "needs keys that are not among ENCRYPTION_KEY and DECRYPTION_KEYS";
    expect(said).toContain(`${needed}:\n  key ${keyId}: 3 rows\n`);
    expect(said).not.toContain(KEY);
    expect(await dump()).toEqual(before);

    // And with the key in DECRYPTION_KEYS it starts.
    await world.restart({ environment: { ...wrong, DECRYPTION_KEYS: KEY } });
    await world.close();
  });

  it.each<[string, string, string, string]>([
    ["a wrong password", "", "28P01", 'password authentication failed for user "shop"'],
    ["TLS where there is none", "?sslmode=require", "", "The server does not support SSL connections"],
  ])("exits with 78 and names the fault when DATABASE_URL meets %s", async (_, query, state, words) => {
    const database = await aRefusingDatabase(state, words);
    const DATABASE_URL = database.url + query;
    const said = await refusalOf({ ...good, PORT: "0", LOG_LEVEL: "silent", DATABASE_URL });
    expect(said).toContain(`${MISCONFIGURED}DATABASE_URL: the database answers: ${words}. TLS: sslmode`);
    await database.close();
  });
});

describe("settings for each region", () => {
  const own = {
    queueUrl: perRegion(["us", "eu-west"], "QUEUE_URL", "where the queues are", ownUrl),
    queueKey: perRegion(["us", "eu-west"], "QUEUE_KEY", "opens them", secret),
    queueSize: perRegion(["us", "eu-west"], "QUEUE_SIZE", "in GB", wholeNumber(1, 9), "3"),
  };
  const given = {
    ...{ QUEUE_URL_US: "https://us.example", QUEUE_URL_EU_WEST: "https://eu.example" },
    ...{ QUEUE_KEY_US: "the-key-of-america", QUEUE_KEY_EU_WEST: "the-key-of-europe", QUEUE_SIZE_US: "5" },
  };
  const read = (change: Environment = {}) => readAny({ ...good, ...given, ...change }, undefined, own);
  const yours = (config = read()) => config.yours as unknown as ValuesOf<typeof own>;

  it("are a frozen table by region, with the standard where one is absent", () => {
    const { queueUrl, queueSize } = yours();
    expect(queueUrl).toEqual({ us: "https://us.example", "eu-west": "https://eu.example" });
    expect(queueSize).toEqual({ us: 5, "eu-west": 3 });
    expect(() => Object.assign(queueUrl, { us: "" })).toThrow(TypeError);
  });

  it("are each required and checked by its name", () => {
    expect(() => read({ QUEUE_URL_EU_WEST: "", QUEUE_SIZE_US: "70" })).toThrow(
      /QUEUE_URL_EU_WEST is required: where the queues are, of the region eu-west\.\n.*QUEUE_SIZE_US must be a whole number/,
    );
  });

  it("are redacted in the log, if they are secrets", () => {
    const { scrub } = createOwnScrubber(read());
    expect(scrub("the-key-of-europe and the-key-of-america")).toBe("[secret] and [secret]");
  });

  it.each<["us" | "eu-west" | null, string]>([
    ["eu-west", "https://eu.example"],
    [null, "https://us.example"],
  ])("are found for the region of a resource: %s", (region, url) => {
    expect(inRegion(yours().queueUrl, region)).toBe(url);
  });

  it.each(["mars", "toString", "__proto__"])("a region that is not on offer is refused: %s", (region) => {
    expect(() => inRegion(yours().queueUrl, region as "us")).toThrow(
      new Refusal(`This add-on is not available in the region "${region}". Regions: us, eu-west.`),
    );
  });
});
