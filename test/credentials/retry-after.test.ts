import { aLifecycle } from "../support/lifecycle.ts";
import { opened } from "../support/world.ts";

const life = opened(() => aLifecycle());
// A Retry-After delays every refresh of a process, so each case has a process of its own.
beforeEach(async () => {
  await life.world.rows(`UPDATE credentials SET due_at = now() + interval '1 hour'`);
  await life.world.restart();
});

it.each([
  { what: "in seconds", after: "600", least: 560, most: 601 },
  { what: "that is absent", after: undefined, least: 0, most: 60 },
  { what: "of a billion seconds", after: "1000000000", least: 860, most: 901 },
])("a 429 with a Retry-After $what delays refreshes for as long as it says, and no grant", async (given) => {
  const { after, least, most } = given;
  const [uuid, other] = [await life.settled(), await life.settled()];
  const headers = after === undefined ? {} : { "retry-after": after };
  life.control.fault("POST /oauth/token", { status: 429, headers });
  await life.makeDue([uuid]);
  const { dueIn } = await life.becomes(uuid, {
    state: "active",
    generation: 1,
    attempts: 1,
    isLeased: false,
  });
  expect(dueIn).toBeGreaterThan(least);
  expect(dueIn).toBeLessThan(most);
  // Grants have only minutes: they are exchanged, and existing tokens keep working.
  const [fresh] = (await life.install(1)) as [string];
  await life.becomes(fresh, { state: "active" });
  await life.expectAlive([other]);
});
