import type { Extensions } from "../../src/extend/contract.ts";
import type { Report } from "../../src/operator/work-through.ts";
import type { Vendor } from "../support/a-vendor.ts";
import { operator as scraper } from "../metrics/operator.ts";
import { kit } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfAnOperator } from "./pages/operator.ts";

// `kit rotate` and the operator's pages, for a service that can rotate credentials.

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";
let vendor: Vendor & Extensions;
let uuid: string;
const operator = opened(() => aWorldOfAnOperator());
beforeEach(async () => {
  vendor = operator.life.vendor;
  vendor.rotation = {
    rotate: async ({ idempotencyKey }) => ({ config: { TEAPOT_TOKEN: idempotencyKey }, retires: "old" }),
    retire: async () => undefined,
  };
  uuid = await operator.life.settled();
});

async function run(...words: string[]) {
  const said = await kit(operator.world.environment, ["rotate", ...words, "--json"], "", { vendor });
  return { code: said.code, data: JSON.parse(said.stdout) as unknown };
}
const untilRetire = () => eventually(async () => expect(await operator.life.steps(uuid)).toEqual(["retire"]));

it("kit rotate asks for what is named, and says why it did not for the rest", async () => {
  const gone = await operator.life.settled();
  await operator.control.deprovision(gone);
  const without = "11234567-89ab-cdef-0123-456789abcdef";
  await kit(operator.world.environment, ["resources", "import"], `{"uuid":"${without}","plan":"basic"}`);
  const { code, data } = await run(uuid, gone, without, UNKNOWN);
  expect({ code, data }).toMatchObject({
    code: 1,
    data: { done: [uuid], failed: [{ uuid: UNKNOWN, id: "not_found" }] },
  });
  expect((data as Report).skipped).toEqual(
    expect.arrayContaining([
      { uuid: gone, reason: "deprovisioned" },
      { uuid: without, reason: "no_grant" },
    ]),
  );
  await untilRetire();
  const { stdout } = await kit(operator.world.environment, ["resources", "show", uuid]);
  expect(stdout).toMatch(/Waiting steps\n {2}retire +0 tries, the next .* \(in (2 h|1\d\d min)\)/);
  expect(stdout).toMatch(/rotation_asked {2}by operator\n.*rotated\n.*rotation_announced/);
});

it("kit rotate skips a resource whose last rotation has not reached the app", async () => {
  operator.control.fault("PATCH /addons/*/config", { status: 503 }, 1_000);
  expect(await run(uuid)).toMatchObject({ code: 0, data: { done: [uuid] } });
  const skipped = [{ uuid, reason: "under_way" }];
  expect(await run(uuid)).toEqual({ code: 0, data: { done: [], failed: [], skipped } });
  expect(await operator.audit()).toContainEqual(
    expect.objectContaining({ action: `kit rotate ${uuid}`, uuid }),
  );
  operator.control.clearFaults();
});

it("a rotation that the platform cannot be told is none of the service's, holds nothing up, and can be given up", async () => {
  operator.control.fault("PATCH /addons/*/config", { status: 503 }, 1_000);
  const untold = () =>
    eventually(async () =>
      expect(
        await operator.world.rows(
          `SELECT kind FROM steps WHERE uuid = $1 AND detail ? 'retires' AND last_error LIKE '%503%'`,
          [uuid],
        ),
      ).toEqual([{ kind: "rotate" }]),
    );
  await run(uuid);
  await untold();
  const samples = await scraper(operator.world).samples();
  for (const name of ["failing", "under_way", "oldest_seconds"])
    expect([name, samples.get(`addon_your_service_${name}{function="rotate"}`)]).toEqual([name, 0]);
  const { stdout } = await kit(operator.world.environment, ["steps", "give-up", uuid, "--yes", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ done: [uuid] });
  const story = ["rotation_asked", "rotated", "step_given_up", "rotation_refused"];
  expect(await operator.life.events(uuid)).toEqual(expect.arrayContaining(story));
  expect(await run(uuid)).toMatchObject({ data: { done: [uuid] } });
  await untold();
  // Its answer gives the app the new config vars.
  expect((await operator.control.changePlan(uuid, "premium")).response.status).toBe(200);
  await eventually(async () => expect(await operator.life.steps(uuid)).toContain("retire"));
  operator.control.clearFaults();
});

it("kit rotate --all takes what is provisioned", async () => {
  const [{ count }] = (await operator.world.rows(
    `SELECT count(*)::int AS count FROM resources WHERE state = 'provisioned'`,
  )) as [{ count: number }];
  const { code, data } = await run("--all");
  const { done, skipped } = data as Report;
  expect({ code, taken: done.length + skipped.length }).toEqual({ code: 0, taken: count });
  expect(done).toContain(uuid);
});

it("the button of a resource's page rotates its credentials, once it was confirmed", async () => {
  const before = operator.control.addon(uuid).app.name;
  const { text } = await operator.get(`/resources/${uuid}/rotate`);
  expect(text).toContain("The old ones work for two hours after that");
  expect(await operator.life.events(uuid)).not.toContain("rotation_asked");
  expect((await operator.done(`/resources/${uuid}/rotate`)).text).toMatch(
    /done.*1 asked for, 0 failed, 0 skipped/,
  );
  await untilRetire();
  expect(operator.control.configVars(before)).toEqual({
    TEAPOT_TOKEN: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect((await operator.get(`/resources/${uuid}`)).text).toMatch(/retire 0 .*rotation announced/);
  expect(await operator.audit()).toContainEqual(
    expect.objectContaining({ action: "rotate", state: "done", uuid }),
  );
});

it("a service that cannot rotate says so", async () => {
  delete vendor.rotation;
  const message = expect.stringContaining("This service cannot rotate credentials");
  expect(await run(uuid)).toEqual({ code: 1, data: { id: "no_rotation", message } });
  const { text, html } = await operator.get(`/resources/${uuid}/rotate`);
  expect(text).toContain("This service cannot rotate credentials");
  expect(html).not.toContain(`<button type="submit"`);
});
