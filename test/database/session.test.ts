import pg from "pg";
import { kitJson } from "../support/kit.ts";
import { aWorld } from "../support/world.ts";
import { basic } from "../support/partner-calls.ts";

it("what the server or the role has set for each session changes nothing: times, lists, migrations", async () => {
  const OPERATOR_PASSWORD = "the-password-of-this-test";
  const world = await aWorld({ environment: { OPERATOR_PASSWORD } });
  const url = world.environment["DATABASE_URL"]!;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const name = `"${admin.database}"`;
  for (const set of [
    ...["TimeZone = 'Asia/Tokyo'", "DateStyle = 'German'", "bytea_output = 'escape'"],
    ...["search_path = 'elsewhere'", "default_transaction_isolation = 'serializable'"],
  ])
    await admin.query(`ALTER DATABASE ${name} SET ${set}`);
  await admin.end();
  await world.restart();
  const uuid = await world.settled();
  const { data } = await kitJson<{ credential: { expiresAt: string }; createdAt: string }>(
    world.environment,
    [...["resources", "show", uuid]],
  );
  const hoursTo = (time: string) => Math.round((Date.parse(time) - Date.now()) / 3_600_000);
  expect([hoursTo(data.createdAt), hoursTo(data.credential.expiresAt)].map(Math.abs)).toEqual([0, 8]);
  const list = await kitJson<{ resources: { uuid: string }[] }>(world.environment, ["resources", "list"]);
  expect(list.data.resources.map(({ uuid }) => uuid)).toEqual([uuid]);
  const headers = { Authorization: basic("operator", OPERATOR_PASSWORD) };
  for (const page of ["", "/resources", `/resources/${uuid}`, "/actions"])
    expect((await fetch(`${world.service.url}/operator${page}`, { headers })).status).toBe(200);
  expect(await kitJson(world.environment, ["migrate"])).toMatchObject({ code: 0, data: { applied: [] } });
  await world.close();
});
