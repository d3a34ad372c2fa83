import { createHash } from "node:crypto";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { uuidOf } from "../world/identity.ts";
import type { AddonRecord } from "../world/records.ts";
import { callPartner } from "./calls.ts";

export interface SignedForm {
  /** The URL that a browser would post it to. */
  action: string;
  form: Record<string, string>;
}

const digest = (algorithm: "sha1" | "sha256", ...parts: string[]) =>
  createHash(algorithm).update(parts.join(":")).digest("hex");

/**
 * The form with which a customer comes from the platform's dashboard, signed with the real time, not the sandbox's
 * clock (assumed, section 6). `contextApp`: the app from whose pages the customer comes, which is the add-on's own unless
 * given.
 */
export function signForm(
  { world }: Platform,
  addon: AddonRecord,
  email: string,
  contextApp = world.apps.get(addon.appId)!.name,
): SignedForm {
  const salt = world.settings.ssoSalt;
  if (!salt) throw invalid("The partner has no sign-on salt.");
  const timestamp = String(Math.floor(Date.now() / 1000));
  const userId = world.users.find(email)?.id ?? uuidOf(`user ${email}`);
  const app = world.apps.get(addon.appId)!.name;
  return {
    action: `${world.settings.partnerUrl.replace(/\/+$/, "")}/sso/login`,
    form: {
      resource_id: addon.id,
      timestamp,
      resource_token: digest("sha1", addon.id, salt, timestamp),
      user_scoped_resource_token: digest("sha256", addon.id, salt, timestamp, userId, email),
      user_id: userId,
      email,
      app,
      context_app: contextApp,
    },
  };
}

/**
 * Posts the signed form as the customer's browser would. The service must refuse it for a resource that is gone, and
 * may refuse it for one that is being deprovisioned.
 */
export function sendSignOn(platform: Platform, addon: AddonRecord, { form }: SignedForm) {
  const isGone = addon.deprovisionedAt !== null || addon.isRefused;
  // Of one whose provision got no success, the service may have nothing.
  const isUnsure = addon.state === "deprovisioning" || addon.providerId === null;
  const [wanted, ...others] = isGone ? [403] : isUnsure ? [303, 403] : [303];
  return callPartner(platform, {
    method: "POST",
    path: "/sso/login",
    headers: { accept: "text/html", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
    receive: ({ status, error }) => {
      if (status === null) return [error ?? "There was no answer."];
      const what = isGone ? "A sign-on to a resource that is gone" : "A sign-on";
      const isRight = [wanted, ...others].includes(status);
      return isRight ? [] : [`${what} is answered with ${wanted}, not ${status}.`];
    },
  });
}
