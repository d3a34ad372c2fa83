import type { Http, HttpRequest } from "../platform/http.ts";
import { endpointOf } from "./platform-endpoints.ts";
import type { Metrics } from "./metrics.ts";

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
