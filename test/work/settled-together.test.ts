import { expect, it } from "@jest/globals";
import { pino } from "pino";
import type { Queryable, Statement } from "../../src/database/database.ts";
import type { Context } from "../../src/context.ts";
import { discoverStep } from "../../src/work/platform-steps.ts";
import { createSettlements } from "../../src/work/settle.ts";
import type { Step } from "../../src/work/step.ts";
import { createVault } from "../../src/vault/vault.ts";
import { Secret } from "../../src/secret.ts";

const vault = await createVault({ encryptionKey: new Secret("a-key-of-more-than-thirty-two-characters") });

/** A claimed step of the resource with this number; the order of step ids differs from that of the resources. */
const stepOf = (resource: number) =>
  ({
    id: 100 - resource,
    lease: 1,
    kind: "finish",
    detail: {},
    resource: { uuid: `01234567-89ab-4def-8123-${String(resource).padStart(12, "0")}`, sealedConfig: null },
  }) as Step;

/** A database that has every step but one, at its first claim, and no resource; it records the order of the steps. */
function aDatabase(unknownId: number) {
  const given: number[][] = [];
  const query = async ({ name }: Statement, values: readonly unknown[] = []) => {
    if (name === "find_resource") return [];
    const [ids, leases] = values as [number[], number[]];
    given.push(ids);
    const steps = ids.map((id, i) => ({ id, lease: leases[i] }));
    return steps.filter(({ id, lease }) => id !== unknownId && lease === 1);
  };
  return { db: { query } as Queryable, given };
}

const app = { id: "01234567-89ab-4def-8123-456789abcdef", name: "sushi" };

it.each([
  {
    what: "steps that are done",
    end: (db: Queryable) => {
      const { done } = createSettlements(db, vault);
      return (step: Step) => done(step, { URL: "x" });
    },
  },
  {
    what: "provisions that the platform knows of",
    end: (db: Queryable) => createSettlements(db, vault).provisioned,
  },
  {
    what: "discoveries",
    end: (db: Queryable) => {
      const { discovered } = createSettlements(db, vault);
      return ({ id, lease, resource: { uuid } }: Step) => discovered({ id, lease, uuid, app, attached: 1 });
    },
  },
])(
  "$what are written in the order of their resources, and each caller learns whether its lease was valid",
  async ({ end }) => {
    const { db, given } = aDatabase(stepOf(2).id);
    const isOurs = await Promise.all([3, 1, 2].map(stepOf).map(end(db)));
    expect(isOurs).toEqual([true, true, false]);
    expect(given).toEqual([[1, 2, 3].map((resource) => stepOf(resource).id)]);
  },
);

it("a discovery that brings no app fails alone, with its reason", async () => {
  const [whole, broken] = [stepOf(1), stepOf(2)];
  const own = async (uuid: string) => ({ id: uuid, ...(uuid === whole.resource.uuid && { app }) });
  const platformFor = (uuid: string) => ({
    addons: { own: () => own(uuid) },
    attachments: { ofAddon: async () => [] },
  });
  const { db, given } = aDatabase(0);
  const log = pino({ level: "silent" });
  const ctx = { db, platformFor, log, settlements: createSettlements(db, vault) } as unknown as Context;
  const results = await Promise.allSettled([whole, broken].map((step) => discoverStep(ctx, step)));
  expect(results).toEqual([
    { status: "fulfilled", value: undefined },
    { status: "rejected", reason: expect.objectContaining({ id: "no_primary_app" }) },
  ]);
  expect(given).toEqual([[whole.id]]);
});

it.each([0, 2])(
  "a caller that holds the same step with lease %d is told that its lease is not valid",
  async (lease) => {
    const { provisioned } = createSettlements(aDatabase(0).db, vault);
    const ours = stepOf(1);
    expect(await Promise.all([provisioned({ ...ours, lease }), provisioned(ours)])).toEqual([false, true]);
  },
);
