import { readFileSync } from "node:fs";
import { request } from "node:http";
import { aServer, type Seen } from "../platform/local-server.ts";
import type { ServiceProcess } from "../support/process.ts";
import { aProcessWorld, before, type ProcessWorld } from "../support/process-world.ts";
import { eventually } from "../support/world.ts";

// Traces for a collector that speaks OTLP over HTTP with JSON.

type Span = Record<"name" | "traceId" | "spanId", string> & { parentSpanId?: string };
type Batch = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };

/** How the collector answers. */
let answers: number | "hang up" | "never" = 200;
/** What the collector was sent. */
let sent: Seen[];

/** The relay stands in front of the service, and gives each request of the platform a `traceparent`. */
let relay: string;
let traceparent: string;
let service: string;

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const ABOVE = "b7ad6b7169203331";
let life: ProcessWorld;
let on: Record<string, string>;
beforeAll(async () => {
  life = await aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } });
  const collector = await aServer((_seen, response) => {
    if (answers === "hang up") response.socket!.destroy();
    else if (answers !== "never")
      response.writeHead(answers, { "content-type": "application/json" }).end("{}");
  });
  sent = collector.seen;
  ({ url: relay } = await aServer(({ method, url, headers, body }, response) => {
    const forwarded = request(service + url, { method, headers: { ...headers, traceparent } });
    forwarded.on("response", (answer) => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)));
    forwarded.end(body);
  }));
  // A sampler without its argument, which the SDK complains of and replaces.
  const sampler = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio" };
  on = { ...sampler, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
});
afterAll(() => life.close());

async function stopped(process: ServiceProcess): Promise<string> {
  process.signal("SIGTERM");
  expect(await process.ended).toBe(0);
  return process.output();
}

const spans = () =>
  sent
    .flatMap(({ body }) => (JSON.parse(body) as Batch).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap((each) => each.spans));

/** Which of these spans stands below which; one below the platform's own, or below none, stands alone. */
function pairsOf(some: Span[]): string[] {
  const nameOf = (id: string) => some.find(({ spanId }) => spanId === id)?.name;
  const pairs = some.map(({ name, parentSpanId }) =>
    parentSpanId && parentSpanId !== ABOVE ? `${nameOf(parentSpanId)} > ${name}` : name,
  );
  return [...new Set(pairs)].sort();
}

/** Which span stands below which, as docs/tracing.md draws it. */
function drawn(): string[] {
  const page = readFileSync(new URL("../../docs/tracing.md", import.meta.url), "utf8");
  const above: string[] = [];
  const drawing = /```text\n([\s\S]*?)```/.exec(page)![1]!;
  return [...drawing.matchAll(/^( *)(\S.*?)(?: {2}.*)?$/gm)].map(([, indent, name]) => {
    above.splice(indent!.length / 2, Infinity, name!);
    return above.slice(-2).join(" > ");
  });
}

