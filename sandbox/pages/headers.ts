import type { RequestHandler } from "express";
import helmet from "helmet";

const protect = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", "data:"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
      // Browsers hold the redirect after a form, back to the client and on from there, to this list too.
      formAction: ["'self'", "http:", "https:"],
    },
  },
  // A client may have opened the authorize page in a window of its own, and waits for it.
  crossOriginOpenerPolicy: false,
  // The sandbox speaks http, on a host name that other services share.
  strictTransportSecurity: false,
});

/** For everything that a person's browser shows: nothing but our own styles, in no frame, kept nowhere. */
export const pageHeaders: RequestHandler = (req, res, next) => {
  res.set("Cache-Control", "no-store");
  protect(req, res, next);
};
