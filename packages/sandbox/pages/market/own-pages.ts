import type { Request, RequestHandler } from "express";
import { forbidden } from "../../refusal.ts";
import type { SandboxSettings } from "../../settings.ts";

const loopback = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/i;

/**
 * The sandbox has no sign-in: access to this machine is enough. So pages of other origins must be kept from acting or
 * reading through the browser of a person on this machine, be it with a form of theirs or with a domain that they
 * resolve to this machine (DNS rebinding). This refuses forms of other origins; `onlyOwnNames` refuses foreign host
 * names.
 */
export const onlyOwnPages: RequestHandler = (req, _res, next) => {
  if (req.method !== "GET" && req.headers.origin !== originOf(req))
    throw forbidden(
      "Forms are accepted only from the sandbox's own pages. Reload the page and send the form again.",
    );
  next();
};

/** Refuses host names that do not mean this machine, unless the sandbox was told to listen on other addresses too. */
export function onlyOwnNames({ host }: SandboxSettings): RequestHandler {
  const isLocal = host === "localhost" || host === "::1" || host.startsWith("127.");
  return (req, _res, next) => {
    if (isLocal && !loopback.test(hostnameOf(req)))
      throw forbidden(
        "The sandbox can be used on this machine only: use its address with localhost or 127.0.0.1, or set SANDBOX_HOST.",
      );
    next();
  };
}

/**
 * For the control API: browsers send an Origin header, other programs do not. A browser's request is accepted only from
 * the sandbox's own pages.
 */
export const noOtherPages: RequestHandler = (req, _res, next) => {
  const { origin } = req.headers;
  if (origin !== undefined && origin !== originOf(req))
    throw forbidden(`The sandbox accepts no requests from pages of ${origin}.`);
  next();
};

function originOf({ protocol, headers }: Request): string {
  return `${protocol}://${headers.host}`;
}

/** The name in the Host header, without the port. */
function hostnameOf({ headers }: Request): string {
  return (headers.host ?? "").replace(/:\d+$/, "");
}
