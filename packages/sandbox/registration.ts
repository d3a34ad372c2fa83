import { checkAddonManifest, jsonOf } from "./addon-manifest.ts";
import { type Check, httpUrl, path, text } from "./control/members.ts";
import type { PartnerSettings } from "./settings.ts";

/**
 * Members of a manifest that set the partner's settings: the service's address, and the secrets that both sides share.
 */
const MEMBERS: Readonly<Record<string, (value: string) => Partial<PartnerSettings>>> = {
  base_url: addressIn,
  password: (addonPassword) => ({ addonPassword }),
  sso_salt: (ssoSalt) => ({ ssoSalt }),
};

/**
 * Reads the registration of an add-on from its manifest, given as JSON text or as a path. Throws with the reason if it
 * cannot be used.
 */
export function readRegistration(pathOrJson: string): Partial<PartnerSettings> {
  return registrationOf(jsonOf(pathOrJson));
}

/** The same, from the manifest's JSON value. */
export function registrationOf(value: unknown): Partial<PartnerSettings> {
  const settings: Partial<PartnerSettings> = { addonManifest: checkAddonManifest(value) };
  for (const [name, read] of Object.entries(MEMBERS)) {
    const given = (value as Record<string, unknown>)[name];
    if (given !== undefined) Object.assign(settings, read(checked(name, text, given) as string));
  }
  return settings;
}

/**
 * The origin is the partner's address; a path in it replaces the default path for resources. Sign-ons go to the origin.
 */
function addressIn(baseUrl: string): Partial<PartnerSettings> {
  const { origin, pathname } = new URL(checked("base_url", httpUrl, baseUrl) as string);
  if (pathname === "/") return { partnerUrl: origin };
  return { partnerUrl: origin, resourcesPath: checked("base_url's path", path, pathname) as string };
}

/** Adds the name of the member to the error. */
function checked(name: string, check: Check, value: unknown): unknown {
  try {
    return check(value);
  } catch (error) {
    throw new Error(`The add-on manifest's ${name} ${(error as Error).message}.`, { cause: error });
  }
}
