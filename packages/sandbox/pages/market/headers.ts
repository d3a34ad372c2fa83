import type { RequestHandler } from "express";
import helmet from "helmet";

const nothing = ["'none'"];
const ours = ["'self'"];

const protectWith = (formAction: string[]) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: nothing,
        styleSrc: ours,
        scriptSrc: ours,
        connectSrc: ours,
        imgSrc: ["'self'", "data:"],
        baseUri: nothing,
        frameAncestors: nothing,
        formAction,
      },
    },
    // With `no-referrer` a browser would send no usable Origin with the sandbox's forms.
    referrerPolicy: { policy: "same-origin" },
    // The sandbox uses http, on a host name shared with other services.
    strictTransportSecurity: false,
  });

const protect = protectWith(ours);
/** The signed form is posted to the service, which may redirect the browser to any address. */
const protectSignOn = protectWith(["'self'", "http:", "https:"]);

/** For the pages of the marketplace: only the sandbox's own styles, script and forms, no framing, no caching. */
export const marketHeaders: RequestHandler = (req, res, next) => {
  res.set("Cache-Control", "no-store");
  (req.path.endsWith("/sign-on") ? protectSignOn : protect)(req, res, next);
};
