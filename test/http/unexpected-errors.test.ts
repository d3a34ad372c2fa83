import type { Database } from "../../src/database/database.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { partnerCalls } from "../support/partner-calls.ts";
import { databaseError } from "../support/interleavings.ts";
import { aWorld, opened } from "../support/world.ts";

let trouble: Error | null = null;
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (statement, values) => (trouble ? Promise.reject(trouble) : database.query(statement, values)),
  transaction: (work) => (trouble ? Promise.reject(trouble) : database.transaction(work)),
});
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" }, parts: { wrapDatabase } }));
afterEach(() => void (trouble = null));

it.each([
  ["of PostgreSQL", Object.assign(databaseError("23505"), { message: "duplicate key value (uuid)=(1)" })],
  ["of Prisma, which quotes our source", new Error("Invalid `prisma.create()` in /srv/app/src/rows.ts:12:3")],
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
    const message = "Something went wrong here. The request id finds it in the log.";
    expect([status, body]).toEqual([500, { id: "internal_error", message }]);
    expect(world.logged()).toContain(headers["request-id"] as string);
  }
  expect(world.logged()).not.toContain("secret-of-ours");
});
