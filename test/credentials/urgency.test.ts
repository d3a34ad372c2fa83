import { claimGrants } from "../../src/credentials/queue.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// One call at a time, so that the order is visible.
const life = opened(() => aLifecycle({ environment: { TOKEN_CONCURRENCY: "1", WEB_JOBS: "off" } }));

it("grants are exchanged in the order of their deadlines, whatever the order in which they fell due", async () => {
  const { control, world } = life;
  // The platform is unreachable: all grants are tried, and none is exchanged.
  control.fault("POST /oauth/token", { status: 503, body: { error: "temporarily_unavailable" } }, 1_000);
  const uuids = await life.install(8);
  const left = [200, 40, 120, 60, 250, 20, 90, 160];
  await eventually(async () => {
    const [row] = await world.rows(
      `SELECT count(*)::int AS tried FROM credentials WHERE attempts > 0 AND leased_until IS NULL`,
    );
    expect(row).toEqual({ tried: 8 });
  });
  // From here on only the test looks for due work.
  await world.service.services.jobs.stop();
  await world.rows(`UPDATE credentials SET lease = lease + 1, leased_until = now() + interval '1 hour'`);
  control.clearFaults();
  const since = life.position();
  // All are due; the last ones to fall due have the earliest deadline.
  await world.rows(
    `UPDATE credentials c SET leased_until = NULL, due_at = now() - make_interval(secs => i.life), grant_deadline = now() + make_interval(secs => i.life)
     FROM unnest($1::uuid[], $2::float8[]) AS i(uuid, life) WHERE c.uuid = i.uuid`,
    [uuids, left],
  );
  const byUrgency = uuids.toSorted((one, other) => left[uuids.indexOf(one)]! - left[uuids.indexOf(other)]!);
  // Also within one claim, because fewer calls may be under way than rows were claimed.
  const claimed = await claimGrants(world.service.services, 8);
  expect(claimed.map(({ uuid }) => uuid)).toEqual(byUrgency);
  await world.rows(`UPDATE credentials SET lease = lease + 1, leased_until = NULL`);

  const grants = world.service.services.exchanges;
  await grants.fill(new AbortController().signal);
  await grants.settled();
  await life.become(uuids, 1);
  const codeOf = (uuid: string) => life.requestFor(uuid).oauth_grant.code;
  const codes = life.tokenCalls(since).map(({ request }) => (request.body as { code: string }).code);
  expect(codes).toEqual(byUrgency.map(codeOf));
});
