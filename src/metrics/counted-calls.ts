import { Refusal } from "../errors.ts";
import type { CallResult, Metrics } from "./metrics.ts";

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
