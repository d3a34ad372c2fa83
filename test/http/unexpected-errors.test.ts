import type { Database } from "../../src/database/database.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { partnerCalls } from "../support/partner-calls.ts";
import { aWorld, type World } from "../support/world.ts";

let world: World;
let trouble: Error | null = null;
beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: (statement, values) => (trouble ? Promise.reject(trouble) : database.query(statement, values)),
    transaction: (work) => (trouble ? Promise.reject(trouble) : database.transaction(work)),
  });
  world = await aWorld({ environment: { WEB_JOBS: "off" }, parts: { wrapDatabase } });
});
afterAll(() => {
  trouble = null;
  return world.close();
});

it.each([
  [
    "of PostgreSQL",
    Object.assign(new Error('duplicate key value (uuid)=(1) in "resources_pkey"'), {
      code: "23505",
      severity: "ERROR",
      table: "resources",
    }),
  ],
  [
    "of Prisma, which quotes our source",
    new Error("Invalid `prisma.resource.create()` invocation in /srv/app/src/rows.ts:12:3"),
  ],
  ["of our own", new TypeError("Cannot read properties of undefined (reading 'SVCK-secret-of-ours')")],
])("an error %s is answered with a request id and no internal detail", async (_, error) => {
  trouble = error;
  const platform = partnerCalls(world);
  const request = aProvisionRequest();
  for (const answer of [
    await platform.provision(request),
    await platform.changePlan(request.uuid, { plan: "premium" }),
    await platform.deprovision(request.uuid),
  ]) {
    const { status, body, headers } = answer;
    expect({ status, body: body as unknown }).toEqual({
      status: 500,
      body: {
        id: "internal_error",
        message: "Something went wrong here. The request id finds it in the log.",
      },
    });
    expect(world.logged()).toContain(headers["request-id"] as string);
  }
  trouble = null;
  expect(world.logged()).not.toContain("secret-of-ours");
});
