import { expect, test } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { withQuery } from "../../src/database/address.ts";
import { withCa } from "../../src/database/tls.ts";
import { Misconfigured } from "../../src/errors.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

test("without DATABASE_CA the address alone decides about TLS", () => {
  const url = "postgresql://u:p@db.example/addon?sslmode=verify-full";
  expect(withCa(url, undefined)).toEqual({ connectionString: url });
});

test.each([
  ["?sslmode=require", ""],
  ["?sslmode=require&application_name=a", "?application_name=a"],
  ["?application_name=a&sslmode=verify-full", "?application_name=a"],
  ["", ""],
])("only the CA of DATABASE_CA is trusted: %s", (query, left) => {
  expect(withCa(`postgresql://db.example/addon${query}`, PEM)).toEqual({
    connectionString: `postgresql://db.example/addon${left}`,
    ssl: { ca: PEM, rejectUnauthorized: true },
  });
});

/** The driver's resulting settings; in the driver an address overrides other options. */
const tlsOf = (query: string, ca: string) => {
  const client = new pg.Client(withCa(`postgresql://db.example/addon${query}`, ca));
  return (client as unknown as { connectionParameters: { ssl: unknown } }).connectionParameters.ssl;
};

test.each([
  "?ssl=true",
  "?ssl=1",
  "?ssl=no-verify",
  "?sslmode=no-verify",
  "?sslmode=disabled",
  "?sslnegotiation=direct",
  "?sslmode=verify-full&sslrootcert=/no/such/file",
  "?uselibpqcompat=true&sslmode=require",
])("the address cannot override DATABASE_CA: %s", (query) => {
  expect(tlsOf(query, PEM)).toEqual({ ca: PEM, rejectUnauthorized: true });
  expect(tlsOf(query, "no-verify")).toEqual({ rejectUnauthorized: false });
});

test.each(["pa%ss", "100%", "pa ss", "pa%20ss", "p%40ss"])(
  "adding options to an address keeps its password: %s",
  (word) => {
    const url = `postgresql://somebody:${word}@db.example/addon`;
    const added = withQuery(url, (query) => query.set("options", "-c one=1"));
    const of = (connectionString: string) =>
      new pg.Client({ connectionString }) as unknown as {
        password: string;
        connectionParameters: { options: string };
      };
    expect(of(added).password).toBe(of(url).password);
    expect(of(added).connectionParameters.options).toBe("-c one=1");
  },
);

test("an unreadable client certificate is reported as an error in the address", () => {
  expect(() => tlsOf("?sslcert=/no/such/file", PEM)).toThrow(/^DATABASE_URL: the file of its sslcert/);
});

test("a client certificate in the address is kept", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "addon-tls-"));
  const file = path.join(folder, "client.pem");
  await writeFile(file, "one of ours");
  const tls = tlsOf(`?sslcert=${file}&sslkey=${file}`, PEM) as { key: string };
  // The driver makes the key non-enumerable.
  expect({ ...tls, key: tls.key }).toEqual({
    ca: PEM,
    rejectUnauthorized: true,
    cert: "one of ours",
    key: "one of ours",
  });
  await rm(folder, { recursive: true });
});

test("only no-verify encrypts without checking the server's certificate", () => {
  expect(withCa("postgresql://db.example/addon", "no-verify").ssl).toEqual({ rejectUnauthorized: false });
});

test.each(["sslmode=disable", "ssl=0"])("an address that turns TLS off stays as it is: %s", (off) => {
  const url = `postgresql://localhost/addon?${off}`;
  expect(withCa(url, PEM)).toEqual({ connectionString: url });
});

test("a DATABASE_CA that is neither a certificate nor a file is refused by the setting's name, without its value", () => {
  expect(() => withCa("postgresql://db.example/addon", "/no/such/file")).toThrow(Misconfigured);
  expect(() => withCa("postgresql://db.example/addon", "/no/such/file")).toThrow(/^DATABASE_CA must be/);
});
