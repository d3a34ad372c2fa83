import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { positional, type Queryable } from "../database/statement.ts";
import { KitError } from "../errors.ts";
import { changeConfig, lockedResource } from "../resources/store.ts";
import { checkVar } from "../resources/vendor-results.ts";
import { readUuid } from "../values.ts";
import type { Kit, KitDatabase } from "./contract.ts";
import { requestRotation } from "./rotation.ts";
import { announceConfig, findForVendor, listForVendor } from "./store.ts";

/** Makes the {@link Kit} of a vendor's service. `ctx` may be incomplete at this time: only its log is used now. */
export function kitFor(ctx: Context): Kit {
  return {
    log: {
      debug: ctx.log.debug.bind(ctx.log),
      info: ctx.log.info.bind(ctx.log),
      warn: ctx.log.warn.bind(ctx.log),
      error: ctx.log.error.bind(ctx.log),
    },
    database: {
      query: (sql, values) => ctx.db.planned((tx) => queriesOn(tx).query(sql, values)),
      transaction: (work) => ctx.db.planned((tx) => work(queriesOn(tx))),
      prisma: (load) => ctx.db.prismaOfYours(load),
    },
    resources: {
      find: async (uuid) => findForVendor(ctx, checkedUuid(uuid)),
      async *list(filter = {}) {
        for (let after: string | null = LEAST_UUID; after !== null;) {
          const page: Awaited<ReturnType<typeof listForVendor>> = await listForVendor(ctx, after, filter);
          yield* page.resources;
          after = page.upTo;
        }
      },
    },
    config: { set: async (uuid, vars) => setConfigVars(ctx, checkedUuid(uuid), vars) },
    rotate: async (uuid) => {
      const result = await requestRotation(ctx, checkedUuid(uuid), "service");
      if (result === "not_provisioned") throw notProvisioned(uuid, "credentials to rotate");
      const words = `Resource ${uuid} has no working tokens: its app cannot get new credentials.`;
      if (result === "no_tokens") throw new KitError(result, words);
      return result;
    },
    count(metric, ...[labels = {}, by = 1]: [labels?: Readonly<Record<string, string>>, by?: number]) {
      // Never throws: a wrong call must not fail the work that it counts.
      try {
        ctx.metrics.count(metric, labels, by);
      } catch (error) {
        ctx.log.error({ metric, error }, "A call of kit.count() is invalid and was not counted");
      }
    },
    platformFor: (uuid) => ctx.platformFor(checkedUuid(uuid)),
  };
}

const queriesOn = (tx: Queryable): KitDatabase => ({
  query: (sql, values) => tx.query(positional("", sql), values ?? []),
});

const LEAST_UUID = "00000000-0000-0000-0000-000000000000";

function checkedUuid(typed: string): string {
  const uuid = readUuid(typed);
  if (uuid === null) throw new KitError("not_found", "This is not the uuid of a resource.");
  return uuid;
}

const notProvisioned = (uuid: string, lacks: string) =>
  new KitError("not_provisioned", `Resource ${uuid} is not provisioned: it has no ${lacks}.`);

async function setConfigVars(
  { db, vault, offer, trace, wake }: Context,
  uuid: string,
  vars: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [name, value] of Object.entries(vars)) checkVar(offer, name, value === null ? "" : value);
  const changes = Object.entries(vars).map(([name, value]) => ({ name, value }));
  await retryWhileUnreachable(() =>
    db.transaction(async (tx) => {
      const resource = await lockedResource(tx, uuid);
      if (resource?.state !== "provisioned") throw notProvisioned(uuid, "config vars to change");
      await changeConfig(tx, vault, resource, changes);
      await announceConfig(tx, { uuid, names: Object.keys(vars), traceparent: trace.current() });
    }),
  );
  wake.runSteps(0);
}
