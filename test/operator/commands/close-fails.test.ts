import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { teapots } from "../../support/teapots/index.ts";
import { aWorld, type World } from "../../support/world.ts";
import { kit } from "../../support/kit.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";
const SAID = /✗ Something could not be closed at the end: The door of \[secret\] is stuck\./;

let world: World;
let uuid: string;
beforeAll(async () => {
  world = await aWorld();
  uuid = (await world.sandbox.control.install({ plan: "basic" })).addon.id;
  await world.quiet([uuid]);
});
afterAll(() => world.close());

describe("kit, when the vendor's service cannot be closed", () => {
  const refreshing = (...words: string[]) => {
    const close = () =>
      Promise.reject(new Error(`The door of ${world.sandbox.settings.addonPassword} is stuck.`));
    return kit(world.environment, ["tokens", "refresh", ...words], "", { vendor: { ...teapots, close } });
  };

  it("shows what a command did, then tells of it, with a code of its own", async () => {
    const { code, stdout, stderr } = await refreshing(uuid);
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: expect.stringContaining("1 refreshed"),
      stderr: expect.stringMatching(SAID),
    });
  });

  it("prints one JSON document all the same", async () => {
    const { code, stdout, stderr } = await refreshing(uuid, "--json");
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(SAID) });
    expect(JSON.parse(stdout)).toMatchObject({ done: [uuid] });
  });

  it("tells why a command failed first, and leaves it its code", async () => {
    const { code, stdout, stderr } = await refreshing(UNKNOWN, "--json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(SAID) });
    expect(JSON.parse(stdout)).toMatchObject({ failed: [{ uuid: UNKNOWN }] });
  });
});
