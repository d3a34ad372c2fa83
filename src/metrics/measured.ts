import type { Request, Response } from "express";
import type { Http } from "../platform/call.ts";
import { endpointOf, METHODS, routeOf } from "./labels.ts";
import type { Metrics } from "./metrics.ts";

const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1_000;

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

/** Times each request by the template of its route, never by its path, which comes from outside. */
export function timedRequests(metrics: Metrics, resourcesPath: string) {
  return (request: Request, response: Response): void => {
    const startedMs = performance.now();
    response.on("close", () => {
      const method = METHODS.includes(request.method) ? request.method : "other";
      const status = response.writableFinished ? response.statusCode : "none";
      const route = routeOf(request, resourcesPath);
      metrics.request({ method, route, status: `${status}` }, secondsSince(startedMs));
    });
  };
}
