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
      // Browsers apply this list also to the redirect that follows a form: back to the client and further.
      formAction: ["'self'", "http:", "https:"],
    },
  },
  // A client may have opened the authorize page in a window of its own, and keeps a reference to it.
  crossOriginOpenerPolicy: false,
  // The sandbox uses http, on a host name shared with other services.
  strictTransportSecurity: false,
});

/** For everything that a person's browser shows: only the sandbox's own styles, no framing, no caching. */
export const pageHeaders: RequestHandler = (req, res, next) => {
  res.set("Cache-Control", "no-store");
  protect(req, res, next);
};
