import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { tokenAfter } from "../../src/platform/token-after.ts";
import { Secret } from "../../src/secret.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const dead = new Secret("dead");
const stillBusy = () => new Error("still busy");
const never = () => new Promise<never>(() => undefined);

it("tokenAfter waits for a token that cannot be stored no longer than a call may take", async () => {
  const stored = () => Promise.resolve({ token: dead, generation: 1 });
  let ended = "";
  const end = tokenAfter(dead, { stored, replace: never, stillBusy }).catch((error: Error) => {
    ended = error.message;
  });
  await jest.advanceTimersByTimeAsync(20_500);
  expect(ended).toBe("");
  await jest.advanceTimersByTimeAsync(10_000);
  expect(ended).toBe("still busy");
  await end;
});

it("tokenAfter waits for a token that another process is refreshing until it is stored", async () => {
  const pairs = [1, 1, 1, 2].map((generation) => ({
    token: new Secret(generation > 1 ? "new" : "dead"),
    generation,
  }));
  const stored = () => Promise.resolve(pairs.length > 1 ? pairs.shift()! : pairs[0]!);
  const replace = () => Promise.resolve("busy" as const);
  const token = tokenAfter(dead, { stored, replace, stillBusy });
  await jest.advanceTimersByTimeAsync(200);
  expect((await token).reveal()).toBe("new");
});
