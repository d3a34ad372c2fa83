import type { Request, RequestHandler } from "express";
import { forbidden } from "../../refusal.ts";
import type { SandboxSettings } from "../../settings.ts";

const loopback = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/i;

/**
 * Nobody signs in here: being on this machine is all it takes. So a page of somebody else must not be able to act, or
 * look, through the browser of a person who is: neither with a form of its own, nor under a name that it lets point here.
 */
export const onlyOwnPages: RequestHandler = (req, _res, next) => {
  if (req.method !== "GET" && req.headers.origin !== originOf(req))
    throw forbidden(
      "A form is taken from a page of the sandbox only. Load its page again and send it from there.",
    );
  next();
};

/** Refuses names that are not this machine's, unless the sandbox was told to listen to others too. */
export function onlyOwnNames({ host }: SandboxSettings): RequestHandler {
  const isLocal = host === "localhost" || host === "::1" || host.startsWith("127.");
  return (req, _res, next) => {
    if (isLocal && !loopback.test(hostnameOf(req)))
      throw forbidden(
        "The sandbox is open on this machine only: use its address with localhost or 127.0.0.1, or set SANDBOX_HOST.",
      );
    next();
  };
}

/** For what programs call: only a browser says where it comes from, and there only our own pages are welcome. */
export const noOtherPages: RequestHandler = (req, _res, next) => {
  const { origin } = req.headers;
  if (origin !== undefined && origin !== originOf(req))
    throw forbidden(`The sandbox takes nothing from a page of ${origin}.`);
  next();
};

function originOf({ protocol, headers }: Request): string {
  return `${protocol}://${headers.host}`;
}

/** Of the Host header, without the port. */
function hostnameOf({ headers }: Request): string {
  return (headers.host ?? "").replace(/:\d+$/, "");
}
