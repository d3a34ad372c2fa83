import type { Database, Queryable } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import type { Http, HttpRequest } from "../platform/http.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import type { CallResult, Metrics } from "./metrics.ts";
import type { Request, Response } from "express";

// Wrappers that count and time what the parts of every process do.

/** Wraps the token endpoint's client and counts each call by its outcome. */
export function countedTokens({ exchange, refresh }: TokenEndpoint, metrics: Metrics): TokenEndpoint {
  return {
    async exchange(code, clientSecret) {
      const answer = await exchange(code, clientSecret);
      metrics.exchange(answer.outcome);
      return answer;
    },
    async refresh(refreshToken, clientSecret) {
      const answer = await refresh(refreshToken, clientSecret);
      metrics.refresh(answer.outcome);
      return answer;
    },
  };
}

/** Wraps the database and times its statements by name. Prisma's statements are not timed. */
export function timedDatabase(db: Database, { query: observe }: Metrics): Database {
  const timed =
    ({ query }: Queryable): Queryable["query"] =>
    async (statement, values) => {
      const startedMs = performance.now();
      try {
        return await query(statement, values);
      } finally {
        observe({ statement: statement.name }, (performance.now() - startedMs) / 1_000);
      }
    };
  return {
    ...db,
    query: timed(db),
    readWhole: timed({ query: db.readWhole }),
    transaction: (work) => db.transaction((tx) => work({ query: timed(tx) })),
  };
}

/** Wraps the HTTP client for the platform and times its calls, by endpoint and status. */
export function timedHttp({ send, close }: Http, { platformCall: observe }: Metrics): Http {
  async function timed(request: HttpRequest) {
    const startedMs = performance.now();
    let status = "none";
    try {
      const answer = await send(request);
      status = known(answer.status);
      return answer;
    } finally {
      const labels = { endpoint: endpointOf(request.method, request.url), status };
      observe(labels, (performance.now() - startedMs) / 1_000);
    }
  }
  return { send: timed, close };
}

/** Statuses of interest are kept; any other becomes its class, such as `4xx`. */
function known(status: number): string {
  return TELLING.includes(status) ? String(status) : `${Math.floor(status / 100)}xx`;
}

const TELLING = [200, 201, 401, 403, 404, 422, 429, 503];

interface Mount {
  path: string;
  label: string;
}

/**
 * Times each request by the template of its route, never by its path, which comes from outside. A route knows only the
 * part of the path after its router's mount: one of `ownPaths`, or `resourcesPath`. The latter is a setting; its label
 * is always "/resources", because alerts refer to it.
 */
export function timedRequests(
  { request: observe }: Metrics,
  resourcesPath: string,
  ownPaths: readonly string[],
) {
  const mounts = [
    { path: resourcesPath, label: "/resources" },
    ...ownPaths.map((path) => ({ path, label: path })),
  ];
  return (request: Request, response: Response): void => {
    const startedMs = performance.now();
    response.on("close", () => {
      const method = METHODS.includes(request.method) ? request.method : "other";
      const status = response.writableFinished ? String(response.statusCode) : "none";
      const route = routeOf(request, mounts);
      observe({ method, route, status }, (performance.now() - startedMs) / 1_000);
    });
  };
}

/** A request that was refused before it reached a route gets the label of its mount alone. */
function routeOf({ originalUrl, route }: Request, mounts: readonly Mount[]): string {
  const { path = null } = (route ?? {}) as { path?: unknown };
  const mount = mounts.find((each) => isBelow(originalUrl, each.path));
  const behind = typeof path === "string" && path !== "/" && path !== mount?.path ? path : "";
  return (mount?.label ?? "") + behind || "other";
}

/** Whether the address is the path or below it. One that merely begins with the same letters is not. */
function isBelow(address: string, path: string): boolean {
  if (!address.startsWith(path)) return false;
  const next = address[path.length];
  return next === undefined || next === "/" || next === "?";
}

type Answer = { status: number } | void;

/** Counts one of the platform's three calls by the result of the whole request, from reading its body to its answer. */
export async function counted<A extends Answer>(
  count: (result: CallResult) => void,
  work: () => Promise<A>,
): Promise<A> {
  try {
    const answer = await work();
    count(resultOf(answer?.status ?? 204));
    return answer;
  } catch (error) {
    count(isRefusal(error) ? "refused" : "failed");
    throw error;
  }
}

/** Whether an error is a refusal: one of ours, or a 4xx error of the body parser. */
function isRefusal(error: unknown): boolean {
  const { status } = error as { status?: unknown };
  return error instanceof Refusal || (typeof status === "number" && status < 500);
}

/** A status of 300 or more means a refusal: a repeated provision may be answered with a stored one. */
function resultOf(status: number): CallResult {
  if (status >= 300) return "refused";
  return status === 202 ? "later" : "done";
}

/** The placeholder for an id, a name or an address in a path. */
const ANY = ":id";

/** A path and its segments. */
interface KnownPath {
  path: string;
  words: readonly string[];
}

/**
 * The platform's paths that the service calls, those with the most literal segments first: of two that match, the first
 * is used. Any other is `other`: the number of label values must not grow with the number of customers.
 */
const PATHS: readonly KnownPath[] = `
  /oauth/token /oauth/authorizations /oauth/authorizations/:id /account
  /vendor/resources/:id/oauth-grant
  /addons /addons/:id /addons/:id/config /addons/:id/addon-attachments
  /addons/:id/log-drains /addons/:id/log-drains/:id /addons/:id/actions/provision /addons/:id/actions/deprovision
  /users/:id/addons /users/:id/apps
  /apps /apps/:id /apps/:id/addons /apps/:id/addon-attachments /apps/:id/addon-attachments/:id
  /apps/:id/collaborators /apps/:id/domains /apps/:id/log-drains /apps/:id/log-drains/:id
  /apps/:id/pipeline-couplings /filters/apps
  /pipelines /pipelines/:id /pipelines/:id/pipeline-couplings /pipeline-couplings /pipeline-couplings/:id
  /teams/:id/members
  /api/v4/current-status /api/v4/incidents /api/v4/incidents/:id`
  .trim()
  .split(/\s+/)
  .map((path) => ({ path, words: path.split("/").slice(1) }))
  .sort((a, b) => literals(b) - literals(a));

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** The endpoint of a call, such as `GET /addons/:id/config`. The platform's base URL may have a path of its own. */
export function endpointOf(method: string, url: URL | string): string {
  const { pathname } = typeof url === "string" ? new URL(url) : url;
  const segments = pathname.split("/");
  const known = PATHS.find(({ words }) => endsLike(segments, words));
  return known && METHODS.includes(method) ? `${method} ${known.path}` : "other";
}

function endsLike(segments: readonly string[], words: readonly string[]): boolean {
  const start = segments.length - words.length;
  return start > 0 && words.every((word, index) => word === ANY || word === segments[start + index]);
}

function literals({ words }: KnownPath): number {
  return words.filter((word) => word !== ANY).length;
}
