import { readFileSync } from "node:fs";
import type { Environment } from "./environment.ts";
import { databaseAddress } from "./setting.ts";

// Variables that are no settings of ours, but undo what the settings promise: Node, OpenSSL and the driver of PostgreSQL read
// them without a word.

interface Surroundings {
  /** What the service does not start with. */
  faults: string[];
  /** What is logged at the start, and named by `kit doctor`. */
  remarks: string[];
}

/** `names` are those of all settings. Variables are named, and none of their values. */
export function surroundingsOf(env: Environment, names: readonly string[], insecure: boolean): Surroundings {
  const unchecked = [
    env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0" &&
      "NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the check of all certificates: remove it. To trust a CA of your own, name its file in NODE_EXTRA_CA_CERTS, or for the database in DATABASE_CA.",
    ofDatabase(env).includes("PGSSLMODE") &&
      env["PGSSLMODE"] === "no-verify" &&
      "PGSSLMODE=no-verify turns off the check of the database's certificate: remove it, and see DATABASE_CA.",
  ].filter((each) => each !== false);
  const remarks = [...ofNode(env), ...driversRemark(env), ...misspelt(env, names)];
  return insecure ? { faults: [], remarks: [...unchecked, ...remarks] } : { faults: unchecked, remarks };
}

/** Flags of Node, on its command line or in `NODE_OPTIONS`, and what each of them undoes. */
const FLAGS: readonly (readonly [RegExp, string])[] = [
  [/^--tls-min-v1\.[01]$/, "allows versions of TLS that are broken"],
  [/^--tls-max-v1\.[12]$/, "keeps TLS 1.3 from being used"],
  [/^--tls-cipher-list\b/, "chooses the ciphers of TLS"],
  [/^--tls-keylog\b/, "writes the keys of TLS connections to a file: who has it can read what was sent"],
  [/^--(openssl-|security-revert)/, "makes OpenSSL or Node work as no longer is safe"],
  [/^--insecure-http-parser$/, "accepts requests that are not well formed, as attackers send them"],
  [/^--inspect/, "opens Node's inspector, through which every secret can be read"],
  [/^--use-env-proxy$/, "sends requests of libraries through a proxy"],
  [
    /^--(report-|heapsnapshot-|heap-prof|abort-on-)/,
    "writes memory or the environment, with secrets, to a file",
  ],
];

function ofNode(env: Environment): string[] {
  const flags = [...process.execArgv, ...(env["NODE_OPTIONS"] ?? "").split(/[\s"]+/)];
  const ofFlags = flags.flatMap((flag) => {
    const [, effect] = FLAGS.find(([pattern]) => pattern.test(flag.replaceAll("_", "-"))) ?? [];
    return effect ? [`Node's flag ${flag.split("=", 1)[0]} ${effect}.`] : [];
  });
  const roots = env["NODE_EXTRA_CA_CERTS"];
  const found: Readonly<Record<string, boolean>> = {
    "NODE_EXTRA_CA_CERTS names no file with certificates that can be read, so Node ignores it.":
      Boolean(roots) && !holdsCertificate(roots!),
    "NODE_USE_ENV_PROXY sends requests of libraries through a proxy.": env["NODE_USE_ENV_PROXY"] === "1",
    "NODE_DEBUG prints headers, with passwords and tokens, to standard error: remove it.":
      /\b(http|http2|https|tls|net|stream)\b|\*/i.test(env["NODE_DEBUG"] ?? ""),
    "SSLKEYLOGFILE asks for the keys of TLS connections in a file: remove it.": Boolean(env["SSLKEYLOGFILE"]),
    "OPENSSL_CONF changes how OpenSSL works.": Boolean(env["OPENSSL_CONF"]),
  };
  return [...new Set(ofFlags), ...Object.keys(found).filter((sentence) => found[sentence])];
}

function holdsCertificate(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("-----BEGIN");
  } catch {
    return false;
  }
}

/** The driver's variables that decide what `DATABASE_URL` leaves open. */
function ofDatabase(env: Environment): string[] {
  const address = (env["DATABASE_URL"] ?? "").trim();
  const url = databaseAddress(address);
  if (!url) return [];
  const { searchParams: query } = url;
  const [, host = ""] = /:\/\/(?:[^/?#]*@)?([^/?#:]*)/.exec(address) ?? [];
  const leaves: Record<string, boolean> = {
    PGHOST: host === "" && !query.has("host"),
    PGPORT: url.port === "" && !query.has("port"),
    PGUSER: url.username === "" && !query.has("user"),
    PGPASSWORD: url.password === "" && !query.has("password"),
    PGDATABASE: url.pathname.length < 2,
    PGSSLMODE: !query.has("sslmode") && !query.has("ssl") && !env["DATABASE_CA"],
    PGSSLNEGOTIATION: !query.has("sslnegotiation"),
    PGREPLICATION: !query.has("replication"),
  };
  return Object.keys(leaves).filter((name) => leaves[name] && env[name]);
}

function driversRemark(env: Environment): string[] {
  const names = ofDatabase(env);
  if (names.length === 0) return [];
  return [`${names.join(" and ")} decide what DATABASE_URL leaves open: write it there, and remove them.`];
}

/** Variables whose names are nearly those of settings that are not set. */
function misspelt(env: Environment, names: readonly string[]): string[] {
  const unset = names.filter((name) => !env[name]);
  return Object.keys(env).flatMap((given) => {
    if (!env[given] || names.includes(given)) return [];
    const meant = unset.find((name) => isNearly(given, name));
    return meant ? [`${given} is no setting: is ${meant} meant?`] : [];
  });
}

/** In other letters or with other signs between its words; a long one also with a slip or two. */
function isNearly(given: string, name: string): boolean {
  const plain = given.trim().toUpperCase().replace(/\W/g, "_");
  return plain === name || slipsBetween(plain, name) <= Math.min(2, Math.floor((name.length - 2) / 5));
}

/** How many letters are missing, added, other ones or swapped with their neighbour. */
function slipsBetween(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return Infinity;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      row[j] = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    [before, last] = [last, row];
  }
  return last[other.length]!;
}
