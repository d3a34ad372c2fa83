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
    // With `no-referrer` a browser would send no usable Origin with our forms.
    referrerPolicy: { policy: "same-origin" },
    // The sandbox speaks http, on a host name that other services share.
    strictTransportSecurity: false,
  });

const protect = protectWith(ours);
/** The signed form goes to the service, which sends the browser on to wherever it likes. */
const protectSignOn = protectWith(["'self'", "http:", "https:"]);

/** For the pages of the marketplace: our own styles, our one script, our own forms; in no frame, kept nowhere. */
export const marketHeaders: RequestHandler = (req, res, next) => {
  res.set("Cache-Control", "no-store");
  (req.path.endsWith("/sign-on") ? protectSignOn : protect)(req, res, next);
};
