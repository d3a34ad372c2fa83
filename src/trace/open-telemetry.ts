import type { Context as SpanContext, Span, SpanOptions } from "@opentelemetry/api";
import {
  context,
  diag,
  DiagLogLevel,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import type { NextFunction, Request, Response } from "express";
import type { Config } from "../config.ts";
import { exportVariables } from "../environment.ts";
import type { Log } from "../logging/log.ts";
import { endpointOf, routeOf } from "../metrics/labels.ts";
import type { Http } from "../platform/call.ts";
import { build } from "../version.ts";
import { orNullAfter } from "../within.ts";

// The only file that loads OpenTelemetry. Its SDK reads its own variables (OTEL_…). What it registers serves the spans of
// your service too, if that makes some with @opentelemetry/api.

const FLUSH_MS = 2_000;
/** Requests that come every few seconds, and say nothing. */
const UNTRACED = ["/healthz", "/readyz", "/metrics"];

interface SpanAbout {
  /** The `traceparent` (W3C) of the span above it; null: it begins a trace. Left out: the span in which `inSpan` is called. */
  parent?: string | null;
  /** The resource that the work is for. */
  uuid?: string | undefined;
}

export function openTelemetry(ctx: { config: Config; log: Log }) {
  exportVariables("OTEL_");
  const { addonId, otlpProtocol, resourcesPath } = ctx.config;
  const exporter = otlpProtocol === "http/json" ? new JsonExporter() : new ProtobufExporter();
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": addonId, "service.version": build.commit }))
      .merge(detectResources({ detectors: [envDetector] })),
    // Holds 2,048 spans at most; further ones are dropped.
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  provider.register();
  // Only now: what the SDK says of its own variables comes before there is a log.
  const complain = (reason: string) =>
    ctx.log.warn({ reason }, "The collector takes no traces; until it does, they are dropped");
  const nothing = () => undefined;
  const others = { warn: nothing, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger({ error: complain, ...others }, DiagLogLevel.ERROR);
  const tracer = trace.getTracer("addon-partner-starter-kit", build.version);

  type Work<Result> = (span: Span) => Promise<Result>;
  const started = <Result>(name: string, options: SpanOptions, on: SpanContext, work: Work<Result>) =>
    tracer.startActiveSpan(name, options, on, async (span) => {
      try {
        return await work(span);
      } catch (error) {
        fail(span, nameOf(error));
        throw error;
      } finally {
        span.end();
      }
    });

  return {
    /** Runs `work` in a span, which ends with it; if `work` rejects, the span has failed. */
    inSpan<Result>(name: string, { parent, uuid }: SpanAbout, work: () => Promise<Result>): Promise<Result> {
      const on = parent === undefined ? context.active() : below({ traceparent: parent });
      return started(name, { attributes: { "addon.uuid": uuid } }, on, work);
    },
    /** Marks the present span as failed, for an error that is caught in it. */
    failed(error: unknown): void {
      const span = trace.getActiveSpan();
      if (span) fail(span, nameOf(error));
    },
    /** The `traceparent` of the present span, to be stored with work that goes on later; null: there is none. */
    current: (): string | null => propagated()["traceparent"] ?? null,
    /** In no span: what `work` starts belongs to no trace. */
    outside: <Result>(work: () => Result): Result => context.with(ROOT_CONTEXT, work),
    /** As members of a log line. */
    ids(): object {
      const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
      return traceId ? { trace_id: traceId, span_id: spanId } : {};
    },
    /** Runs a request in a span, below the caller's if its `traceparent` names one. */
    requests(request: Request, response: Response, next: NextFunction): void {
      if (UNTRACED.includes(request.path)) return next();
      const { traceparent, tracestate } = request.headers;
      const on = below({ traceparent, tracestate });
      const span = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, on);
      const inSpan = trace.setSpan(on, span);
      response.once("close", () => endRequest(span, request, response, resourcesPath));
      // Their events otherwise come in the context of the connection.
      for (const each of [request, response]) context.bind(inSpan, each);
      context.with(inSpan, next);
    },
    /** The client with a span for each call that is sent in a trace, and with its `traceparent` in the call. */
    calls: ({ send, close }: Http): Http => ({
      close,
      send(request) {
        if (!trace.getActiveSpan()) return send(request);
        const { method, url } = request;
        const attributes = { "http.request.method": method, "server.address": new URL(url).hostname };
        const options = { kind: SpanKind.CLIENT, attributes };
        return started(endpointOf(method, url), options, context.active(), async (span) => {
          const answer = await send({ ...request, headers: { ...request.headers, ...propagated() } });
          span.setAttribute("http.response.status_code", answer.status);
          if (answer.status >= 400) fail(span, `${answer.status}`);
          return answer;
        });
      },
    }),
    /** Sends what is left; takes at most two seconds. */
    async close(): Promise<void> {
      await orNullAfter(FLUSH_MS, provider.shutdown()).catch(() => null);
    },
  };
}

/** The context of a remote span; without a valid `traceparent`, that of none. */
const below = (headers: object): SpanContext => propagation.extract(ROOT_CONTEXT, headers);

function propagated(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

function fail(span: Span, type: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", type);
}

/** What kind of error it is; its text may quote anything. */
const nameOf = (error: unknown) => (error instanceof Error ? error.constructor.name : typeof error);

/** Ends the span of a request; of one that no route took (a wrong password, a path that is not there), none is sent. */
function endRequest(span: Span, request: Request, response: Response, resourcesPath: string): void {
  if (!request.route) return;
  const { method, id } = request;
  const route = routeOf(request, resourcesPath);
  span.updateName(`${method} ${route}`);
  span.setAttributes({ "http.request.method": method, "http.route": route, "addon.request_id": String(id) });
  if (response.headersSent) span.setAttribute("http.response.status_code", response.statusCode);
  if (!response.writableFinished) fail(span, "unanswered");
  else if (response.statusCode >= 500) fail(span, `${response.statusCode}`);
  span.end();
}
