import type { Request, Response } from "express";
import type { Database, Queryable } from "../database/database.ts";
import type { Http } from "../platform/errors.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Metrics } from "./metrics.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1_000;

export function countedTokens({ exchange, refresh }: TokenEndpoint, metrics: Metrics): TokenEndpoint {
  return {
    async exchange(...sent) {
      const answer = await exchange(...sent);
      metrics.exchange(answer.outcome);
      return answer;
    },
    async refresh(...sent) {
      const answer = await refresh(...sent);
      metrics.refresh(answer.outcome);
      return answer;
    },
  };
}

/** Prisma's statements are not timed. */
export function timedDatabase(db: Database, metrics: Metrics): Database {
  const timed =
    (query: Queryable["query"]): Queryable["query"] =>
    async (statement, values) => {
      const startedMs = performance.now();
      try {
        return await query(statement, values);
      } finally {
        metrics.query({ statement: statement.name }, secondsSince(startedMs));
      }
    };
  return {
    ...db,
    query: timed(db.query),
    readWhole: timed(db.readWhole),
    transaction: (work) => db.transaction((tx) => work({ query: timed(tx.query) })),
  };
}

export function timedHttp({ send, close }: Http, metrics: Metrics): Http {
  return {
    close,
    async send(request) {
      const startedMs = performance.now();
      let status = "none";
      try {
        const answer = await send(request);
        status = `${answer.status}`;
        return answer;
      } finally {
        const labels = { endpoint: endpointOf(request.method, request.url), status };
        metrics.platformCall(labels, secondsSince(startedMs));
      }
    },
  };
}

/** The words of the platform's paths; anything else there is an id, a name or an address. */
const WORDS = new Set(
  `account actions addon-attachments addons api apps authorizations collaborators config current-status deprovision domains
  filters incidents log-drains members oauth oauth-grant pipeline-couplings pipelines provision resources teams token users v4
  vendor`.split(/\s+/),
);

/**
 * The endpoint of a call, such as `GET /addons/:id/config`. The platform's base URL may have a path of its own. A path
 * of which two words in a row are unknown is `other`: the number of labels must not grow with that of the customers.
 */
export function endpointOf(method: string, url: URL | string): string {
  const path = (typeof url === "string" ? new URL(url) : url).pathname.replace(/[^/]+/g, (word) =>
    WORDS.has(word) ? word : ":id",
  );
  const known = path.replace(/^(\/:id)+(?=\/|$)/, "");
  return known.length < 2 || known.includes(":id/:id") || !METHODS.includes(method)
    ? "other"
    : `${method} ${known}`;
}

/** The platform's three calls to us, by method and route. */
const CALLS: Readonly<Record<string, "provision" | "planChange" | "deprovision">> = {
  "POST /resources": "provision",
  "PUT /resources/:uuid": "planChange",
  "DELETE /resources/:uuid": "deprovision",
};

/**
 * Times each request by the template of its route, never by its path, which comes from outside, and counts the
 * platform's three calls by what they were answered.
 */
export function timedRequests(metrics: Metrics, resourcesPath: string) {
  return (request: Request, response: Response): void => {
    const startedMs = performance.now();
    response.on("close", () => {
      const method = METHODS.includes(request.method) ? request.method : "other";
      const status = response.writableFinished ? response.statusCode : "none";
      const route = routeOf(request, resourcesPath);
      metrics.request({ method, route, status: `${status}` }, secondsSince(startedMs));
      const call = CALLS[`${method} ${route}`];
      // Who gave a wrong password is not the platform.
      if (call && status !== "none" && status !== 401) metrics[call](resultOf(status));
    });
  };
}

function resultOf(status: number) {
  if (status >= 500) return "failed";
  if (status >= 300) return "refused";
  return status === 202 ? "later" : "done";
}

const ROUTER_PATHS = ["/metrics", "/oauth", "/sso", "/customer", "/operator"];

/**
 * A route knows only the part of its path behind its router's mount. The label of the platform's calls is always
 * "/resources", because alerts refer to it; of a request that was refused before it reached a route, its mount's.
 */
export function routeOf({ originalUrl, route }: Request, resourcesPath: string): string {
  const isBelow = (path: string) =>
    originalUrl.startsWith(path) && /^([/?]|$)/.test(originalUrl.slice(path.length));
  const mount = isBelow(resourcesPath) ? "/resources" : (ROUTER_PATHS.find(isBelow) ?? "");
  const { path } = (route ?? {}) as { path?: unknown };
  const behind = typeof path === "string" && path !== "/" && path !== mount ? path : "";
  return mount + behind || "other";
}
