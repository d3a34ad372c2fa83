import { randomUUID } from "node:crypto";
import { Refusal } from "../../src/errors.ts";
import { callAction } from "../../src/extend/calls.ts";
import type { Extensions, OperatorAction } from "../../src/extend/contract.ts";
import { aVendor } from "../support/a-vendor.ts";
import { kit, type Said } from "../support/kit.ts";
import { operator as scraper } from "../metrics/operator.ts";
import { eventually } from "../support/world.ts";
import { aWorldOfAnOperator, type OperatorWorld } from "./pages/operator.ts";

// What a vendor's service lets an operator do to one resource: on its page, and by the command line.

const next: OperatorAction["run"][] = [];
const operatorActions: Extensions["operatorActions"] = {
  // Its functions are those of its class.
  move: new (class implements OperatorAction {
    readonly label = "Move the kettle";
    readonly effect = "It is cold for a minute.";
    readonly what = "kettle";
    async run(...given: Parameters<OperatorAction["run"]>) {
      const [{ plan, app }] = given;
      return (await next.shift()?.(...given)) ?? `Moved the ${plan} ${this.what} of ${app?.name}.`;
    }
  })(),
};
const vendor = { ...aVendor(), operatorActions };
let operator: OperatorWorld;
let uuid: string;
beforeAll(async () => {
  operator = await aWorldOfAnOperator({ parts: { vendor } });
  uuid = await operator.life.settled();
}, 60_000);
afterAll(() => operator.close());
beforeEach(async () => {
  next.length = 0;
  await operator.world.rows(`DELETE FROM operator_actions`);
});

const path = () => `/resources/${uuid}/your-move`;
const app = () => operator.control.addon(uuid).app.name;
const ofKit = (...words: string[]): Promise<Said> =>
  kit(operator.world.environment, ["action", ...words], "", { vendor });

describe("an action of the vendor's for operators", () => {
  it("is a button on the resource's page, asks first, and is in the audit trail and the story", async () => {
    expect((await operator.get(`/resources/${uuid}`)).html).toContain(
      `href="/operator${path()}">Move the kettle`,
    );
    expect((await operator.get(path())).text).toMatch(/Move the kettle\? It is cold for a minute\./);
    expect((await operator.done(path())).text).toContain(`Moved the basic kettle of ${app()}.`);
    expect(await operator.audit()).toMatchObject([{ action: "your-move", state: "done", uuid }]);
    expect((await operator.get(`/resources/${uuid}`)).text).toContain("operator: your-move done");
  });

  it("is listed and run by the command line, with its sentence in the audit trail", async () => {
    const list = await ofKit("list");
    expect(list).toEqual(await ofKit());
    expect(list.stdout).toMatch(/move\s+Move the kettle\s+It is cold/);
    expect(await operator.audit()).toEqual([]);
    const message = `Moved the basic kettle of ${app()}.`;
    expect(await ofKit("move", uuid)).toMatchObject({ code: 0, stdout: `${message}\n` });
    expect(await operator.audit()).toMatchObject([
      { action: `kit action move ${uuid}`, state: "done", uuid, message },
    ]);
  });

  it.each([
    ["has no resource", 2, "Name the resource, too", () => ["move"]],
    ["names none of them", 2, `no action "mvoe". Actions: move.`, () => ["mvoe", uuid]],
    ["is about nothing", 1, "is not there", () => ["move", randomUUID()]],
    ["is refused by the service", 1, "Not on a Sunday", () => ["move", uuid]],
  ])("that %s ends with exit code %i: %s", async (_what, code, words, typed) => {
    next.push(() => Promise.reject(new Refusal("Not on a Sunday.")));
    const said = await ofKit(...typed());
    expect([said.code, said.stderr]).toEqual([code, expect.stringContaining(words)]);
  });

  it("that throws has failed, and the log alone says why", async () => {
    next.push(() => Promise.reject(new Error("the kettle is hot")));
    expect((await operator.done(path())).text).toMatch(/The action failed: the log says why/);
    expect(operator.world.logged()).toContain("the kettle is hot");
    const timed = `addon_your_service_duration_seconds_count{function="operatorActions.move",result="failed"}`;
    await eventually(async () => expect((await scraper(operator.world).samples()).get(timed)).toBe(1));
  });

  it("that throws on the command line says why there alone", async () => {
    const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    next.push(() => Promise.reject(error));
    const said = await ofKit("move", uuid);
    expect([said.code, said.stderr]).toEqual([1, expect.stringContaining(error.message)]);
    expect(said.stderr).not.toContain("The database does not answer");
    expect(await operator.audit()).toMatchObject([
      { state: "failed", message: "The action failed: the log says why." },
    ]);
  });

  it("that is refused with what no database holds ends in the audit trail", async () => {
    next.push(() => Promise.reject(new Refusal("Not\0 now.")));
    await operator.done(path());
    expect(await operator.audit()).toMatchObject([{ state: "failed", message: "Not now." }]);
  });

  it("that hangs is given up when the service stops", async () => {
    next.push(() => new Promise(() => undefined));
    await operator.press(path());
    await operator.world.restart();
    expect(await operator.audit()).toMatchObject([
      { state: "failed", message: expect.stringContaining("was given up") },
    ]);
  });

  it("that begins while the service stops is given up as well", async () => {
    const what = { name: "move", uuid, mostSeconds: 1_000, cut: AbortSignal.abort() };
    const call = callAction(operator.world.service.services, what, () => new Promise(() => undefined));
    await expect(call).rejects.toMatchObject({ id: "given_up" });
  });

  it("whose name can stand in no address stops the start", async () => {
    const named = { ...aVendor(), operatorActions: { "move it": operatorActions["move"]! } };
    const said = await kit(operator.world.environment, ["action", "list"], "", { vendor: named });
    expect([said.code, said.stderr]).toEqual([78, expect.stringContaining(`the name "move it"`)]);
  });
});
