import { jsonOf } from "../addon-manifest.ts";
import { registrationOf } from "../registration.ts";
import type { BehaviourSettings, PartnerSettings } from "../settings.ts";
import { type Check, checkMembers, flag, httpUrl, listOf, oneOf, path, text } from "./members.ts";

const count: Check = (value) => {
  if (!Number.isInteger(value) || Number(value) < 0) throw new Error("must be a whole number from 0");
  return value;
};

/** A media type as in an `Accept` header. */
const mediaType: Check = (value) => {
  if (typeof value !== "string" || !/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*version="?[\w.-]+"?)?$/.test(value))
    throw new Error("must be a media type like application/json or application/vnd.svc+json; version=3");
  return value;
};

/** A method and a path. HEAD is not allowed, because it is looked up as GET. */
const endpoint: Check = (value) => {
  if (typeof value !== "string" || !/^(\*|GET|POST|PUT|PATCH|DELETE) \/[^\s?#]*$/i.test(value))
    throw new Error("must be a method, a space and a path, like GET /apps/*/dynos");
  return value;
};

const behaviourChecks: Record<keyof BehaviourSettings, Check> = {
  refreshStatus: oneOf(200, 201),
  refreshToken: oneOf("same", "new", "none"),
  replayTokens: flag,
  plain401: oneOf("never", "tokens", "always"),
  pkce: oneOf("honoured", "required", "ignored"),
  expiresIn: count,
  mediaType,
  acceptCreated: flag,
  legacyGrants: flag,
  acceptDelayMs: count,
  thirdPartyOAuth: flag,
  rateLimit: count,
  extraEndpoints: listOf(endpoint),
  redeliveries: count,
  customerApi: flag,
  statusRefreshSeconds: count,
};

const partnerChecks: Record<keyof PartnerSettings, Check> = {
  partnerUrl: httpUrl,
  resourcesPath: path,
  addonId: text,
  addonPassword: text,
  clientSecret: text,
  ssoSalt: (value) => (value === null ? null : text(value)),
  addonManifest: (value): Partial<PartnerSettings> => {
    if (value === null) return { addonManifest: null };
    const registration = registrationOf(typeof value === "string" ? jsonOf(value) : value);
    return { addonId: registration.addonManifest!.id, ...registration };
  },
};

/** `plainRefusals` is the short form of `plain401`: true stands for `tokens`, false for `never`. */
export function checkBehaviour(changes: object): Partial<BehaviourSettings> {
  const { plainRefusals, ...others } = changes as { plainRefusals?: unknown };
  const checked = checkMembers(others, behaviourChecks);
  if (plainRefusals === undefined) return checked;
  const { plainRefusals: isPlain } = checkMembers({ plainRefusals }, { plainRefusals: flag });
  return { plain401: isPlain ? "tokens" : "never", ...checked };
}

/**
 * Also accepts the names of the environment variables, such as `PARTNER_URL` for `partnerUrl`. A manifest registers the
 * add-on, and its id replaces an earlier one, even one from ADDON_ID; other members of the same request win over the
 * manifest.
 */
export function checkPartner(changes: object): Partial<PartnerSettings> {
  const named = Object.entries(changes).map(([name, value]: [string, unknown]) => [camelCase(name), value]);
  const { addonManifest, ...others } = checkMembers(Object.fromEntries(named), partnerChecks);
  return { ...(addonManifest as Partial<PartnerSettings> | undefined), ...others };
}

function camelCase(name: string): string {
  if (!/^[A-Z_]+$/.test(name)) return name;
  return name.toLowerCase().replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
}
