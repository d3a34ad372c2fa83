import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Control } from "../control/control.ts";
import { controlRoutes } from "../control/routes.ts";
import { defaultBehaviour } from "../settings.ts";
import { aWorld, type TestWorld } from "./world.ts";

/** CONTROL.md describes the whole control API of the sandbox, and nothing else. */
const page = readFileSync(new URL("../CONTROL.md", import.meta.url), "utf8");
const chapter = (title: string) => page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? "";

/** The cells of each row of a chapter's table whose first cell begins with code. */
const rowsOf = (title: string) =>
  [...chapter(title).matchAll(/^\| (`.*) \|$/gm)].map(([, row]) => row!.split(/ +\| /));
const codeIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
const firstCodes = (title: string) => rowsOf(title).map(([first]) => codeIn(first)[0]!);

const told = rowsOf("Calls").map(([call, members]) => ({
  call: codeIn(call)[0]!,
  members: codeIn(members).map((name) => name.replace("?", "")),
}));
const calls = controlRoutes({} as Control).stack.flatMap(({ route }) =>
  (route?.stack ?? []).map(({ method }) => `${method.toUpperCase()} /sandbox${route!.path}`),
);

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

async function send(call: string, body: object) {
  const [method, path] = call.split(" ") as [string, string];
  const response = await fetch(world.sandbox.url + path, { method, body: JSON.stringify(body) });
  const { message = "" } = (await response.json()) as { message?: string };
  return { status: response.status, message };
}

/** The names that a call's refusal of an unknown member lists; none if it takes no body. */
async function namesTaken(call: string, body: object = { nonsense: 1 }): Promise<string[]> {
  const { message } = await send(call, body);
  return /(?:there are|some of:) ([\w, ]+)\.$/.exec(message)?.[1]?.split(", ") ?? [];
}

const sorted = (names: readonly string[]) => [...names].sort();

describe("CONTROL.md", () => {
  it("has every call of the control API, and no other", () => {
    expect(sorted(told.map(({ call }) => call))).toEqual(sorted(calls));
  });

  it.each(told.filter(({ call }) => !call.startsWith("GET")))(
    "lists the members of $call",
    async ({ call, members }) => {
      const { id } = world.control.openIncident({ title: "Down" });
      const taken = await namesTaken(call.replace("incidents/:id", `incidents/${id}`));
      const isElsewhere = /\/(incidents|settings|partner)\b/.test(call);
      expect(sorted(isElsewhere ? [] : taken)).toEqual(sorted(members));
    },
  );

  it("has every action of a fault with a valid example, and the forms of a match", async () => {
    const examples = firstCodes("Faults").filter((code) => code.startsWith("{"));
    const actions = examples.map((example) => JSON.parse(example) as object);
    for (const action of actions)
      expect(await send("POST /sandbox/faults", { match: "GET /apps", action })).toMatchObject({
        status: 201,
      });
    const taken = await namesTaken("POST /sandbox/faults", { match: "GET /apps", action: {} });
    expect(sorted([...new Set(actions.flatMap((action) => Object.keys(action)))])).toEqual(sorted(taken));
    const matches = firstCodes("Faults").filter((code) => code.startsWith('"'));
    expect(matches).toHaveLength(4);
    for (const match of matches) {
      const wish = { match: JSON.parse(match) as string, action: { status: 503 } };
      expect(await send("POST /sandbox/faults", wish)).toMatchObject({ status: 201 });
    }
  });

  it("has every setting with its default", async () => {
    const settings = rowsOf("Settings").map(([name, value]) => [
      codeIn(name)[0]!,
      JSON.parse(codeIn(value)[0]!) as unknown,
    ]);
    expect(Object.fromEntries(settings)).toEqual(defaultBehaviour);
    expect(sorted(firstCodes("Settings"))).toEqual(sorted(await namesTaken("POST /sandbox/settings")));
  });

  it("has every member of the partner, with its environment variable", async () => {
    expect(sorted(firstCodes("Partner"))).toEqual(sorted(await namesTaken("PUT /sandbox/partner")));
    for (const [name, variable] of rowsOf("Partner").map((cells) => cells.map((cell) => codeIn(cell)[0]!))) {
      const { status, message } = await send("PUT /sandbox/partner", { [variable!]: 5 });
      expect([status, message]).toEqual([422, expect.stringMatching(new RegExp(`^${name}: `))]);
    }
  });

  it("has every member of an incident", async () => {
    const { id } = world.control.openIncident({ title: "Down" });
    const opened = await namesTaken("POST /sandbox/incidents");
    expect(sorted(firstCodes("Incidents"))).toEqual(sorted(opened));
    const atStart = rowsOf("Incidents").filter(([, meaning]) => meaning!.startsWith("When it is opened"));
    const later = await namesTaken(`PATCH /sandbox/incidents/${id}`);
    expect(sorted(atStart.map(([name]) => codeIn(name)[0]!))).toEqual(
      sorted(opened.filter((name) => !later.includes(name))),
    );
  });
});
