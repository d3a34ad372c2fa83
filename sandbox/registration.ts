import { checkAddonManifest, jsonOf } from "./addon-manifest.ts";
import { type Check, httpUrl, path, text } from "./control/members.ts";
import type { PartnerSettings } from "./settings.ts";

/** What a manifest may say beside what the add-on is: where the service is, and what both sides sign with. */
const MEMBERS: Readonly<Record<string, (value: string) => Partial<PartnerSettings>>> = {
  base_url: addressIn,
  password: (addonPassword) => ({ addonPassword }),
  sso_salt: (ssoSalt) => ({ ssoSalt }),
};

/** Registers an add-on by its manifest, given as JSON text or as a path. Throws with the reason it cannot be used. */
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

/** Requests go to the address, below it to the usual path where it has none; sign-ons to the service it belongs to. */
function addressIn(baseUrl: string): Partial<PartnerSettings> {
  const { origin, pathname } = new URL(checked("base_url", httpUrl, baseUrl) as string);
  if (pathname === "/") return { partnerUrl: origin };
  return { partnerUrl: origin, resourcesPath: checked("base_url's path", path, pathname) as string };
}

/** Lets an error tell which member it is about. */
function checked(name: string, check: Check, value: unknown): unknown {
  try {
    return check(value);
  } catch (error) {
    throw new Error(`The add-on manifest's ${name} ${(error as Error).message}.`, { cause: error });
  }
}
