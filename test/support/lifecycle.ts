import { aVendor } from "./a-vendor.ts";
import { partnerCalls } from "./partner-calls.ts";
import { tokenPairs } from "./token-pairs.ts";
import { aWorld, eventually, type Wishes } from "./world.ts";

/** A world whose vendor can be observed and told what to do, with queries for the tests of a resource's life. */
export async function aLifecycle(wishes: Wishes = {}) {
  const vendor = aVendor();
  const world = await aWorld({
    ...wishes,
    environment: { SWEEP_CRON: "* * * * * *", ...wishes.environment },
    parts: { vendor, ...wishes.parts },
  });
  const { control } = world.sandbox;
  const platform = partnerCalls(world);

  const entries = (since = 0) => control.ledger({ since, reveal: true }).entries;
  const calledUs = (path: string, since?: number) =>
    entries(since).filter((entry) => entry.direction === "in" && `${entry.method} ${entry.path}` === path);

  const look = async <Row>(columns: string, table: string, uuid: string) =>
    (await world.rows<Row>(`SELECT ${columns} FROM ${table} WHERE uuid = $1`, [uuid]))[0];

  return {
    world,
    vendor,
    platform,
    control,
    entries,
    ...tokenPairs(world),

    /** The last provision request that the sandbox sent for an add-on. */
    requestFor: (uuid: string) => {
      const sent = entries().filter(({ direction, method }) => direction === "out" && method === "POST");
      return sent.map(({ request }) => request.body as Request).findLast((request) => request.uuid === uuid)!;
    },
    /** The exchanges of a grant code. */
    exchangesOf(code: string) {
      return calledUs("POST /oauth/token").filter(
        ({ request }) => (request.body as { code?: string }).code === code,
      );
    },
    patchesOf: (uuid: string, since?: number) =>
      calledUs(`PATCH /addons/${uuid}/config`, since).map(({ request }) => request.body as ConfigBody),
    actionsOf: (uuid: string) =>
      entries()
        .filter(({ path }) => path.startsWith(`/addons/${uuid}/actions/`))
        .map(({ path, response }) => `${path.split("/").at(-1)} ${response?.status}`),

    resource: (uuid: string) =>
      look<{ state: string; plan: string; answer_status: number | null }>(
        "state, plan, answer_status",
        "resources",
        uuid,
      ),
    /** Waits until a resource looks like this. */
    resourceBecomes: (uuid: string, what: { state?: string; plan?: string }) =>
      eventually(async () => expect(await look("state, plan", "resources", uuid)).toMatchObject(what)),
    credential: (uuid: string) =>
      look<{ state: string; generation: number }>("state, generation", "credentials", uuid),
    steps: async (uuid: string) =>
      (await world.rows<{ kind: string }>(`SELECT kind FROM steps WHERE uuid = $1 ORDER BY id`, [uuid])).map(
        ({ kind }) => kind,
      ),
    /** Waits until no step of a resource is left. */
    nothingLeft: (uuid: string) =>
      eventually(async () =>
        expect(await world.rows(`SELECT kind FROM steps WHERE uuid = $1`, [uuid])).toEqual([]),
      ),
    /** The config vars of its app at the platform. */
    varsAt: (uuid: string) => control.configVars(control.addon(uuid).app.name),
    events: async (uuid: string) =>
      (await world.rows<{ type: string }>(`SELECT type FROM events WHERE uuid = $1 ORDER BY id`, [uuid])).map(
        ({ type }) => type,
      ),
    hurry: (uuid: string) => world.forged.stepsAreDueIn(uuid, 0),

    settled: (plan?: string) => world.settled(plan),
    close: () => world.close(),
  };
}

export type LifecycleWorld = Awaited<ReturnType<typeof aLifecycle>>;

interface Request {
  uuid: string;
  oauth_grant: { code: string };
}

interface ConfigBody {
  config: { name: string; value: string | null }[];
}
