import { readFileSync } from "node:fs";
import type pg from "pg";
import { parse } from "pg-connection-string";
import { Misconfigured } from "../errors.ts";

/** What the driver, Prisma and our statements rely on, whatever the server or the role has set. */
const RELIED_ON =
  "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c search_path=public -c default_transaction_isolation=read\\ committed";

/**
 * How the driver connects to `url`, with options of the connection in front of the address's own: of two that set the
 * same, PostgreSQL takes the last.
 *
 * `ca` is `DATABASE_CA`. Unset, the address alone decides about TLS, and certificates are verified against the system's
 * CAs, whatever the `sslmode`. Set, it replaces all that the address says about TLS except a client certificate; an
 * address that turns TLS off stays as it is.
 *
 * @throws Misconfigured if the address or a file that it names cannot be read, or `ca` is neither PEM, nor a readable
 * file, nor `no-verify`
 */
export function connectionTo(
  url: string,
  ca?: string,
  options = "",
  setting = "DATABASE_URL",
): pg.ClientConfig {
  const config = parsed(ca ? withoutTls(url) : inTheDriversWords(url), setting);
  config.options = [options, config.options, RELIED_ON].filter(Boolean).join(" ");
  if (!ca || config.ssl === false) return config;
  const own = typeof config.ssl === "object" ? config.ssl : {};
  // The documented opt-out, for self-signed certificates: encrypted, but anyone may answer.
  const isVerified = ca !== "no-verify";
  return { ...config, ssl: { ...own, ...(isVerified && { ca: pem(ca) }), rejectUnauthorized: isVerified } };
}

function parsed(url: string, setting: string): pg.ClientConfig {
  try {
    return parse(url) as unknown as pg.ClientConfig;
  } catch (cause) {
    throw new Misconfigured(
      `${setting}, or a file that it names, cannot be read. In its user and password, what is not a letter or a digit must be percent-encoded: % as %25`,
      { cause },
    );
  }
}

/** What the address says about TLS would win over our own settings, and a file that it names need not be there. */
function withoutTls(url: string): string {
  return url.replace(/([?&])(sslmode=(?!disable(&|$))|sslrootcert=)[^&]*/g, "$1");
}

/** Says what libpq's words mean to the driver, which would fail at the one and warn of the others. */
function inTheDriversWords(url: string): string {
  const rootsOfTheSystem = url.replace(/([?&])sslrootcert=system(?=&|$)/, "$1sslmode=verify-full");
  if (/[?&]uselibpqcompat=/.test(url)) return rootsOfTheSystem;
  return rootsOfTheSystem.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

function pem(ca: string): string {
  if (ca.includes("-----BEGIN CERTIFICATE-----")) return ca.replaceAll("\\n", "\n");
  try {
    return readFileSync(ca, "utf8");
  } catch (cause) {
    throw new Misconfigured(
      "DATABASE_CA must be a certificate in PEM, the path of a file that holds one, or no-verify",
      { cause },
    );
  }
}
