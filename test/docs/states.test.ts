import { readFileSync } from "node:fs";
import { drawn, MACHINES, PAGE } from "../../workshop/states.ts";
import { aWorld, opened } from "../support/world.ts";

const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));

it("docs/states.md draws the machines as they are; npx tsx workshop/states.ts writes it anew", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(page).toBe(drawn(page));
});

describe.each(MACHINES)("$title", ({ table, states, moves }) => {
  it("has the states that the database allows", async () => {
    const [row] = await world.rows<{ text: string }>(
      `SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = $1`,
      [`${table}_state`],
    );
    expect([...row!.text.matchAll(/'(\w+)'/g)].map(([, state]) => state).sort()).toEqual([...states].sort());
  });

  it("reaches every state, leaves for none that is not one, and goes one way on one event", () => {
    expect(new Set(moves.map(({ to }) => to))).toEqual(new Set(states));
    expect(moves.filter(({ from }) => ![...states, "none", "any"].includes(from))).toEqual([]);
    const ways = moves.map(({ from, on }) => `${from} ${on}`);
    expect(ways).toEqual([...new Set(ways)]);
  });
});
