import { setTimeout as sleep } from "node:timers/promises";
import type { RequestHandler, Response } from "express";
import type { Platform } from "../platform.ts";
import { TooLarge } from "../refusal.ts";
import { readBody } from "./body.ts";
import { COPY_HEADER, makeCopy } from "./copy.ts";
import { delay } from "./delay.ts";
import type { FaultAction } from "./fault.ts";

type Answered = {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
};

/** The raw body of a call, read before anything else so that the ledger has it even when the call is refused. */
export function bodyOf(res: Response): string {
  return res.locals["body"] as string;
}

/** Reads each call of the service, applies the fault that is due, and records the call in the ledger. */
export function recordCalls(platform: Platform): RequestHandler {
  return async (req, res, next) => {
    const startedAt = Date.now();
    const started = performance.now();
    const body = await readBody(req).catch((error: unknown) => {
      if (error instanceof TooLarge) return error;
      // The caller closed the connection in the middle of its request, or never ends it: no answer can be sent.
      if (!req.complete) return null;
      throw error;
    });
    if (body === null) return void res.socket?.destroy();
    const isKept = typeof body === "string";
    const text = isKept ? body : "";
    res.locals["body"] = text;
    const headers = { ...req.headers };
    const isCopy = req.headers[COPY_HEADER] !== undefined;
    const fault = isCopy || !isKept ? undefined : platform.faults.take("in", req.method, req.path);
    const record = (response: Answered | null) =>
      platform.ledger.add({
        at: startedAt,
        direction: "in",
        method: req.method,
        path: req.originalUrl,
        request: { headers, text, ...(!isKept && { size: body.size }) },
        response,
        ms: Math.round((performance.now() - started) * 10) / 10,
        ...(fault && { fault }),
      });
    interceptAnswer(platform, res, fault, (answered) => {
      record(answered);
      if (req.method !== "GET") platform.changed();
    });
    if (!isKept) {
      if (req.complete) return next(body);
      record(null);
      return void res.socket?.destroy();
    }
    if (!fault) return next();

    if (fault.delayMs !== undefined) {
      const isOpen = await delay(fault.delayMs, platform.closing).then(
        () => true,
        () => false,
      );
      if (!isOpen) return;
    }
    if (fault.reset === "before" || fault.hang === true || fault.hang === "before") {
      record(null);
      if (fault.reset) req.socket.destroy();
      return;
    }
    if (fault.status !== undefined) return answerWithFault(res, fault);
    if (fault.duplicate) await makeCopy(platform.url(), req, text);
    next();
  };
}

/**
 * Intercepts the finished answer and records it before it is sent, so that a caller that has the answer finds the call
 * in the ledger.
 */
function interceptAnswer(
  platform: Platform,
  res: Response,
  fault: FaultAction | undefined,
  record: (answer: Answered | null) => void,
): void {
  const end = res.end.bind(res) as (chunk?: unknown, ...rest: unknown[]) => Response;
  res.end = ((chunk?: unknown, ...rest: unknown[]) => {
    const body =
      typeof chunk === "string" || Buffer.isBuffer(chunk) ? Buffer.from(chunk as string) : Buffer.alloc(0);
    record({ status: res.statusCode, headers: { ...res.getHeaders() }, text: body.toString("utf8") });
    if (fault?.reset === "after") res.socket?.destroy();
    else if (fault?.hang === "after") return res;
    else if (fault?.truncate) truncate(res, body);
    else if (fault?.drip !== undefined) void drip(res, body, fault.drip, platform.closing).then(() => end());
    else return end(chunk, ...rest);
    return res;
  }) as typeof res.end;
}

function truncate(res: Response, body: Buffer): void {
  // The Content-Length is that of the whole body, so that the caller must notice the missing rest.
  res.setHeader("Content-Length", Math.max(body.length, 1));
  res.write(body.subarray(0, Math.floor(body.length / 2)), () => res.socket?.destroy());
  res.flushHeaders();
}

/** Sends the body byte by byte; stops when the caller is gone or the sandbox closes. */
async function drip(res: Response, body: Buffer, msPerByte: number, signal: AbortSignal): Promise<void> {
  res.setHeader("Content-Length", body.length);
  res.flushHeaders();
  for (const byte of body) {
    if (res.destroyed) return;
    res.write(Buffer.of(byte));
    await sleep(msPerByte, undefined, { signal }).catch(() => res.destroy());
  }
}

function answerWithFault(res: Response, { status = 500, body, headers = {} }: FaultAction): void {
  res.status(status).set(headers);
  if (body === undefined && !res.hasHeader("Content-Type")) {
    res.json({ id: "fault", message: `A fault answers ${status} here.` });
  } else if (typeof body === "string") {
    res.send(body);
  } else {
    res.json(body);
  }
}
