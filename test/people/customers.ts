import { hash } from "node:crypto";
import { aLifecycle } from "../support/lifecycle.ts";
import { type Wishes } from "../support/world.ts";
import { aBrowser, type Browser } from "./browser.ts";
import { runOf } from "./people.ts";

export const SALT = "2f97bfa52ca102f8874716e2eb1d3b4920ad0be4";

const CROSS_SITE = { "sec-fetch-site": "cross-site" };

export type Form = Record<string, string>;

/** A world whose platform and service have the same sign-on salt, and the actions of customers in it. */
export async function aWorldOfCustomers(wishes: Wishes = {}) {
  const life = await aLifecycle({
    ...wishes,
    sandbox: { ssoSalt: SALT, ...wishes.sandbox },
    environment: { SSO_SALT: SALT, WEB_JOBS: "on", ...wishes.environment },
  });
  const { world, control } = life;
  const url = () => world.service.url!;
  /**
   * The seconds that were signed already: two forms without a user in the same second are equal, and the second is
   * refused.
   */
  const seconds = new Set<number>();
  const signedForm = (uuid: string, user?: string): Form => {
    const { form } = control.signOnForm(uuid, user);
    seconds.add(Number(form["timestamp"]));
    return form;
  };
  const signedAt = (uuid: string, secondsFromNow: number): Form => {
    const form = signedForm(uuid);
    let second = Math.floor(Date.now() / 1_000) + secondsFromNow;
    while (seconds.has(second)) second -= 1;
    seconds.add(second);
    return signed({ ...form, timestamp: String(second) });
  };

  return {
    ...{ world, control, life, url, signedForm },
    /** A form signed for another moment, or for the nearest second before it that no form has used. */
    signedAt,
    browser: (headers?: Record<string, string>) => aBrowser(url, headers),
    /** Posts a form from a page of the platform, which is another site. */
    signOn: (browser: Browser, form: Form | string) =>
      browser.post("/sso/login", CROSS_SITE, typeof form === "string" ? form : new URLSearchParams(form)),
    used: () => world.rows(`SELECT * FROM used_sign_ons`),
    sessions: () => world.rows(`SELECT * FROM customer_sessions`),
    prune: () => runOf(world, "prune-sessions"),
    close: () => world.close(),
  };
}

export type CustomersWorld = Awaited<ReturnType<typeof aWorldOfCustomers>>;

/** Signs a form as the platform does, for forms that the sandbox never sends. */
export function signed(form: Form, salt = SALT): Form {
  const { resource_id, timestamp, user_id, email } = form;
  const text = `${resource_id}:${salt}:${timestamp}`;
  return {
    ...form,
    resource_token: hash("sha1", text),
    user_scoped_resource_token: hash("sha256", `${text}:${user_id}:${email}`),
  };
}

export function without(form: Form, ...names: string[]): Form {
  return Object.fromEntries(Object.entries(form).filter(([name]) => !names.includes(name)));
}
