import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { jest } from "@jest/globals";
import pg from "pg";
import { connectionTo } from "../../src/database/address.ts";
import { Misconfigured } from "../../src/errors.ts";
import { postgresUrl } from "../../src/setting.ts";

const ADDRESS = "postgresql://u:p@db.example/addon";
const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

/** What the driver makes of an address. */
type Resulting = pg.Client & {
  password: string;
  connectionParameters: { ssl: false | { key?: string }; options: string };
};
const clientOf = (...address: Parameters<typeof connectionTo>) =>
  new pg.Client(connectionTo(...address)) as Resulting;
const tlsOf = (query: string, ca?: string) => clientOf(ADDRESS + query, ca).connectionParameters.ssl;

it.each<[string, string | undefined, object | boolean]>([
  ["", undefined, false],
  ["?sslmode=disable", PEM, false],
  ["?sslmode=no-verify", undefined, { rejectUnauthorized: false }],
  ["?ssl=no-verify", undefined, { rejectUnauthorized: false }],
  ["?uselibpqcompat=true&sslmode=require", undefined, { rejectUnauthorized: false }],
  ["?sslmode=require", undefined, {}],
  ["?sslmode=verify-full&sslrootcert=system", undefined, {}],
])("the address alone decides about TLS, and warns of nothing: %s", (query, ca, ssl) => {
  const warnings: string[] = [];
  const emit = jest
    .spyOn(process, "emitWarning")
    .mockImplementation((said) => void warnings.push(String(said)));
  const found = tlsOf(query, ca);
  emit.mockRestore();
  expect({ ssl: found, warnings }).toEqual({ ssl, warnings: [] });
});

it.each([
  ...["", "?application_name=a", "?ssl=true", "?ssl=no-verify", "?sslmode=require", "?sslmode=no-verify"],
  ...["?sslmode=disabled", "?sslnegotiation=direct", "?sslmode=verify-full&sslrootcert=/no/such/file"],
  "?uselibpqcompat=true&sslmode=require",
])("the address cannot override a DATABASE_CA, of which only no-verify lets anyone answer: %s", (query) => {
  expect(tlsOf(query, PEM)).toEqual({ ca: PEM, rejectUnauthorized: true });
  expect(tlsOf(query, PEM.replaceAll("\n", "\\n"))).toEqual({ ca: PEM, rejectUnauthorized: true });
  expect(tlsOf(query, "no-verify")).toEqual({ rejectUnauthorized: false });
});

it.each([
  ["a socket", "postgresql://app:pw@/addon?host=/var/run/postgresql", "/var/run/postgresql", "pw"],
  ["a blank around it", "  postgresql://app:pw@db.example/addon\n", "db.example", "pw"],
  ["IPv6", "postgres://app:pw@[::1]:5433/addon", "::1", "pw"],
  ["an encoded password", "postgres://app:p%40s%25@db.example/addon", "db.example", "p@s%"],
  ["a blank in the password", "postgres://app:pa ss@db.example/addon", "db.example", "pa ss"],
  ["a lone % in the password", "postgres://app:100%@db.example/addon", "db.example", "100%"],
])("an address is taken as libpq and the driver take it: %s", (_, address, host, password) => {
  const client = clientOf(postgresUrl(address).reveal());
  expect(client).toMatchObject({ host, user: "app", database: "addon" });
  expect(client.password).toBe(password);
});

it("options of the address come behind ours, and before those that everything relies on", () => {
  const options = encodeURIComponent("-c a=2");
  const client = clientOf(`${ADDRESS}?options=${options}`, undefined, "-c a=1");
  expect(client.connectionParameters.options).toMatch(/^-c a=1 -c a=2 -c TimeZone=UTC /);
});

it("a client certificate in the address is kept, and a CA may be a file", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "addon-tls-"));
  const file = path.join(folder, "client.pem");
  await writeFile(file, "one of ours");
  const tls = tlsOf(`?sslcert=${file}&sslkey=${file}`, file);
  // The driver makes the key non-enumerable.
  expect({ ...(tls as object), key: (tls as { key?: string }).key }).toEqual({
    ...{ ca: "one of ours", rejectUnauthorized: true, cert: "one of ours", key: "one of ours" },
  });
  await rm(folder, { recursive: true });
});

it.each([
  ["postgresql://app:100%de2@db/addon", undefined, /^DATABASE_URL, or a file .* cannot (?!.*100)/],
  [`${ADDRESS}?sslrootcert=/no/such/file`, undefined, /^DATABASE_URL, or a file that it names, (?!.*such)/],
  [`${ADDRESS}?sslcert=/no/such/file`, PEM, /^DATABASE_URL, or a file that it names, (?!.*such)/],
  [ADDRESS, "/no/such/file", /^DATABASE_CA must be (?!.*such)/],
])("what cannot be read is refused by the setting's name, without its value: %s", (url, ca, words) => {
  expect(() => connectionTo(url, ca)).toThrow(Misconfigured);
  expect(() => connectionTo(url, ca)).toThrow(words);
});
