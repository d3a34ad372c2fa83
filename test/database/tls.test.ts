import { expect, test } from "@jest/globals";
import { withCa } from "../../src/database/tls.ts";
import { Misconfigured } from "../../src/errors.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

test("without DATABASE_CA the address alone decides", () => {
  const url = "postgresql://u:p@db.example/addon?sslmode=verify-full";
  expect(withCa(url, undefined)).toEqual({ connectionString: url });
});

test.each([
  ["?sslmode=require", ""],
  ["?sslmode=require&application_name=a", "?application_name=a"],
  ["?application_name=a&sslmode=verify-full", "?application_name=a"],
  ["", ""],
])("a CA of our own is trusted, and nobody else: %s", (query, left) => {
  expect(withCa(`postgresql://db.example/addon${query}`, PEM)).toEqual({
    connectionString: `postgresql://db.example/addon${left}`,
    ssl: { ca: PEM, rejectUnauthorized: true },
  });
});

test("no-verify encrypts without asking who answers; nothing else does", () => {
  expect(withCa("postgresql://db.example/addon", "no-verify").ssl).toEqual({ rejectUnauthorized: false });
});

test("an address that turns TLS off stays as it is", () => {
  const url = "postgresql://localhost/addon?sslmode=disable";
  expect(withCa(url, PEM)).toEqual({ connectionString: url });
});

test("a CA that is neither a certificate nor a file is refused by the setting's name, not its value", () => {
  expect(() => withCa("postgresql://db.example/addon", "/no/such/file")).toThrow(Misconfigured);
  expect(() => withCa("postgresql://db.example/addon", "/no/such/file")).toThrow(/^DATABASE_CA must be/);
});
