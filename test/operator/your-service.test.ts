import { randomUUID } from "node:crypto";
import { Refusal } from "../../src/errors.ts";
import { callAction } from "../../src/extend/calls.ts";
import type { Extensions, OperatorAction } from "../../src/extend/contract.ts";
import type { Report } from "../../src/operator/work-through.ts";
import { operator as scraper } from "../metrics/operator.ts";
import { aGate, aVendor, type Vendor } from "../support/a-vendor.ts";
import { kit } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfAnOperator } from "./pages/operator.ts";

// What a vendor's service lets an operator do to one resource, on its page and by the command line: its own actions,
// and rotations.

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
const vendor: Vendor & Extensions = { ...aVendor(), operatorActions };
let uuid: string;
const operator = opened(() => aWorldOfAnOperator({ parts: { vendor } }));
beforeEach(async () => {
  uuid = await operator.life.settled();
  next.length = 0;
  await operator.world.forged.nothingIsLeftOf("operator_actions");
});

const path = () => `/resources/${uuid}/your-move`;
const app = () => operator.control.addon(uuid).app.name;
const ofKit = (...words: string[]) => kit(operator.world.environment, words, "", { vendor });

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

  it("has its name completed by the shell, where the service can be made", async () => {
    const script = async (environment: Record<string, string>) =>
      (await kit(environment, ["completion", "bash"], "", { vendor })).stdout;
    const offered = /words='list move'/;
    expect(await script(operator.world.environment as Record<string, string>)).toMatch(offered);
    expect(await script({})).not.toMatch(offered);
  });

  it("is listed and run by the command line, with its sentence in the audit trail", async () => {
    const list = await ofKit("action", "list");
    expect(list).toEqual(await ofKit("action"));
    expect(list.stdout).toMatch(/move\s+Move the kettle\s+It is cold/);
    expect(await operator.audit()).toEqual([]);
    const message = `Moved the basic kettle of ${app()}.`;
    expect(await ofKit("action", "move", uuid)).toMatchObject({ code: 0, stdout: `${message}\n` });
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
    const said = await ofKit("action", ...typed());
    expect([said.code, said.stderr]).toEqual([code, expect.stringContaining(words)]);
  });

  it("ends with its resource, whose clean-up waits until it has", async () => {
    const order: string[] = [];
    const begun = aGate();
    next.push(({ uuid: of }, signal) => {
      begun.open();
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error(`cut ${order.push(`action of ${of}`)}`)));
      });
    });
    vendor.next("deprovision", async ({ uuid: of }) => void order.push(`clean-up of ${of}`));
    await operator.press(path());
    await begun.opened;
    await operator.control.deprovision(uuid);
    await eventually(() => expect(order).toEqual([`action of ${uuid}`, `clean-up of ${uuid}`]));
  });

  it("that throws has failed, and the log alone says why", async () => {
    const timed = `addon_your_service_duration_seconds_count{function="operatorActions.move",result="failed"}`;
    const failed = async () => (await scraper(operator.world).samples()).get(timed) ?? 0;
    const before = await failed();
    next.push(() => Promise.reject(new Error("the kettle is hot")));
    expect((await operator.done(path())).text).toMatch(/The action failed: the log says why/);
    expect(operator.world.logged()).toContain("the kettle is hot");
    await eventually(async () => expect(await failed()).toBe(before + 1));
  });

  it("that throws on the command line says why there alone", async () => {
    const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    next.push(() => Promise.reject(error));
    const said = await ofKit("action", "move", uuid);
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

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

describe("a rotation that an operator asks for", () => {
  beforeEach(() => {
    vendor.rotation = {
      rotate: async ({ idempotencyKey }) => ({ config: { TEAPOT_TOKEN: idempotencyKey }, retires: "old" }),
      retire: async () => undefined,
    };
  });

  async function run(...words: string[]) {
    const { code, stdout } = await ofKit("rotate", ...words, "--json");
    return { code, data: JSON.parse(stdout) as Report };
  }
  const untilRetire = () =>
    eventually(async () => expect(await operator.life.steps(uuid)).toEqual(["retire"]));

  it("kit rotate asks for what is named, and says why it did not for the rest", async () => {
    const gone = await operator.life.settled();
    await operator.control.deprovision(gone);
    const without = "11234567-89ab-cdef-0123-456789abcdef";
    await kit(operator.world.environment, ["resources", "import"], `{"uuid":"${without}","plan":"basic"}`);
    const { code, data } = await run(uuid, gone, without, UNKNOWN);
    expect([code, data]).toMatchObject([1, { done: [uuid], failed: [{ uuid: UNKNOWN, id: "not_found" }] }]);
    const skipped = Object.fromEntries(data.skipped.map(({ uuid, reason }) => [uuid, reason]));
    expect(skipped).toEqual({ [gone]: "deprovisioned", [without]: "no_grant" });
    expect(await operator.audit()).toContainEqual(
      expect.objectContaining({
        action: `kit rotate ${uuid} ${gone} ${without} ${UNKNOWN}`,
        state: "failed",
      }),
    );
    await untilRetire();
    const { stdout } = await ofKit("resources", "show", uuid);
    expect(stdout).toMatch(/Waiting steps\n {2}retire +0 tries, the next .* \(in (2 h|1\d\d min)\)/);
    expect(stdout).toMatch(/rotation_asked {2}by operator\n.*rotated\n.*rotation_announced/);
  });

  it("a rotation that the platform cannot be told is not asked for twice, none of the service's, holds nothing up, and can be given up", async () => {
    operator.control.fault("PATCH /addons/*/config", { status: 503 }, 1_000);
    const announcing = `SELECT kind FROM steps WHERE uuid = $1 AND detail ? 'retires' AND last_error LIKE '%503%'`;
    const untold = () =>
      eventually(async () =>
        expect(await operator.world.rows(announcing, [uuid])).toEqual([{ kind: "rotate" }]),
      );
    await run(uuid);
    await untold();
    const skipped = [{ uuid, reason: "under_way" }];
    expect(await run(uuid)).toEqual({ code: 0, data: { done: [], failed: [], skipped } });
    const samples = await scraper(operator.world).samples();
    for (const name of ["failing", "under_way", "oldest_seconds"])
      expect([name, samples.get(`addon_your_service_${name}{function="rotate"}`)]).toEqual([name, 0]);
    expect((await ofKit("steps", "give-up", "--all", "--yes")).stdout).toMatch(/^0 given up,/);
    expect((await ofKit("steps", "give-up", uuid, "--yes")).stdout).toMatch(/^1 given up,/);
    const story = ["rotation_asked", "rotated", "step_given_up", "rotation_refused"];
    expect(await operator.life.events(uuid)).toEqual(expect.arrayContaining(story));
    expect(await run(uuid)).toMatchObject({ data: { done: [uuid] } });
    await untold();
    // Its answer gives the app the new config vars.
    expect((await operator.control.changePlan(uuid, "premium")).response.status).toBe(200);
    await eventually(async () => expect(await operator.life.steps(uuid)).toContain("retire"));
    operator.control.clearFaults();
  });

  it("kit rotate --all takes what is provisioned", async () => {
    const [{ count }] = (await operator.world.rows(
      `SELECT count(*)::int AS count FROM resources WHERE state = 'provisioned'`,
    )) as [{ count: number }];
    const { code, data } = await run("--all");
    const { done, skipped } = data;
    expect({ code, taken: done.length + skipped.length }).toEqual({ code: 0, taken: count });
    expect(done).toContain(uuid);
  });

  it("the button of a resource's page rotates its credentials, once it was confirmed", async () => {
    const before = operator.control.addon(uuid).app.name;
    const asked = await operator.get(`/resources/${uuid}/rotate`);
    expect(asked.text).toContain("The old ones work for two hours after that");
    expect(await operator.life.events(uuid)).not.toContain("rotation_asked");
    const { text } = await operator.done(`/resources/${uuid}/rotate`);
    expect(text).toMatch(/done.*1 asked for, 0 failed, 0 skipped/);
    await untilRetire();
    expect(operator.control.configVars(before)).toEqual({
      TEAPOT_TOKEN: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((await operator.get(`/resources/${uuid}`)).text).toMatch(/retire 0 .*rotation announced/);
  });

  it("a service that cannot rotate says so", async () => {
    delete vendor.rotation;
    const message = expect.stringContaining("This service cannot rotate credentials");
    expect(await run(uuid)).toEqual({ code: 1, data: { id: "no_rotation", message } });
    const { text, html } = await operator.get(`/resources/${uuid}/rotate`);
    expect(text).toContain("This service cannot rotate credentials");
    expect(html).not.toContain(`<button type="submit"`);
  });
});
