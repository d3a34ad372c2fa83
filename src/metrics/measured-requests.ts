import type { Request, Response } from "express";
import { Refusal } from "../errors.ts";
import type { CallResult, Metrics } from "./metrics.ts";

interface Mount {
  path: string;
  label: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

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

/**
 * Counts each of the platform's three calls by the result of the whole request, from reading its body to its answer.
 */
export function countedCalls({ provision, planChange, deprovision }: Metrics) {
  return {
    provision: <A extends Answer>(work: () => Promise<A>) => counted(work, provision),
    changePlan: <A extends Answer>(work: () => Promise<A>) => counted(work, planChange),
    deprovision: <A extends Answer>(work: () => Promise<A>) => counted(work, deprovision),
  };
}

type Answer = { status: number } | void;

async function counted<A extends Answer>(
  work: () => Promise<A>,
  count: (result: CallResult) => void,
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
