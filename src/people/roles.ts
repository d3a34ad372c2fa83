import type { Context } from "../context.ts";
import { orNullAfter } from "../within.ts";
import type { CustomerPerson } from "./contract.ts";

/** A page waits for the platform no longer than this. */
const PATIENCE_MS = 2_000;

type Standing = Pick<CustomerPerson, "role" | "permissions">;

/** Asks the platform for a person's role and permissions at the app of a resource. */
export async function standingOf(
  { platformFor, log }: Context,
  uuid: string,
  appId: string | null,
  email: string | null,
): Promise<Standing> {
  try {
    const asked = appId !== null && email !== null && platformFor(uuid).collaborators.ofApp(appId);
    const collaborators = (asked && (await orNullAfter(PATIENCE_MS, asked))) || [];
    // Only the API's objects' ids are checked.
    const { role = null, permissions } =
      collaborators.find(({ user }) => inSmallLetters(user?.email ?? "") === inSmallLetters(email!)) ?? {};
    return { role, permissions: permissions?.map(({ name }) => name) ?? [] };
  } catch (error) {
    log.warn({ uuid, error }, "The platform does not say who works on a customer's app");
    return { role: null, permissions: [] };
  }
}

/**
 * Only ASCII letters are compared without case: in Unicode, the lower case of the kelvin sign is an ordinary "k", so
 * another person's e-mail could match.
 */
export function inSmallLetters(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
