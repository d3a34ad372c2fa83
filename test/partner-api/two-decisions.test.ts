import { expect, it } from "@jest/globals";
import { PACE } from "../../src/pace.ts";
import type { Queryable } from "../../src/database/database.ts";
import { createAnswers } from "../../src/resources/answers.ts";
import type { Vault } from "../../src/vault/vault.ts";

it("of two decisions about one provision in one batch, only the first is confirmed", async () => {
  const written: unknown[][] = [];
  const db = {
    query: async (_: unknown, [uuids, states]: string[][]) => {
      written.push(states!);
      return [...new Set(uuids)].map((uuid) => ({ uuid }));
    },
  } as unknown as Queryable;
  const vault = { seal: () => Buffer.alloc(0) } as unknown as Vault;
  const answers = createAnswers(db, vault, PACE);
  const uuid = "01234567-89ab-4def-8123-456789abcdef";
  // The first write starts at once; what arrives during it is written together.
  const other = answers.later("11234567-89ab-4def-8123-456789abcdef");
  const [done, later] = await Promise.all([
    answers.decide({ id: 1, lease: 1, uuid }, { is: "done", config: {}, message: undefined }),
    answers.later(uuid),
  ]);
  await other;
  expect(done).toMatchObject({ status: 200 });
  expect(later).toBeNull();
  expect(written.flat().filter((state) => state === "provisioned")).toHaveLength(1);
  expect(written.flat()).toHaveLength(2);
});
