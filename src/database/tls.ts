import { readFileSync } from "node:fs";
import { Misconfigured } from "../errors.ts";

/** The documented opt-out, for managed databases with self-signed certificates: encrypted, but anyone may answer. */
const NO_VERIFICATION = "no-verify";

type Tls = { ca?: string; rejectUnauthorized: boolean };

/**
 * What `DATABASE_CA` asks for, as connection settings. Unset, the address alone decides (`sslmode`, `sslrootcert`), and
 * the driver verifies certificates against the system's CAs. Set, it takes the place of the address's `sslmode`, which
 * the driver would otherwise prefer.
 *
 * @throws Misconfigured if it is neither PEM, nor a readable file, nor `no-verify`
 */
export function withCa(url: string, ca: string | undefined): { connectionString: string; ssl?: Tls } {
  if (!ca || /[?&]sslmode=disable\b/.test(url)) return { connectionString: url };
  const connectionString = url.replace(/([?&])sslmode=[^&]*(&|$)/, (_, before: string, after: string) =>
    after ? before : "",
  );
  if (ca === NO_VERIFICATION) return { connectionString, ssl: { rejectUnauthorized: false } };
  return { connectionString, ssl: { ca: pem(ca), rejectUnauthorized: true } };
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
