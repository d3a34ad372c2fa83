import type { Router } from "express";
import type { Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Pages } from "../pages/pages.tsx";
import type { Secret } from "../secret.ts";
import { createIdCookie } from "../web-sessions/id-cookie.ts";
import type { Vault } from "../vault/vault.ts";
import type { CustomerPage } from "./contract.ts";
import { createCookieRoom } from "./cookie-room.ts";
import { customerRoutes } from "./routes.ts";
import { createCustomerSessions, CUSTOMER_SESSION_SECONDS } from "./sessions.ts";
import { signOnRoutes } from "./sign-on.ts";

/** The sign-on for customers who come from the platform's dashboard (assumed, section 6), and the page it leads to. */
export interface Customers {
  routers: Record<"/sso" | "/customer", Router>;
}

export function createCustomers(needs: {
  salt: Secret;
  /** Accepts only sign-ons that name the customer. */
  mustNameUser: boolean;
  customerPage: CustomerPage;
  db: Queryable;
  vault: Vault;
  pages: Pages;
  log: Log;
}): Customers {
  const { pages } = needs;
  const sessions = createCustomerSessions(needs);
  // One cookie per resource: a customer with two resources open in two tabs is signed on to both.
  const cookieOf = (uuid: string) =>
    createIdCookie(pages.addressOf, {
      ...{ name: `kit_customer_${uuid}`, path: `/customer/${uuid}` },
      maxAgeSeconds: CUSTOMER_SESSION_SECONDS,
    });
  const makeRoom = createCookieRoom(cookieOf);
  const parts = { ...needs, sessions, cookieOf, makeRoom };
  return { routers: { "/sso": signOnRoutes(parts), "/customer": customerRoutes(parts) } };
}
