import type { RequestHandler } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, notFound } from "../refusal.ts";
import { callerOf } from "./caller.ts";
import { reachAddon, reachApp } from "./reach.ts";

/**
 * Endpoints of the platform's API besides the partner endpoints: known, but outside an add-on's access until they are
 * enabled ("Usage rules" 3). Each entry is the methods and a path, with `*` for one segment.
 */
const others: [methods: string, path: string][] = [
  ["GET PATCH DELETE", "/account"],
  ["GET", "/account/*"],
  ["POST", "/addon-attachments"],
  ["GET", "/addon-attachments"],
  ["GET DELETE", "/addon-attachments/*"],
  ["GET", "/addon-services"],
  ["GET", "/addon-services/*"],
  ["GET", "/addon-services/*/plans"],
  ["GET", "/addons/*/webhooks"],
  ["POST", "/apps"],
  ["PATCH DELETE", "/apps/*"],
  ["POST", "/apps/*/addons"],
  ["GET PATCH DELETE", "/apps/*/addons/*"],
  ["POST", "/apps/*/collaborators"],
  ["GET DELETE", "/apps/*/collaborators/*"],
  ["POST", "/apps/*/domains"],
  ["GET PATCH DELETE", "/apps/*/domains/*"],
  ["GET POST", "/apps/*/builds"],
  ["GET DELETE", "/apps/*/builds/*"],
  ["GET PUT", "/apps/*/buildpack-installations"],
  ["GET PATCH", "/apps/*/config-vars"],
  ["GET POST DELETE", "/apps/*/dynos"],
  ["GET DELETE", "/apps/*/dynos/*"],
  ["GET", "/apps/*/features"],
  ["GET PATCH", "/apps/*/formation"],
  ["GET PATCH", "/apps/*/formation/*"],
  ["POST", "/apps/*/log-sessions"],
  ["GET POST", "/apps/*/releases"],
  ["GET", "/apps/*/releases/*"],
  ["POST", "/apps/*/slugs"],
  ["GET", "/apps/*/slugs/*"],
  ["GET POST", "/apps/*/sni-endpoints"],
  ["GET POST", "/apps/*/webhooks"],
  ["GET POST", "/oauth/clients"],
  ["GET PATCH DELETE", "/oauth/clients/*"],
  ["POST", "/oauth/clients/*/actions/rotate-credentials"],
  ["GET POST", "/oauth/authorizations"],
  ["GET PATCH DELETE", "/oauth/authorizations/*"],
  ["POST", "/oauth/authorizations/*/actions/regenerate-tokens"],
  ["POST", "/pipeline-couplings"],
  ["PATCH DELETE", "/pipeline-couplings/*"],
  ["POST", "/pipelines"],
  ["PATCH DELETE", "/pipelines/*"],
  ["GET", "/regions"],
  ["GET", "/spaces"],
  ["GET", "/stacks"],
  ["GET POST", "/teams"],
  ["GET PATCH DELETE", "/teams/*"],
  ["GET POST", "/teams/*/apps"],
  ["PUT POST PATCH", "/teams/*/members"],
  ["DELETE", "/teams/*/members/*"],
  ["GET", "/users/*"],
];

/** The last handler. An enabled endpoint answers an empty list: the sandbox does not model what it would return. */
export function otherEndpoints({ world }: Platform): RequestHandler {
  return (req, res) => {
    const { path } = req;
    const method = req.method === "HEAD" ? "GET" : req.method;
    if (callerOf(res).kind === "user") {
      const played = world.settings.customerApi
        ? "what it plays for customers is in its README.md, “Your customers' command line”"
        : "what it plays is the partners' part";
      throw notFound(`The sandbox plays no ${method} ${path} for users; ${played}.`);
    }
    if (world.settings.extraEndpoints.some((pattern) => matches(pattern, `${method} ${path}`))) {
      const [, kind, id] = path.split("/");
      if (kind === "apps" && id) reachApp(world, callerOf(res), id);
      if (kind === "addons" && id) reachAddon(world, callerOf(res), id);
      res.json([]);
    } else if (isKnown(method, path)) {
      throw forbidden(`${method} ${path} is outside the add-on's access.`);
    } else {
      throw notFound(`The platform has no ${method} ${path}.`);
    }
  };
}

function isKnown(method: string, path: string): boolean {
  return others.some(([methods, pattern]) => methods.split(" ").includes(method) && matches(pattern, path));
}

function matches(pattern: string, text: string): boolean {
  const expression = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^/]+");
  return new RegExp(`^${expression}/?$`, "i").test(text);
}
