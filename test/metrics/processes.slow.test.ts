import { aProcessWorld } from "../support/process-world.ts";
import type { ServiceProcess } from "../support/process.ts";
import { eventually, opened } from "../support/world.ts";
import { operator, PASSWORD } from "./operator.ts";

// Metrics of one process that another reports.

const life = opened(() => aProcessWorld({ environment: { OPERATOR_PASSWORD: PASSWORD } }));
afterEach(() => life.killAll());

/** The log lines of a process with an id, of the request itself or of work that followed from it. */
function linesOf({ output }: ServiceProcess, id: string): string[] {
  const lines = output()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { msg: string; requestId?: string; req?: { id: string } });
  return lines.filter(({ requestId, req }) => (requestId ?? req?.id) === id).map(({ msg }) => msg);
}

async function stopped(each: ServiceProcess): Promise<void> {
  each.signal("SIGTERM");
  expect(await each.ended).toBe(0);
}

it("a provision that a web process answers and a worker finishes is counted by any web process, and has one request id in both logs", async () => {
  const settings = { WEB_JOBS: "off", SWEEP_CRON: "* * * * * *" };
  const web = await life.start("web", settings);
  const [uuid] = (await life.install(1)) as [string];
  await stopped(web);
  const worker = await life.start("worker", settings);
  await life.become([uuid], 1);
  const [{ id }] = (await life.world.rows<{ id: string }>(
    `SELECT request_id AS id FROM credentials WHERE uuid = $1`,
    [uuid],
  )) as [{ id: string }];
  expect(linesOf(web, id)).toEqual(["POST answered 200"]);
  await eventually(() =>
    expect(linesOf(worker, id)).toEqual(
      expect.arrayContaining(["Grant exchanged, tokens sealed", "Found the attached apps"]),
    ),
  );
  await stopped(worker);

  const other = await life.start("web", settings);
  const samples = await operator({ service: { url: other.url } }).samples();
  expect(samples.get(`addon_provisions_total{result="done"}`)).toBe(1);
  expect(samples.get(`addon_exchanges_total{result="issued"}`)).toBe(1);
  expect(samples.get(`addon_database_query_duration_seconds_count{statement="store_tokens"}`)).toBe(1);
  expect(samples.get(`addon_lease_steals_total`)).toBe(0);
});
