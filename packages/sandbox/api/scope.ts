import type { RequestHandler } from "express";
import { forbidden } from "../refusal.ts";
import { type Ability, allows, scopesThatAllow } from "../world/scopes.ts";
import { callerOf } from "./caller.ts";

type Needs = Record<"reading" | "writing", Ability>;

/** The abilities needed for paths that are neither apps nor their resources. */
const special: [path: RegExp, needs: Needs][] = [
  [/^\/account\/?$/i, { reading: "account", writing: "manage access" }],
  [/^\/oauth(\/|$)/i, { reading: "manage access", writing: "manage access" }],
  [
    /^\/(apps\/[^/]+\/config-vars|addons\/[^/]+\/config)\/?$/i,
    { reading: "read secrets", writing: "write secrets" },
  ],
  // This POST only reads: it holds a query that is too long for a URL.
  [/^\/filters\//i, { reading: "read", writing: "read" }],
];
const usual: Needs = { reading: "read", writing: "write" };

/** Checks a user's token against its scope ("Scopes"). A partner's token has no scope; it is limited by its reach. */
export const checkCallScope: RequestHandler = (req, res, next) => {
  const caller = callerOf(res);
  if (caller.kind === "user") {
    const needs = special.find(([path]) => path.test(req.path))?.[1] ?? usual;
    const ability = needs[req.method === "GET" || req.method === "HEAD" ? "reading" : "writing"];
    if (!allows(caller.consent.scope, ability)) {
      const enough = scopesThatAllow(ability).join(" ");
      // RFC 6750, section 3.1.
      res.set("WWW-Authenticate", `Bearer realm="platform", error="insufficient_scope", scope="${enough}"`);
      throw forbidden(
        `${req.method} ${req.path} takes one of the scopes ${scopesThatAllow(ability).join(", ")}; ` +
          `this token has ${caller.consent.scope.join(", ")}.`,
      );
    }
  }
  next();
};
