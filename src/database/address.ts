import { readFileSync } from "node:fs";
import type pg from "pg";
import { parse } from "pg-connection-string";
import { Misconfigured } from "../errors.ts";

/** Settings that the driver, Prisma and the kit's statements rely on; they override those of the server and the role. */
const RELIED_ON =
  "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c search_path=public -c default_transaction_isolation=read\\ committed";

/**
 * The driver's configuration for `url`. `options`: connection options that the address may override.
 *
 * `ca` is `DATABASE_CA`. Without it the address alone decides about TLS, and certificates are verified against the
 * system's CAs with every `sslmode`. With it, it replaces the TLS parameters of the address except a client certificate;
 * an address that turns TLS off stays without TLS.
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
  const config = parsed(ca ? withoutTls(url) : withDriverTlsModes(url), setting);
  // PostgreSQL takes the last of two options that set the same.
  config.options = [options, config.options, RELIED_ON].filter(Boolean).join(" ");
  if (!ca || config.ssl === false) return config;
  const own = typeof config.ssl === "object" ? config.ssl : {};
  // `no-verify` is the documented opt-out for self-signed certificates: encrypted, but the server is not authenticated.
  const isVerified = ca !== "no-verify";
  return { ...config, ssl: { ...own, ...(isVerified && { ca: pem(ca) }), rejectUnauthorized: isVerified } };
}

function parsed(url: string, setting: string): pg.ClientConfig {
  try {
    return parse(url) as unknown as pg.ClientConfig;
  } catch (cause) {
    throw new Misconfigured(
      `${setting}, or a file that it names, cannot be read. Percent-encode every character of its user and password that is not a letter or a digit: % as %25`,
      { cause },
    );
  }
}

/** Removes the TLS parameters that would override `DATABASE_CA`, or name a file that need not exist. */
function withoutTls(url: string): string {
  return url.replace(/([?&])(sslmode=(?!disable(&|$))|sslrootcert=)[^&]*/g, "$1");
}

/** Replaces libpq's TLS modes by the driver's. The driver fails at `sslrootcert=system` and warns of the other modes. */
function withDriverTlsModes(url: string): string {
  const withSystemRoots = url.replace(/([?&])sslrootcert=system(?=&|$)/, "$1sslmode=verify-full");
  if (/[?&]uselibpqcompat=/.test(url)) return withSystemRoots;
  return withSystemRoots.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
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
