import { randomUUID } from "node:crypto";
import express, { type ErrorRequestHandler, type Express } from "express";
import { apiEndpoints } from "./api/endpoints.ts";
import type { Control } from "./control/control.ts";
import { controlRoutes } from "./control/routes.ts";
import { noOtherPages, onlyOwners } from "./guard.ts";
import { authorizeEndpoint } from "./oauth/authorize-endpoint.ts";
import { oauthGrantEndpoint } from "./oauth/oauth-grant.ts";
import { inTokenWords, tokenEndpoint } from "./oauth/token-endpoint.ts";
import { pageAssets } from "./pages/assets.ts";
import { marketplace } from "./pages/market/market.tsx";
import type { Platform } from "./platform.ts";
import { OAuthRefused, Refused } from "./refusal.ts";
import { isLoopback } from "./settings.ts";
import { statusFeed } from "./status/feed.ts";
import { incidentPages } from "./status/incident-pages.tsx";
import { recordCalls } from "./wire/recorder.ts";

/**
 * The control API and the platform's services on one port. Faults, checks and the ledger apply only to calls of the
 * services.
 */
export function createApp(platform: Platform, control: Control): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", "strong");
  app.use((_req, res, next) => {
    res.set("Request-Id", randomUUID());
    next();
  });
  app.use(pageAssets());
  const { settings } = platform.world;
  const owners = onlyOwners(settings);
  app.use("/sandbox", noOtherPages, owners, controlRoutes(control, isLoopback(settings.host)));
  app.use(marketplace(platform, control));
  // There, whoever comes may choose who to be.
  app.use("/oauth/authorize", owners);
  app.use(incidentPages(platform));
  app.use(recordCalls(platform));
  app.use(authorizeEndpoint(platform));
  app.use(tokenEndpoint(platform));
  app.use(oauthGrantEndpoint(platform));
  app.use("/api/v4", statusFeed(platform));
  app.use(apiEndpoints(platform, control));
  app.use("/oauth/token", inTokenWords);
  app.use(answerError);
  return app;
}

/**
 * Errors are `{id, message}`, except at the token endpoint, which uses the body of RFC 6749 (assumed, sections 3 and
 * 4).
 */
const answerError: ErrorRequestHandler = (error: unknown, req, res, _next) => {
  if (error instanceof OAuthRefused) {
    if (error.status === 401 && req.headers.authorization)
      res.set("WWW-Authenticate", 'Basic realm="token endpoint"');
    res.status(error.status).set("Cache-Control", "no-store");
    res.json({ error: error.error, error_description: error.message });
  } else if (error instanceof Refused) {
    // RFC 6750, section 3: no error code if no token was sent. The legacy endpoint has set its own scheme before.
    if (error.status === 401 && !res.hasHeader("WWW-Authenticate")) {
      const reason = req.headers.authorization ? ', error="invalid_token"' : "";
      res.set("WWW-Authenticate", `Bearer realm="platform"${reason}`);
    }
    const { id, message, resource } = error;
    res.status(error.status).json({ id, ...(resource !== undefined && { resource }), message });
  } else if (isBadInput(error)) {
    res.status(error.status).json({ id: "bad_request", message: error.message });
  } else {
    console.error(error);
    res
      .status(500)
      .json({ id: "internal_server_error", message: "The sandbox has a fault of its own; see its output." });
  }
};

/**
 * Errors that Express throws: for a broken percent-encoding in a path, and for a body that is not JSON, too large or
 * encoded.
 */
function isBadInput(error: unknown): error is Error & { status: number } {
  const { status } = error as { status?: unknown };
  return error instanceof Error && typeof status === "number" && status >= 400 && status < 500;
}
