import { expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { createReadTokens } from "../../src/credentials/store.ts";
import type { Queryable } from "../../src/database/database.ts";

// Reads of access tokens that share a statement, when that statement fails.

/** Asks for four tokens at once. Each read of more than one row fails with `code`. */
async function failingTogether(code: string) {
  const reads: number[] = [];
  const query = async (_: unknown, [uuids]: [string[]]) => {
    reads.push(uuids.length);
    if (uuids.length > 1) throw Object.assign(new Error("refused"), { code, severity: "ERROR" });
    return [];
  };
  const readTokens = createReadTokens({ query } as unknown as Queryable);
  const asked = Array.from({ length: 4 }, () => readTokens(randomUUID()));
  return { reads, told: await Promise.allSettled(asked) };
}

test("while their table is locked, tokens are not read one after the other: each would wait as long", async () => {
  const { reads, told } = await failingTogether("55P03");
  expect(reads).toEqual([4]);
  expect(told).toEqual(
    Array.from({ length: 4 }, () => ({
      status: "rejected",
      reason: expect.objectContaining({ code: "55P03" }),
    })),
  );
});

test("one that cannot be read for its data does not fail the others", async () => {
  const { reads, told } = await failingTogether("22P02");
  expect(reads).toEqual([4, 1, 1, 1, 1]);
  expect(told).toEqual(Array.from({ length: 4 }, () => ({ status: "fulfilled", value: undefined })));
});