it("a provision that is put off, and finished by another process, is one trace", async () => {
  const settings = { ...on, OTEL_SERVICE_NAME: "teapots", OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=letmein" };
  const web = await life.start("web", { ...settings, WEB_JOBS: "off" });
  service = web.url!;
  life.control.partner({ partnerUrl: relay });
  traceparent = `00-${TRACE}-${ABOVE}-01`;
  const { addon, response } = await life.control.install({ plan: "dedicated" });
  expect(response.status).toBe(202);
  await life.become([addon.id], 1);
  traceparent = "00-nonsense";
  const { addon: other } = await life.control.install({ plan: "basic" });
  await life.control.changePlan(other.id, "premium");
  await life.control.deprovision(other.id);
  const stranger = "1".repeat(32);
  const headers = { traceparent: `00-${stranger}-${ABOVE}-01` };
  expect((await fetch(`${service}/resources`, { method: "POST", headers })).status).toBe(401);
  const first = await stopped(web);
  const worker = await life.start("worker", settings);
  await life.world.quiet([addon.id]);
  await eventually(async () => (await life.world.rows("SELECT FROM steps")).length === 0);
  const second = await stopped(worker);

  expect(pairsOf(spans().filter(({ traceId }) => traceId === TRACE))).toEqual([...new Set(drawn())].sort());
  expect(pairsOf(spans())).toEqual(
    expect.arrayContaining([
      ...["POST /resources > step provision", "step provision > provision"],
      ...["PUT /resources/:uuid", "PUT /resources/:uuid > step change_plan", "step change_plan > changePlan"],
      ...["DELETE /resources/:uuid > step clean_up", "step clean_up > deprovision"],
    ]),
  );
  expect(spans().filter(({ traceId }) => traceId === stranger)).toEqual([]);

  const { entries } = life.control.ledger({ reveal: true });
  const called = entries.filter(({ request }) => String(request.headers["traceparent"]).includes(TRACE));
  expect(called.map(({ path }) => path)).toContain("/oauth/token");
  const traced = (output: string) =>
    output.split("\n").flatMap((line) => (line.includes(`"trace_id":"${TRACE}"`) ? [/"msg":"([^"]+)"/.exec(line)![1]] : [])); // prettier-ignore
  expect(traced(first)).toEqual(
    expect.arrayContaining(["POST answered 202", "Grant exchanged, tokens sealed"]),
  );
  expect(traced(second)).toContain("The platform has the config vars");
  expect(first + second).not.toMatch(/"msg":"(Ready|Listening)".*trace_id/);

  const all = sent.map(({ body }) => body).join();
  expect(all).toMatch(/"service.name","value":\{"stringValue":"teapots"\}/);
  expect(sent[0]!.headers["x-api-key"]).toBe("letmein");
  const { ADDON_PASSWORD, CLIENT_SECRET } = life.world.environment;
  const secrets = [/SVCK-[\w-]+/g, /"(?:code|TEAPOT_TOKEN)":"([^"]+)"/g].flatMap((pattern) => [...JSON.stringify(entries).matchAll(pattern)].map(([whole, part]) => part ?? whole)); // prettier-ignore
  expect(secrets.length).toBeGreaterThan(2);
  for (const secret of [...secrets, ADDON_PASSWORD!, CLIENT_SECRET!]) expect(all).not.toContain(secret);
});

it("a collector that takes nothing costs one line of the log", async () => {
  answers = "hang up";
  // Less than the pause before the exporter's second try, so that it fails at once; and enough for an answer to come.
  const quick = { OTEL_BSP_SCHEDULE_DELAY: "10", OTEL_EXPORTER_OTLP_TIMEOUT: "700" };
  // The default protocol.
  const web = await life.start("web", { ...on, ...quick, OTEL_EXPORTER_OTLP_PROTOCOL: "" });
  const before = sent.length;
  for (let i = 1; i <= 3; i += 1) {
    await life.become(await life.install(1), 1);
    await eventually(() => sent.length >= before + i);
  }
  await eventually(() => web.output().includes("The collector takes no traces"));
  expect(sent.at(-1)!.headers["content-type"]).toBe("application/x-protobuf");
  expect((await stopped(web)).match(/The collector/g)!.length).toBeLessThan(3);
});

it("without a collector, no part of OpenTelemetry is loaded but the API, which prom-client has", async () => {
  const list = before(`
    import { createRequire } from "node:module";
    const { cache } = createRequire(process.argv[1]);
    const parts = () => Object.keys(cache).flatMap((file) => /@opentelemetry.([\\w-]+)/.exec(file)?.[1] ?? []);
    process.on("exit", () => console.error("loaded:", [...new Set(parts())].join()));`);
  const loaded = async (environment: Record<string, string>) => {
    const web = await life.start("web", { ...list, ...environment });
    await life.become(await life.install(1), 1);
    const output = await stopped(web);
    expect(output).not.toContain("stop_incomplete");
    return /loaded: (.*)/.exec(output)![1];
  };
  expect(await loaded({})).toBe("api");
  // Nor does a collector that never answers hold up a stop.
  answers = "never";
  const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: "60000", OTEL_BSP_EXPORT_TIMEOUT: "60000" };
  expect(await loaded({ ...on, ...patient })).toContain("sdk-trace-node");
  expect(await life.world.rows("SELECT 1 FROM credentials WHERE traceparent IS NULL")).not.toEqual([]);
});
