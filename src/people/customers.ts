import type { Router } from "express";
import type { Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Pages } from "../pages/pages.tsx";
import type { Secret } from "../secret.ts";
import { createCookieRoom } from "./cookie-room.ts";
import { createSecretCookie } from "./secret-cookie.ts";
import type { Vault } from "../vault/vault.ts";
import type { CustomerPage } from "./contract.ts";
import { customerRoutes } from "./customer-pages.ts";
import { createCustomerSessions, CUSTOMER_SESSION_SECONDS } from "./customer-sessions.ts";
import { signOnRoutes } from "./sign-on.ts";

/** A cookie takes about 100 bytes. */
const MOST_COOKIES = 30;

/** The sign-on for customers who come from the platform's dashboard (assumed, section 6), and the page it leads to. */
export interface Customers {
  routers: Record<"/sso" | "/customer", Router>;
}

export function createCustomers(needs: {
  salt: Secret;
  /** Accepts only sign-ons that name the customer. */
  mustNameUser: boolean;
  customerPage: CustomerPage;
  /** Which clocks are more than a minute apart, as a sentence; null: none. */
  clocksTrouble(): string | null;
  db: Queryable;
  vault: Vault;
  pages: Pages;
  log: Log;
}): Customers {
  const { pages } = needs;
  const sessions = createCustomerSessions(needs);
  // One cookie per resource: a customer with two resources open in two tabs is signed on to both.
  const cookieOf = (uuid: string) =>
    createSecretCookie(pages.addressOf, {
      ...{ name: `kit_customer_${uuid}`, path: `/customer/${uuid}` },
      maxAgeSeconds: CUSTOMER_SESSION_SECONDS,
    });
  const makeRoom = createCookieRoom(cookieOf, {
    family: /kit_customer_([0-9a-f-]{36})$/,
    most: MOST_COOKIES,
  });
  const parts = { ...needs, sessions, cookieOf, makeRoom };
  return { routers: { "/sso": signOnRoutes(parts), "/customer": customerRoutes(parts) } };
}
