import { expect, it } from "@jest/globals";
import type { Queryable } from "../src/database/database.ts";
import { createDiscovered } from "../src/resources/steps/discovered.ts";
import type { Step } from "../src/resources/steps/queue.ts";
import { createSettlements } from "../src/resources/steps/settle.ts";
import { createVault } from "../src/vault/vault.ts";
import { Secret } from "../src/secret.ts";

const vault = await createVault({ encryptionKey: new Secret("a-key-of-more-than-thirty-two-characters") });

/** A claimed step of the resource with this number; the ids of steps say nothing about the order of resources. */
const stepOf = (resource: number) =>
  ({
    id: 100 - resource,
    lease: 1,
    kind: "finish",
    resource: { uuid: `01234567-89ab-4def-8123-${String(resource).padStart(12, "0")}`, sealedConfig: null },
  }) as Step;

/** A database that knows every step but one, and notes in which order it was given them. */
function aDatabase(unknownId: number) {
  const given: number[][] = [];
  const query = async (_statement: unknown, values: readonly unknown[] = []) => {
    const ids = values[0] as number[];
    given.push(ids);
    return ids.filter((id) => id !== unknownId).map((id) => ({ id }));
  };
  return { db: { query } as Queryable, given };
}

const app = { id: "01234567-89ab-4def-8123-456789abcdef", name: "sushi" };

it.each([
  {
    what: "steps that are done",
    end: (db: Queryable) => {
      const { done } = createSettlements(db, vault);
      return (step: Step) => done(step, { URL: "x" }, "basic");
    },
  },
  {
    what: "provisions that the platform knows of",
    end: (db: Queryable) => createSettlements(db, vault).provisioned,
  },
  {
    what: "discoveries",
    end: (db: Queryable) => {
      const discovered = createDiscovered(db);
      return ({ id, lease, resource: { uuid } }: Step) => discovered({ id, lease, uuid, app, attached: 1 });
    },
  },
])(
  "$what are written in the order of their resources, and each is told whether it was ours",
  async ({ end }) => {
    const { db, given } = aDatabase(stepOf(2).id);
    const isOurs = await Promise.all([3, 1, 2].map(stepOf).map(end(db)));
    expect(isOurs).toEqual([true, true, false]);
    expect(given).toEqual([[1, 2, 3].map((resource) => stepOf(resource).id)]);
  },
);
