import { randomUUID } from "node:crypto";
import { basic } from "../support/partner-calls.ts";
import { aWorld, eventually, opened, QUICK } from "../support/world.ts";

const OPERATOR = "a-password-of-the-operator";
/** A refusal that is held back is held until the service stops. */
const FOR_GOOD = 100 * 3_600_000;
const AT_ONCE = 3;
const MOST_OF_SOURCE = 16;
const MOST = 64;

const world = opened(() =>
  aWorld({
    environment: { OPERATOR_PASSWORD: OPERATOR, TRUST_PROXY: "1" },
    parts: { pace: { ...QUICK, refusalMs: FOR_GOOD } },
  }),
);

type Door = keyof typeof doors;
const doors = {
  platform: { user: "teapots", path: () => `/resources/${randomUUID()}`, method: "DELETE", right: 404 },
  operator: { user: "operator", path: () => "/operator", method: "GET", right: 200 },
  metrics: { user: "operator", path: () => "/metrics", method: "GET", right: 200 },
};

function knock(door: Door, password: string, address: string, signal?: AbortSignal) {
  const { user, path, method } = doors[door];
  const headers = { authorization: basic(user, password), "x-forwarded-for": address };
  return fetch(world.service.url! + path(), { method, headers, signal: signal ?? null });
}
const guess = (address: string, door: Door = "operator") => knock(door, `a guess ${randomUUID()}`, address);
const right = (door: Door, address: string) =>
  knock(door, door === "platform" ? world.environment["ADDON_PASSWORD"]! : OPERATOR, address);

/** Sends so many guesses at the same time; `answered` counts those that have their answer. */
function guesses(count: number, address: (n: number) => string) {
  const sent = { answered: 0, all: Promise.resolve<number[]>([]) };
  const one = async (n: number) => {
    const { status } = await guess(address(n));
    sent.answered += 1;
    return status;
  };
  sent.all = Promise.all(Array.from({ length: count }, (_, n) => one(n)));
  return sent;
}
/** How many wrong passwords the service has had. */
async function arrived(): Promise<number> {
  const families = await world.service.services.metrics.families();
  const { values } = families.find(({ name }) => name === "addon_wrong_passwords_total")!;
  return values.reduce((sum, { value }) => sum + value, 0);
}
/** Sends guesses, and waits until they have come, and for some rounds to the service and back: which get no answer? */
async function sendAndWait(count: number, address: (n: number) => string) {
  const before = await arrived();
  const sent = guesses(count, address);
  await eventually(async () => (await arrived()) === before + count);
  for (let n = 0; n < 5; n += 1) await fetch(`${world.service.url}/healthz`);
  return sent;
}
const restart = async () => world.restart();

describe("after a few wrong passwords from an address", () => {
  const STRANGER = "192.0.2.1";
  it("the next refusals are held back, and the right password is answered at once, at each door, also from there", async () => {
    for (let n = 0; n < AT_ONCE; n += 1) expect((await guess(STRANGER)).status).toBe(401);
    const held = await sendAndWait(5, () => STRANGER);
    for (const door of Object.keys(doors) as Door[])
      expect((await right(door, STRANGER)).status).toBe(doors[door].right);
    expect(held.answered).toBe(0);
    // Nor does a right password end it.
    const later = await sendAndWait(1, () => STRANGER);
    expect(later.answered).toBe(0);
    // No other address waits; a stop lets all go.
    expect((await guess("192.0.2.2")).status).toBe(401);
    await restart();
    expect(await held.all).toEqual(Array(5).fill(401));
    expect(await later.all).toEqual([401]);
  });

  it("each further door counts them too", async () => {
    for (const door of Object.keys(doors) as Door[]) await guess(STRANGER, door);
    const held = await sendAndWait(1, () => STRANGER);
    expect(held.answered).toBe(0);
    await restart();
    expect(await held.all).toEqual([401]);
  });
});

it("a request without a password is no guess", async () => {
  for (let n = 0; n < 8; n += 1) expect((await fetch(`${world.service.url}/metrics`)).status).toBe(401);
});

it.each([
  ["an IPv4 address is one source", ["198.51.100.7", "::ffff:198.51.100.7", "198.51.100.7:4711"], true],
  ["two IPv4 addresses are two", ["198.51.100.8", "198.51.100.9"], false],
  [
    "addresses of one IPv6 network are one",
    ["2001:db8:1:2::1", "2001:db8:1:2:a:b:c:d", "2001:db8:1:2::"],
    true,
  ],
  ["those of two networks are two", ["2001:db8:1:3::1", "2001:db8:1:4::1"], false],
])("%s", async (_, addresses, isOne) => {
  const of = (n: number) => addresses[n % addresses.length]!;
  for (let n = 0; n < AT_ONCE; n += 1) await guess(of(n));
  if (!isOne) return expect((await guess(of(AT_ONCE))).status).toBe(401);
  const next = await sendAndWait(1, () => of(AT_ONCE));
  expect(next.answered).toBe(0);
  await restart();
  await next.all;
});

it("holds so many of one source, and so many in all: what is beyond is refused at once", async () => {
  const network = (n: number) => `203.0.113.${n}`;
  const sources = MOST / MOST_OF_SOURCE;
  const held = [];
  for (let source = 0; source < sources; source += 1) {
    for (let n = 0; n < AT_ONCE; n += 1) await guess(network(source));
    const sent = await sendAndWait(MOST_OF_SOURCE + 4, () => network(source));
    await eventually(() => sent.answered === 4);
    held.push(sent);
  }
  expect(held.map(({ answered }) => answered)).toEqual(Array(sources).fill(4));
  const another = network(sources);
  for (let n = 0; n < AT_ONCE + 2; n += 1) expect((await guess(another)).status).toBe(401);
  expect((await right("platform", network(0))).status).toBe(404);
  await restart();
  for (const { all } of held) expect(new Set(await all)).toEqual(new Set([401]));
});

it("a guesser who hangs up makes room", async () => {
  const GUESSER = "192.0.2.9";
  for (let n = 0; n < AT_ONCE; n += 1) await guess(GUESSER);
  const leaving = new AbortController();
  const before = await arrived();
  const left = Array.from({ length: MOST_OF_SOURCE }, () =>
    knock("operator", "wrong", GUESSER, leaving.signal).then(
      () => "answered",
      () => "left",
    ),
  );
  await eventually(async () => (await arrived()) === before + MOST_OF_SOURCE);
  expect((await guess(GUESSER)).status).toBe(401);
  leaving.abort();
  expect(new Set(await Promise.all(left))).toEqual(new Set(["left"]));
  await eventually(async () => (await sendAndWait(1, () => GUESSER)).answered === 0);
});
