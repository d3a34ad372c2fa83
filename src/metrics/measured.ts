import type { Request, Response } from "express";
import type { Database, Queryable } from "../database/database.ts";
import type { Http } from "../platform/call.ts";
import { endpointOf, METHODS, routeOf } from "./labels.ts";
import type { Metrics } from "./metrics.ts";

const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1_000;

/** Not timed: Prisma, and `planned()`. */
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
      // The platform sends no wrong password.
      if (call && status !== "none" && status !== 401) metrics[call](resultOf(status));
    });
  };
}

function resultOf(status: number) {
  if (status >= 500) return "failed";
  if (status >= 300) return "refused";
  return status === 202 ? "later" : "done";
}
