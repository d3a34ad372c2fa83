import { describe, expect, it } from "@jest/globals";
import type { Resource } from "../../src/database/client/client.ts";
import { columnsOf, positional, statement } from "../../src/database/statement.ts";

const NOT_LITERAL: string = "'{}'::text[] <> '{a}'";
const IS_OURS = `s.uuid = :uuid AND s.lease = :lease` as const;

describe("a statement whose parameters have names", () => {
  it("is sent with numbered ones, each name once, and a cast is no name", () => {
    const made = statement<{ uuid: string; lease: number; plan: string }>("made").sql(
      `UPDATE steps s SET plan = :plan::text WHERE ${IS_OURS} AND ${NOT_LITERAL}
         -- The plan is compared, too: it may have changed.
         AND s.plan <> :plan`,
    );
    expect(made.text).toContain(
      "SET plan = $1::text WHERE s.uuid = $2 AND s.lease = $3 AND '{}'::text[] <> '{a}'",
    );
    expect(made.text).toContain("AND s.plan <> $1");
    expect(made.bind({ plan: "basic", lease: 3, uuid: "u" })).toEqual(["basic", "u", 3]);
  });

  it("takes rows as one array for each column, in the order of the columns", () => {
    const made = statement<{ share: number; rows: { uuid: string; requestId: string | null }[] }>("batch", {
      requestId: "text",
      uuid: "uuid",
    }).sql(`INSERT INTO steps SELECT i.uuid, :share FROM :rows AS i`);
    expect(made.text).toBe(
      "INSERT INTO steps SELECT i.uuid, $3 FROM unnest($1::text[], $2::uuid[]) AS i(request_id, uuid)",
    );
    const rows = [
      { uuid: "a", requestId: null },
      { uuid: "b", requestId: "r" },
    ];
    expect(made.bind({ rows, share: 0.5 })).toEqual([[null, "r"], ["a", "b"], 0.5]);
  });

  it("does not compile with a name or a value too many, or a column forgotten", () => {
    // @ts-expect-error `:uid` is no value of it
    statement<{ uuid: string }>("misspelt").sql(`SELECT :uid`);
    // @ts-expect-error `plan` is not named in it
    statement<{ uuid: string; plan: string }>("forgotten").sql(`SELECT :uuid`);
    // @ts-expect-error `plan` has no column
    statement<{ rows: { uuid: string; plan?: string }[] }>("narrow", { uuid: "uuid" }).sql(
      `SELECT :rows AS i`,
    );
    // @ts-expect-error `colour` is no column of the model
    columnsOf<Resource>()("r", "uuid", "colour");
  });
});

it("the columns of a model are selected under the names of its members", () => {
  expect(columnsOf<Resource>()("r", "uuid", "sealedAnswer")).toBe(
    `r.uuid, r.sealed_answer AS "sealedAnswer"`,
  );
});

it("SQL with numbers of its own takes an array", () => {
  expect(positional("", "SELECT $1").bind([1])).toEqual([1]);
});
