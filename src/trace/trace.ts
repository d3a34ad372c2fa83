import type { RequestHandler } from "express";
import type { Http } from "../platform/http.ts";

interface SpanAbout {
  /** The `traceparent` (W3C) of the span above it; null: it begins a trace. Left out: the span in which `inSpan` is called. */
  parent?: string | null;
  /** The resource that the work is for. */
  uuid?: string | undefined;
}

/**
 * Traces of the work of this process, in OpenTelemetry's terms (docs/tracing.md). A span holds names, ids, times and
 * statuses; never a header, a body, a query or the text of an error, which may hold secrets.
 */
export interface Trace {
  /** Runs `work` in a span, which ends with it; if `work` rejects, the span has failed. */
  inSpan<Result>(name: string, about: SpanAbout, work: () => Promise<Result>): Promise<Result>;
  /** Marks the present span as failed, for an error that is caught in it. */
  failed(error: unknown): void;
  /** The `traceparent` of the present span, to be stored with work that goes on later; null: there is none. */
  current(): string | null;
  /** In no span: what `work` starts belongs to no trace. */
  outside<Result>(work: () => Result): Result;
  /** As members of a log line. */
  ids?(): object;
  /** Runs a request in a span, below the caller's if its `traceparent` names one; null: requests have none. */
  requests: RequestHandler | null;
  /** The client with a span for each call that is sent in a trace, and with its `traceparent` in the call. */
  calls(http: Http): Http;
  /** Sends what is left; takes at most two seconds. */
  close(): Promise<void>;
}

export const NO_TRACE: Trace = {
  inSpan: (_name, _about, work) => work(),
  failed: () => undefined,
  current: () => null,
  outside: (work) => work(),
  requests: null,
  calls: (http) => http,
  close: () => Promise.resolve(),
};
