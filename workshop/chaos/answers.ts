import type { LedgerEntry } from "../../packages/sandbox/index.ts";
import type { Span } from "./history.ts";

/**
 * A temporary failure is explained if the database was away, or a web process frozen, for this long during the call: half
 * the time that a request waits.
 */
const AWAY_MS = 4_000;
const SUCCESSES: Readonly<Record<string, readonly number[]>> = {
  POST: [200, 202],
  PUT: [200, 202],
  DELETE: [204],
};

/** A call of the platform to the service, and its answer. */
export interface Asked {
  uuid: string;
  method: string;
  /** The requested plan; null for a deprovision. */
  plan: string | null;
  fromMs: number;
  toMs: number;
  /** Null if there was no answer. */
  status: number | null;
  isSuccess: boolean;
  body: unknown;
  complaints: readonly string[];
}

/** The calls of the platform to the service, in the order in which they ended. */
export function askedOf(entries: readonly LedgerEntry[]): Asked[] {
  return entries.flatMap(({ direction, method, path, at, ms, request, response, complaints = [] }) => {
    if (direction !== "out" || !SUCCESSES[method]) return [];
    const body = request.body as { uuid?: string; plan?: string } | null;
    const fromMs = Date.parse(at);
    const status = response?.status ?? null;
    return {
      ...{ uuid: body?.uuid ?? path.split("/").at(-1)!, method, plan: body?.plan ?? null },
      ...{ fromMs, toMs: fromMs + ms, status, body: response?.body ?? null, complaints },
      isSuccess: status !== null && SUCCESSES[method].includes(status),
    };
  });
}

/**
 * Answers that the platform should never have got: a refusal that nothing explains (a temporary failure must not become
 * a refusal), an answer in an invalid format, and an answer to a repeated provision that differs from the first.
 * `troubles`: when the database was away, and when a web process was frozen. `isDestroyed`: no answer to its grant
 * arrived, so that a provision which was put off has failed.
 */
export function wrongAnswers(
  asked: readonly Asked[],
  troubles: readonly Span[],
  isDestroyed: (uuid: string) => boolean,
): string[] {
  const ends = asked.filter(({ method }) => method === "DELETE");
  const firsts = new Map<string, string>();
  return asked.flatMap((call) => {
    const { uuid, method, status, body, isSuccess, complaints } = call;
    if (status === null) return [];
    const named = `${uuid}: ${method} ${new Date(call.fromMs).toISOString().slice(11, 23)}`;
    const said = `${status} ${JSON.stringify(body)}`;
    if (!isSuccess) return isExplained(call) ? [] : [`${named} was answered ${said.slice(0, 120)}`];
    // Speed is measured by the benchmarks; here all kinds of faults delay answers.
    const faults = complaints.filter((each) => !each.startsWith("The answer took "));
    const first = firsts.get(uuid) ?? said;
    if (method === "POST") firsts.set(uuid, first);
    const differs = method === "POST" && said !== first;
    return [
      ...faults.map((each) => `${named}: ${each}`),
      ...(differs ? [`${named} was not answered like the one before it`] : []),
    ];
  });

  function isExplained(call: Asked): boolean {
    if (call.status === 410)
      return ends.some((end) => end !== call && end.uuid === call.uuid && end.fromMs <= call.toMs);
    if (call.status === 422)
      return (call.body as { id?: unknown } | null)?.id === "provision_failed" && isDestroyed(call.uuid);
    // A request of which a frozen process had not read everything is answered 408 when it goes on.
    return (call.status === 503 || call.status === 408) && awayMs(call) >= AWAY_MS;
  }

  function awayMs({ fromMs, toMs }: Span): number {
    return troubles.reduce(
      (sum, away) => sum + Math.max(0, Math.min(toMs, away.toMs) - Math.max(fromMs, away.fromMs)),
      0,
    );
  }
}
