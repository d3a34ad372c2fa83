import { retryWhileUnreachable } from "../../src/database/retry.ts";
import { storeLook } from "../../src/resources/step-store.ts";
import { lockedResource } from "../../src/resources/store.ts";
import { aWorldOfAnOperator } from "../operator/pages/operator.ts";
import { eventually, opened } from "../support/world.ts";

// Customers rename apps, and attach add-ons to others: the kit looks again, once a day.

let uuid: string;
const operator = opened(() => aWorldOfAnOperator());
beforeEach(async () => {
  uuid = await operator.life.settled();
});

const app = () => operator.control.addon(uuid).app.name;
const look = (hoursAgo: number) => operator.world.forged.lookedAtHoursAgo(uuid, hoursAgo);
const seen = async () => {
  const [row] = await operator.world.rows<{ app: string; age: number; updated: Date }>(
    `SELECT app_name AS app, extract(epoch FROM now() - looked_at)::float8 / 3600 AS age, updated_at AS updated
     FROM resources WHERE uuid = $1`,
    [uuid],
  );
  return row!;
};
const changes = async () =>
  (
    await operator.world.rows<{ detail: object }>(
      `SELECT detail FROM events WHERE uuid = $1 AND type = 'apps_changed' ORDER BY id`,
      [uuid],
    )
  ).map(({ detail }) => detail);
const looked = () => eventually(async () => (await seen()).age < 3);

it("a new name and a new attachment are found after a day and are one event; what stays is none", async () => {
  const was = app();
  operator.control.renameApp(was, "renamed-shop");
  operator.control.attach(uuid, { app: operator.control.createApp({}).name });
  await look(23);
  await operator.life.settled();
  expect((await seen()).app).toBe(was);
  await look(25);
  await eventually(async () => (await seen()).app === "renamed-shop");
  expect(await changes()).toEqual([{ app: "renamed-shop", was, attached: 2 }]);
  const { updated } = await seen();
  await look(25);
  await looked();
  expect(await changes()).toHaveLength(1);
  expect((await seen()).updated).toEqual(updated);
});

it("two looks that find the same at the same moment are one event", async () => {
  const { services } = operator.world.service;
  const app = { id: operator.control.addon(uuid).app.id, name: "other-name" };
  // As a sweep does, if the machine stands still for longer than a statement waits for a lock.
  const look = () =>
    retryWhileUnreachable(() => storeLook(services.db, { uuid, app, attached: 1, attachedAs: null }));
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  let looks: Promise<void>[] = [];
  await services.db.transaction(async (tx) => {
    await lockedResource(tx, uuid);
    looks = [look(), look()];
    await eventually(async () => (await operator.world.rows(waiting)).length === 2);
  });
  await Promise.all(looks);
  expect((await seen()).app).toBe("other-name");
  expect(await changes()).toMatchObject([{ app: "other-name" }]);
});

it.each([
  ["the platform fails", "a day", { status: 503 }],
  ["the token has expired, which sends no refresh", "three hours", null],
])("while %s, a look is put off for %s", async (_what, _time, fault) => {
  if (fault) operator.control.fault(`GET /addons/${uuid}`, fault, 100);
  else await operator.world.forged.tokensExpired(uuid);
  const since = operator.life.position();
  await look(25);
  await (fault ? looked() : eventually(async () => Math.round((await seen()).age) === 21));
  expect((await seen()).app).toBe(app());
  operator.control.clearFaults();
  if (!fault) expect(operator.life.entries(since).filter(({ path }) => path === "/oauth/token")).toEqual([]);
});

it("the page of a resource looks at once, and its story has the change", async () => {
  const was = app();
  operator.control.renameApp(was, "shop-of-the-page");
  await operator.get(`/resources/${uuid}`);
  expect((await operator.get(`/resources/${uuid}`)).text).toContain(
    `apps changed app shop-of-the-page, was ${was}`,
  );
});
