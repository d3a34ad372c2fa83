import { isAttachmentName } from "../world/attachment-names.ts";
import { type Check, checkMembers, flag, object, text } from "./members.ts";

export interface InstallWish {
  /** Id or name of the app; absent: a new app is made. */
  app?: string;
  plan?: string;
  /** The add-on's name, unique on the platform; absent: one is generated. */
  name?: string;
  /** The attachment's name. */
  as?: string;
  /** Absent: an example of each option that the manifest requires. */
  options?: Record<string, unknown>;
  region?: string;
  /** Allows a plan that the manifest does not have. */
  force?: boolean;
}

export interface RedeliverWish {
  /** Sends a new grant instead of the last one. */
  newCode?: boolean;
  /** Another plan than first requested, for this one delivery. */
  plan?: string;
}

const attachmentName: Check = (value) => {
  if (typeof value !== "string" || !isAttachmentName(value))
    throw new Error("must consist of upper-case letters, digits and underscores, and begin with a letter");
  return value;
};

const install = {
  app: text,
  plan: text,
  name: text,
  as: attachmentName,
  options: object,
  region: text,
  force: flag,
  /** Simulates an installation older than the partner's service: no request is sent. */
  silent: flag,
};

/** Checks the request for an installation before anything is made. */
export function checkInstall(wish: object): InstallWish & { silent?: boolean } {
  return checkMembers(wish, install);
}

export function checkRedelivery(wish: object): RedeliverWish {
  return checkMembers(wish, { newCode: flag, plan: text });
}

export function checkPlanChange(wish: object): { plan: string; force?: boolean } {
  return checkMembers(wish, { plan: text, force: flag }, ["plan"]) as { plan: string; force?: boolean };
}

/** Checks the request for a sign-on: the user is an e-mail, or an object with one. */
export function checkSignOn(wish: object): { email: string | undefined; form: boolean } {
  const { user, form = false } = checkMembers(wish, { user: personOf, form: flag });
  return { email: user as string | undefined, form: form as boolean };
}

function personOf(value: unknown): unknown {
  return text(typeof value === "string" ? value : (object(value) as { email?: unknown }).email);
}
