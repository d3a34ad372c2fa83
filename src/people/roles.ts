import type { Context } from "../context.ts";
import type { Collaborator } from "../platform/types.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import type { CustomerPerson } from "./contract.ts";

/** A page that waits for an action is loaded every 2 s. */
const ASKED_AGAIN_MS = 30_000;
const MOST_APPS = 500;
/** A page waits for the platform no longer than this. */
const PATIENCE_MS = 2_000;

type Standing = Pick<CustomerPerson, "role" | "permissions">;

const NOT_KNOWN: Standing = { role: null, permissions: [] };

/** Asks the platform for people's roles and permissions at the app of a resource. */
export function createRoles({ platformFor, log }: Context) {
  const apps = new Map<string, () => Promise<Collaborator[]>>();
  return async (uuid: string, appId: string | null, email: string | null): Promise<Standing> => {
    if (appId === null || email === null) return NOT_KNOWN;
    const key = `${uuid} ${appId}`;
    const ask = () => platformFor(uuid).collaborators.ofApp(appId);
    const collaborators = apps.get(key) ?? sharedFor(ASKED_AGAIN_MS, ask);
    if (apps.size >= MOST_APPS) apps.clear();
    apps.set(key, collaborators);
    try {
      const found = (await orNullAfter(PATIENCE_MS, collaborators())) ?? [];
      // Only the API's objects' ids are checked.
      const { role = null, permissions } =
        found.find(({ user }) => inSmallLetters(user?.email ?? "") === inSmallLetters(email)) ?? {};
      return { role, permissions: permissions?.map(({ name }) => name) ?? [] };
    } catch (error) {
      log.warn({ uuid, error }, "The platform does not say who works on a customer's app");
      return NOT_KNOWN;
    }
  };
}

/**
 * Only ASCII letters are compared without case: in Unicode, the lower case of the kelvin sign is an ordinary "k", so
 * another person's e-mail could match.
 */
export function inSmallLetters(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
