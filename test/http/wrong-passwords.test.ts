import { basic } from "../support/partner-calls.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// Guesses are slowed down, and right passwords never: also from the same address, at the same time.

const OPERATOR = "a-password-of-the-operator";
const METRICS = "a-password-of-the-metrics";

const world = opened(() =>
  aWorld({
    environment: { OPERATOR_PASSWORD: OPERATOR, METRICS_PASSWORD: METRICS, TRUST_PROXY: "1" },
    // A guess that is slowed down gets no answer while a test runs.
    parts: { pace: { lastOrdersMs: 25, wrongPasswordMs: 600_000 } },
  }),
);
// What was counted is forgotten.
beforeEach(() => world.restart());

const DOORS = {
  platform: {
    path: "/resources",
    method: "PATCH",
    right: () => basic("teapots", world.sandbox.settings.addonPassword),
    status: 405,
  },
  operator: {
    path: "/operator/resources",
    method: "GET",
    right: () => basic("operator", OPERATOR),
    status: 200,
  },
  metrics: { path: "/metrics", method: "GET", right: () => basic("metrics", METRICS), status: 200 },
};
type Door = keyof typeof DOORS;

/** Asks at a door from an address; returns the status. */
async function knock(
  door: Door,
  authorization: string,
  address: string,
  signal: AbortSignal | null = null,
): Promise<number> {
  const { path, method } = DOORS[door];
  const headers = { authorization, "x-forwarded-for": address };
  const answer = await fetch(world.service.url + path, { method, headers, signal });
  await answer.arrayBuffer();
  return answer.status;
}

const guess = (door: Door, address: string, signal?: AbortSignal) =>
  knock(door, basic("operator", "a-guess"), address, signal);

/** A guess that is not answered before what `meanwhile` does. */
async function isSlowedDown(door: Door, address: string, meanwhile: () => Promise<void>): Promise<void> {
  const leaving = new AbortController();
  let isAnswered = false;
  const slow = guess(door, address, leaving.signal).then(
    () => (isAnswered = true),
    () => undefined,
  );
  await meanwhile();
  expect(isAnswered).toBe(false);
  leaving.abort();
  await slow;
}

describe.each(Object.keys(DOORS) as Door[])("%s", (door) => {
  it("refuses the next of many guesses after others, and after a right password from the same address", async () => {
    for (let one = 0; one < 20; one++) expect(await guess(door, "203.0.113.1")).toBe(401);
    await isSlowedDown(door, "203.0.113.1", async () => {
      for (let times = 0; times < 5; times++)
        expect(await knock(door, DOORS[door].right(), "203.0.113.1")).toBe(DOORS[door].status);
      expect(await guess(door, "203.0.113.2")).toBe(401);
    });
  });
});

it("guesses from everywhere are slowed down too; they are counted, and raise one alarm", async () => {
  for (let one = 0; one < 100; one++) expect(await guess("metrics", `203.0.113.${one}`)).toBe(401);
  await isSlowedDown("operator", "198.51.100.1", async () => {
    expect(await knock("operator", DOORS.operator.right(), "198.51.100.1")).toBe(200);
  });
  const alarms = world.lines(`"alarm":"wrong_passwords"`);
  expect(alarms.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: "error", door: "metrics", address: "203.0.113.99", addresses: 100 }),
  ]);
  await eventually(async () => {
    const headers = { authorization: basic("metrics", METRICS) };
    const scraped = await (await fetch(`${world.service.url}/metrics`, { headers })).text();
    for (const [door, least] of Object.entries({ metrics: 100, operator: 1, platform: 0 })) {
      const [, count] =
        new RegExp(`^addon_wrong_passwords_total\\{door="${door}"\\} (\\d+)$`, "m").exec(scraped) ?? [];
      expect(Number(count)).toBeGreaterThanOrEqual(least);
    }
  });
});

it("a request without credentials is no guess", async () => {
  for (let asked = 0; asked < 25; asked++)
    expect((await fetch(`${world.service.url}/operator`)).status).toBe(401);
  expect(await guess("operator", "127.0.0.1")).toBe(401);
});
