import { expect, it, jest } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { connectionTo, withCa, withQuery } from "../../src/database/address.ts";
import { Misconfigured } from "../../src/errors.ts";
import { postgresUrl } from "../../src/setting.ts";

const ADDRESS = "postgresql://u:p@db.example/addon";
const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

it.each([
  ["is not set", "?sslmode=verify-full", undefined],
  ["is set, but the address turns TLS off", "?sslmode=disable", PEM],
  ["is set, but the address turns TLS off", "?ssl=0", PEM],
])("the address alone decides about TLS if DATABASE_CA %s: %s", (_, query, ca) => {
  expect(withCa(ADDRESS + query, ca)).toEqual({ connectionString: ADDRESS + query });
});

it.each([
  ["?sslmode=require", {}],
  ["?sslmode=verify-ca", {}],
  ["?sslmode=verify-full&sslrootcert=system", {}],
  ["?uselibpqcompat=true&sslmode=require", { rejectUnauthorized: false }],
])("the driver verifies certificates unless it is told not to, and warns of nothing: %s", (query, ssl) => {
  const warnings: string[] = [];
  const emit = jest
    .spyOn(process, "emitWarning")
    .mockImplementation((said) => void warnings.push(String(said)));
  const client = new pg.Client(connectionTo(ADDRESS + query)) as unknown as { ssl: object };
  emit.mockRestore();
  expect({ ssl: client.ssl, warnings }).toEqual({ ssl, warnings: [] });
});

it.each([
  ["a socket", "postgresql://app:pw@/addon?host=/var/run/postgresql", "/var/run/postgresql"],
  ["a blank around it", "  postgresql://app:pw@db.example/addon\n", "db.example"],
  ["IPv6", "postgres://app:pw@[::1]:5433/addon", "::1"],
])("an address is taken as libpq takes it: %s", (_, address, host) => {
  const client = new pg.Client(connectionTo(postgresUrl(address).reveal()));
  expect(client).toMatchObject({ host, user: "app", password: "pw", database: "addon" });
});

it.each(["postgresql://app:100%de2@db.example/addon", `${ADDRESS}?sslrootcert=/no/such/file`])(
  "an address that the driver cannot read is refused in a sentence, without its value: %s",
  (address) => {
    expect(() => connectionTo(address)).toThrow(Misconfigured);
    expect(() => connectionTo(address)).toThrow(/^DATABASE_URL(?!.*(100|such))/);
  },
);

/** The driver's resulting settings; in the driver an address overrides other options. */
const tlsOf = (query: string, ca: string) => {
  const client = new pg.Client(withCa(ADDRESS + query, ca));
  return (client as unknown as { connectionParameters: { ssl: { key?: string } } }).connectionParameters.ssl;
};

it.each([
  "",
  "?application_name=a",
  "?ssl=true",
  "?ssl=1",
  "?ssl=no-verify",
  "?sslmode=require",
  "?sslmode=no-verify",
  "?sslmode=disabled",
  "?sslnegotiation=direct",
  "?sslmode=verify-full&sslrootcert=/no/such/file",
  "?uselibpqcompat=true&sslmode=require",
])("the address cannot override a DATABASE_CA, of which only no-verify lets anyone answer: %s", (query) => {
  expect(tlsOf(query, PEM)).toEqual({ ca: PEM, rejectUnauthorized: true });
  expect(tlsOf(query, PEM.replaceAll("\n", "\\n"))).toEqual({ ca: PEM, rejectUnauthorized: true });
  expect(tlsOf(query, "no-verify")).toEqual({ rejectUnauthorized: false });
});

it.each(["pa%ss", "100%", "pa ss", "pa%20ss", "p%40ss"])(
  "adding options to an address keeps its password: %s",
  (word) => {
    const url = `postgresql://somebody:${word}@db.example/addon`;
    const of = (connectionString: string) =>
      new pg.Client({ connectionString }) as unknown as {
        password: string;
        connectionParameters: { options: string };
      };
    const added = of(withQuery(url, (query) => query.set("options", "-c one=1")));
    expect(added.password).toBe(of(url).password);
    expect(added.connectionParameters.options).toBe("-c one=1");
  },
);

it("a client certificate in the address is kept, and a CA may be a file", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "addon-tls-"));
  const file = path.join(folder, "client.pem");
  await writeFile(file, "one of ours");
  const tls = tlsOf(`?sslcert=${file}&sslkey=${file}`, file);
  const all = { ca: "one of ours", rejectUnauthorized: true, cert: "one of ours", key: "one of ours" };
  // The driver makes the key non-enumerable.
  expect({ ...tls, key: tls.key }).toEqual(all);
  await rm(folder, { recursive: true });
});

it("a file that cannot be read is refused by the setting's name, without its value", () => {
  expect(() => withCa(ADDRESS, "/no/such/file")).toThrow(Misconfigured);
  expect(() => withCa(ADDRESS, "/no/such/file")).toThrow(/^DATABASE_CA must be (?!.*such)/);
  expect(() => tlsOf("?sslcert=/no/such/file", PEM)).toThrow(
    /^DATABASE_URL: the file of its sslcert(?!.*such)/,
  );
});
