import type { Database, Queryable } from "../database/database.ts";
import type { Http, HttpRequest } from "../platform/http.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Metrics } from "./metrics.ts";
import { endpointOf } from "./platform-endpoints.ts";

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
