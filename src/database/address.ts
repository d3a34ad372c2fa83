import { readFileSync } from "node:fs";
import pg from "pg";
import { Misconfigured } from "../errors.ts";

/** The documented opt-out, for managed databases with self-signed certificates: encrypted, but anyone may answer. */
const NO_VERIFICATION = "no-verify";

/** Members of an address from which the driver would make TLS settings that override ours. */
const TLS_MEMBERS = ["ssl", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslnegotiation"];

type Tls = { ca?: string; rejectUnauthorized: boolean; cert?: string; key?: string };

/** What the driver, Prisma and our statements rely on, whatever the server or the role has set. */
const RELIED_ON =
  "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c search_path=public -c default_transaction_isolation=read\\ committed";

/**
 * How the driver connects to `url`, with options of the connection in front of the address's own: of two that set the
 * same, PostgreSQL takes the last.
 *
 * @throws Misconfigured if the driver cannot read the address or a file that it names, or `ca` is at fault
 */
export function connectionTo(url: string, ca?: string, options = ""): pg.ClientConfig {
  const whole = withQuery(url, (query) => {
    const own = query.getAll("options").slice(-1);
    query.set("options", [options, ...own, RELIED_ON].join(" ").trim());
  });
  const config = withCa(whole, ca);
  try {
    new pg.Client(config);
    return config;
  } catch (cause) {
    throw new Misconfigured(
      "DATABASE_URL cannot be read. In its user and password, what is not a letter or a digit must be percent-encoded: % as %25",
      { cause },
    );
  }
}

/** The same address with another query; the part in front of the query means the same to the driver as before. */
export function withQuery(url: string, edit: (query: URLSearchParams) => void): string {
  // The driver escapes an address that contains a blank or a lone %. It would escape what is added here once more, so
  // the address is escaped here, as the driver does it.
  const isEscapedLater = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(url);
  const read = isEscapedLater ? encodeURI(url).replace(/%25(\d\d)/g, "%$1") : url;
  const [before = "", ...rest] = read.split("?");
  const query = new URLSearchParams(rest.join("?"));
  edit(query);
  return query.size > 0 ? `${before}?${query.toString()}` : before;
}

/**
 * What `DATABASE_CA` asks for, as connection settings. Unset, the address alone decides (`sslmode`, `sslrootcert`), and
 * the driver verifies certificates against the system's CAs, whatever the `sslmode`. Set, it replaces all that the
 * address says about TLS, which the driver would otherwise prefer, except a client certificate; an address that turns
 * TLS off stays as it is.
 *
 * @throws Misconfigured if it is neither PEM, nor a readable file, nor `no-verify`, or a client certificate cannot be
 * read
 */
export function withCa(url: string, ca: string | undefined): { connectionString: string; ssl?: Tls } {
  if (!ca || /[?&](sslmode=disable|ssl=0)(&|$)/.test(url))
    return { connectionString: withQuery(url, asTheDriver) };
  const own: Partial<Tls> = {};
  const connectionString = withQuery(url, (query) => {
    for (const [member, name] of [
      ["cert", "sslcert"],
      ["key", "sslkey"],
    ] as const)
      if (query.has(name)) own[member] = readNamed(query, name);
    for (const name of TLS_MEMBERS) query.delete(name);
  });
  if (ca === NO_VERIFICATION) return { connectionString, ssl: { ...own, rejectUnauthorized: false } };
  return { connectionString, ssl: { ...own, ca: pem(ca), rejectUnauthorized: true } };
}

/** Says what libpq's words mean to the driver, which would fail at the one and warn of the others. */
function asTheDriver(query: URLSearchParams): void {
  if (query.get("sslrootcert") === "system") query.delete("sslrootcert");
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) if (query.has(name)) readNamed(query, name);
  if (/^(prefer|require|verify-ca)$/.test(query.get("sslmode") ?? "") && !query.has("uselibpqcompat"))
    query.set("sslmode", "verify-full");
}

const readNamed = (query: URLSearchParams, name: string) =>
  readFile(query.get(name)!, `DATABASE_URL: the file of its ${name} cannot be read`);

function pem(ca: string): string {
  if (ca.includes("-----BEGIN CERTIFICATE-----")) return ca.replaceAll("\\n", "\n");
  return readFile(
    ca,
    "DATABASE_CA must be a certificate in PEM, the path of a file that holds one, or no-verify",
  );
}

function readFile(file: string, otherwise: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Misconfigured(otherwise, { cause });
  }
}
