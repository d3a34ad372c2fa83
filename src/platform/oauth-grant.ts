import { isJsonObject } from "../values.ts";
import { Secret } from "../secret.ts";
import { askOnce, type PlatformCalls } from "./http.ts";
import { PlatformRefused, TransportError, UnreadableAnswer } from "./errors.ts";
import { path } from "./path.ts";

interface OauthGrant {
  code: Secret;
  /** As the platform wrote it, such as `2026-01-31T12:00:00+0000`; null: it did not. */
  expiresAt: string | null;
}

/**
 * Why no grant came. About the endpoint as a whole: `closed` (it was not opened for us), `credentials_rejected`. About
 * this resource: `already_exchanged` (its tokens were issued once, and nothing more can be had), `unknown`. `not_now`:
 * undecided; asking again is harmless. `refused`: any other refusal.
 */
type NoGrantBecause =
  "closed" | "credentials_rejected" | "already_exchanged" | "unknown" | "not_now" | "refused";

export interface NoGrant {
  outcome: NoGrantBecause;
  error: { id: string; message: string };
}

export type GrantAnswer = { outcome: "grant"; grant: OauthGrant } | NoGrant;

/**
 * The platform's document names the cases, but not their statuses; these are what its API uses elsewhere for similar
 * cases (assumed, section 2). Any other status below 500 is `refused`.
 */
const BY_STATUS: Readonly<Record<number, NoGrantBecause>> = {
  401: "credentials_rejected",
  403: "closed",
  404: "unknown",
  408: "not_now",
  409: "already_exchanged",
  410: "already_exchanged",
  422: "already_exchanged",
  425: "not_now",
  429: "not_now",
};

/**
 * Asks the legacy oauth-grant endpoint, which is closed unless the platform opened it for this partner, for the
 * unexpired grant of a resource, or a new one if that has expired (platform document, "Authorization management").
 * Never throws for what the platform does, and asks once; asking again is harmless.
 */
export async function oauthGrantOf(
  { http, apiUrl, mediaType }: PlatformCalls,
  { addonId, addonPassword }: { addonId: string; addonPassword: Secret },
  uuid: string,
): Promise<GrantAnswer> {
  const password = addonPassword.reveal();
  const credentials = Buffer.from(`${addonId}:${password}`).toString("base64");
  try {
    const grant = await askOnce(http, {
      ...{ method: "GET", url: apiUrl + path`/vendor/resources/${uuid}/oauth-grant` },
      headers: { accept: mediaType, authorization: `Basic ${credentials}` },
      ...{ secrets: [password, credentials], timeoutMs: 10_000, maxBytes: 64_000 },
      ...{ read: grantIn, expected: "a usable grant" },
    });
    return { outcome: "grant", grant };
  } catch (error) {
    return noGrant(error);
  }
}

function grantIn(body: unknown): OauthGrant | null {
  const grant = isJsonObject(body) ? body["oauth_grant"] : null;
  if (!isJsonObject(grant)) return null;
  const { code, expires_at: expiresAt } = grant;
  if (typeof code !== "string" || code === "" || code.length > 2048) return null;
  return { code: new Secret(code), expiresAt: typeof expiresAt === "string" ? expiresAt : null };
}

function noGrant(error: unknown): NoGrant {
  if (error instanceof PlatformRefused) {
    const { status, id, message } = error;
    return { outcome: BY_STATUS[status] ?? (status >= 500 ? "not_now" : "refused"), error: { id, message } };
  }
  if (!(error instanceof TransportError || error instanceof UnreadableAnswer)) throw error;
  return { outcome: "not_now", error: { id: error.id, message: error.message } };
}
