import { setTimeout as sleep } from "node:timers/promises";
import type { Platform } from "../platform.ts";
import { readableBody } from "../wire/body.ts";
import { delay } from "../wire/delay.ts";
import type { FaultAction } from "../wire/fault.ts";
import type { Headers } from "../wire/ledger.ts";
import { type Incoming, type Outgoing, sendRequest } from "./http.ts";

/** The service's answer. `status` is null when no complete answer arrived in time. */
export interface PartnerResponse {
  status: number | null;
  headers: Headers;
  body: unknown;
  ms: number;
  /** Why there is no answer. */
  error?: string;
  /** What is wrong with the answer; the ledger has the same. */
  complaints?: string[];
}

export interface PartnerCall {
  method: string;
  /** Appended to the partner's address. */
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** Called with each answer: acts on it and returns the complaints about it. */
  receive(response: PartnerResponse): string[];
}

/**
 * Calls the partner's service, with a fault if one is due. With the fault `duplicate` the request is sent twice, and
 * each answer is handled and recorded on its own. Returns the first answer.
 */
export async function callPartner(platform: Platform, call: PartnerCall): Promise<PartnerResponse> {
  const url = new URL(platform.world.settings.partnerUrl.replace(/\/+$/, "") + call.path);
  const fault = platform.faults.take("out", call.method, call.path);
  if (fault?.delayMs !== undefined) await delay(fault.delayMs, platform.closing);
  const sendings = Array.from({ length: fault?.duplicate ? 2 : 1 }, () =>
    makeCall(platform, call, url, fault),
  );
  const [first] = await Promise.all(sendings);
  return first!;
}

async function makeCall(platform: Platform, call: PartnerCall, url: URL, fault: FaultAction | undefined) {
  const at = Date.now();
  const started = performance.now();
  const outcome = await attempt(platform, { ...call, url }, fault).catch((error: unknown) => reasonOf(error));
  const ms = Math.round((performance.now() - started) * 10) / 10;
  const answer = typeof outcome === "string" ? null : outcome;
  const response: PartnerResponse = answer
    ? { status: answer.status, headers: answer.headers, body: readJsonOrText(answer), ms }
    : { status: null, headers: {}, body: null, ms, error: String(outcome) };
  // A closing sandbox says nothing about the service: the provision stays open, and the next sandbox delivers it again.
  if (answer === null && platform.closing.aborted) return response;
  // The service is not to blame for the time in which a fault sends its request.
  const received = call.receive(fault?.drip === undefined ? response : { ...response, ms: 0 });
  // An answer that a fault made up is not the service's fault.
  const complaints = fault?.status === undefined ? received : [];
  if (complaints.length > 0) response.complaints = complaints;
  platform.ledger.add({
    at,
    direction: "out",
    method: call.method,
    path: call.path,
    request: { headers: call.headers, text: call.body ?? "" },
    response: answer,
    ms,
    ...(fault && { fault }),
    ...(complaints.length > 0 && { complaints }),
  });
  platform.changed();
  return response;
}

/** Sends one request, with its fault. Rejects when the platform gets no answer. */
async function attempt(platform: Platform, outgoing: Outgoing, fault: FaultAction = {}): Promise<Incoming> {
  const timeoutMs = platform.world.settings.partnerTimeoutMs;
  const needs = { agents: platform.agents, timeoutMs, signal: platform.closing };
  const noAnswer = new Error(`The service did not answer within ${timeoutMs / 1000} s.`);
  if (fault.reset === "before") throw new Error("A fault cut the connection before the request was sent.");
  if (fault.status !== undefined) return faultAnswer(fault);
  if (fault.hang === true || fault.hang === "before") {
    await sleep(timeoutMs, undefined, { signal: platform.closing });
    throw noAnswer;
  }
  const incoming = await sendRequest({ ...outgoing, msPerByte: fault.drip }, needs);
  if (fault.reset === "after") throw new Error("A fault cut the connection before the answer was received.");
  if (fault.truncate) throw new Error("A fault cut the connection in the middle of the answer.");
  if (fault.hang === "after") {
    await sleep(timeoutMs, undefined, { signal: platform.closing });
    throw noAnswer;
  }
  return incoming;
}

/** An answer as if from a proxy in front of the service, which has not seen the request. */
function faultAnswer({ status = 500, body, headers = {} }: FaultAction): Incoming {
  const isText = typeof body === "string" || body === undefined;
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    status,
    headers: { ...(isText ? {} : { "content-type": "application/json" }), ...Object.fromEntries(named) },
    text: isText ? (body ?? "") : JSON.stringify(body),
  };
}

function readJsonOrText({ text, headers }: Incoming): unknown {
  return readableBody(text, headers["content-type"]);
}

function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || "The connection failed.";
}
