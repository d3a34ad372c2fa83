import { expect, it } from "@jest/globals";
import { pino } from "pino";
import type { Queryable } from "../../src/database/database.ts";
import { PlatformRefused, RateLimited, UnreadableAnswer } from "../../src/platform/api-errors.ts";
import { TimedOut } from "../../src/platform/http-errors.ts";
import { NoToken } from "../../src/resources/credentials/token-source.ts";
import { createVerify } from "../../src/resources/credentials/verify.ts";
import type { PlatformFor } from "../../src/resources/platform-for.ts";

const call = { method: "GET", url: new URL("https://platform.example/addons/1") };
const refused = (status: number) => new PlatformRefused(call, { status, headers: {}, body: "" }, []);

/** Whether a suspected token is not verified again after this result. */
async function isCleared(outcome: Error | null): Promise<boolean> {
  const asked: string[] = [];
  const query = async ({ name }: { name: string }) => {
    asked.push(name);
    return name === "take_suspects" ? [{ uuid: "1", verifyAt: "then" }] : [];
  };
  const own = () => (outcome ? Promise.reject(outcome) : Promise.resolve({ id: "1" }));
  const verify = createVerify({
    db: { query } as unknown as Queryable,
    platformFor: (() => ({ addons: { own } })) as unknown as PlatformFor,
    log: pino({ level: "silent" }),
  });
  await verify(new AbortController().signal);
  return asked.includes("clear_suspect");
}

it.each<[string, Error | null]>([
  ["it opens the door", null],
  ["the platform wants to be paid first (402)", refused(402)],
  ["it is out of reach (403)", refused(403)],
  ["the resource is gone there (404)", refused(404)],
  ["there is no token any more, and none will come", new NoToken("needs_reauth", "Dead.", true)],
])("a suspected token is not verified again where %s", async (_, outcome) => {
  expect(await isCleared(outcome)).toBe(true);
});

it.each<[string, Error]>([
  ["fresh tokens are refused (401)", refused(401)],
  ["the platform has not acted (408)", refused(408)],
  ["the platform has not acted (425)", refused(425)],
  ["the platform wants rest (429)", refused(429)],
  ["the platform is in trouble (503)", refused(503)],
  ["our own count says rest", new RateLimited(20_000)],
  ["nothing was answered", new TimedOut(call, 15_000)],
  ["what was answered cannot be read", new UnreadableAnswer(call, 200, "an object")],
  ["a new one may come", new NoToken("busy", "Being refreshed.")],
])("a suspected token is verified again where %s", async (_, outcome) => {
  expect(await isCleared(outcome)).toBe(false);
});
