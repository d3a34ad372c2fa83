import type { openTelemetry } from "./open-telemetry.ts";

/**
 * Traces of the work of this process, in OpenTelemetry's terms (docs/tracing.md). A span holds names, ids, times and
 * statuses; never a header, a body, a query or the text of an error, which may hold secrets.
 */
export type Trace = ReturnType<typeof openTelemetry>;

export const NO_TRACE: Trace = {
  inSpan: (_name, _about, work) => work(),
  failed: () => undefined,
  current: () => null,
  outside: (work) => work(),
  ids: () => ({}),
  requests: (_request, _response, next) => next(),
  calls: (http) => http,
  close: () => Promise.resolve(),
};
