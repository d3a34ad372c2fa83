import type { Config } from "../../config.ts";
import { databaseAddress } from "../../setting.ts";

const LOOPBACK = /^(localhost|127\.[\d.]+|\[?::1\]?)?$/;

/** What the settings allow that is safe in development alone, a sentence each. */
export function unsafeSettings(config: Config): string[] {
  const { allowInsecurePlatform, publicUrl = "", databaseUrl, databaseCa } = config;
  const { hostname, searchParams } = databaseAddress(databaseUrl.reveal())!;
  const isNear = LOOPBACK.test(hostname) || searchParams.get("host")?.startsWith("/");
  const isPlain = /^(|disable|0|false)$/.test(searchParams.get("sslmode") ?? searchParams.get("ssl") ?? "");
  const found: [is: boolean, sentence: string][] = [
    [allowInsecurePlatform, "ALLOW_INSECURE_PLATFORM is on: secrets may be sent unencrypted."],
    [/^http:/.test(publicUrl), "PUBLIC_URL is not https: cookies and sign-ins can be read on the way."],
    [isPlain && !isNear && !databaseCa, "DATABASE_URL asks for no encryption: add sslmode=verify-full."],
  ];
  return found.flatMap(([is, sentence]) => (is ? [sentence] : []));
}
