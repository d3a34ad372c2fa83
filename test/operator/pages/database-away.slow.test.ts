import type { Database } from "../../../src/database/database.ts";
import { runWeb } from "../../../src/process/run-web.ts";
import { basic } from "../../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../../support/sellers.ts";
import { opened } from "../../support/world.ts";
import { aWorldOfAnOperator, PASSWORD } from "./operator.ts";

let isAway = false;
const refused = () =>
  Promise.reject(
    Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED", syscall: "connect" }),
  ); // prettier-ignore
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (...given) => (isAway ? refused() : database.query(...given)),
  prisma: () => (isAway ? refused() : database.prisma()),
  ping: () => (isAway ? refused() : database.ping()),
});

let uuid: string;
afterAll(() => {
  isAway = false;
});
const operator = opened(() => aWorldOfAnOperator({ parts: { wrapDatabase } }));
beforeAll(async () => {
  uuid = await operator.life.settled();
  isAway = true;
});

it("every page says that the database cannot be reached, and the way to the check-up", async () => {
  for (const path of ["", "/resources", `/resources/${uuid}`, "/actions"]) {
    const { status, headers, text, html } = await operator.get(path);
    expect([path, status, headers.get("retry-after")]).toEqual([path, 503, "5"]);
    expect(text).toContain("The service cannot reach its database, or has just started.");
    expect(text).not.toContain("fault of the service");
    expect(html).toContain(`<a href="/operator/check-up"`);
  }
  const { status, text } = await operator.get("/check-up");
  expect([status, text]).toEqual([200, expect.stringContaining("connect ECONNREFUSED")]);
});

it("the check-up opens although the service was started without the database, and strangers are refused at once", async () => {
  const { environment } = operator.world;
  const config = teapotConfig({ ...environment, DATABASE_URL: "postgres://u:p@127.0.0.1:1/none" });
  const service = await runWeb(config, { ...teapotParts, logTo: { write: () => undefined } });
  try {
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${service.url}/operator${path}`, { headers });
    const since = performance.now();
    const authorization = basic("operator", PASSWORD);
    const checkUp = await get("/check-up", { authorization });
    expect([checkUp.status, await checkUp.text()]).toEqual([
      200,
      expect.stringContaining("connect ECONNREFUSED"),
    ]);
    expect((await get("/assets/live.js", { authorization })).status).toBe(200);
    expect((await get("")).status).toBe(401);
    expect(performance.now() - since).toBeLessThan(7_000);
    const overview = await get("", { authorization });
    expect(overview.status).toBe(503);
    expect(await overview.text()).toContain(`<a href="/operator/check-up"`);
  } finally {
    await service.stop();
  }
});
