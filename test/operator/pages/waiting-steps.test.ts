import type { DoctorReport } from "../../../src/operator/doctor/doctor.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { eventually, opened } from "../../support/world.ts";
import { aWorldOfAnOperator } from "./operator.ts";

let uuid: string;
const operator = opened(() => aWorldOfAnOperator());
beforeAll(async () => {
  const fails = () => Promise.reject(new Error("The kiln is cold."));
  for (let tries = 0; tries < 20; tries++) operator.life.vendor.next("finish", fails);
  uuid = (await operator.control.install({ plan: "dedicated" })).addon.id;
  await eventually(async () => {
    const [row] = await operator.world.rows(
      `SELECT 1 FROM steps WHERE kind = 'finish' AND last_error IS NOT NULL`,
    );
    return row !== undefined;
  });
  // No process runs it meanwhile.
  await operator.world.restart({ environment: { WEB_JOBS: "off" } });
  await tried(12);
});

const tried = (times: number) =>
  operator.world.rows(
    `UPDATE steps SET attempts = $1, due_at = now() + interval '5 minutes', leased_until = NULL`,
    [times],
  );
const run = (...words: string[]) => kit(operator.world.environment, words);
const doctor = async () => {
  const { data } = await kitJson<DoctorReport>(operator.world.environment, ["doctor"]);
  return data.checks.find(({ id }) => id === "steps");
};

describe("a step that keeps failing", () => {
  it("is shown by kit resources show with its last error and its next try", async () => {
    const { stdout } = await run("resources", "show", uuid);
    expect(stdout).toMatch(/Waiting steps\n {2}finish +12 tries, the next \d{4}-.* \(in [45] min\)\n/);
    expect(stdout).toContain("The kiln is cold.");
    const { data } = await kitJson(operator.world.environment, ["resources", "show", uuid]);
    const nextTryAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(data["steps"]).toContainEqual({
      ...{
        kind: "finish",
        tries: 12,
        lastError: "The kiln is cold.",
        said: null,
        nextTryAt,
        isUnderWay: false,
      },
    });
  });

  it("is shown on the page of its resource", async () => {
    const { text } = await operator.get(`/resources/${uuid}`);
    expect(text).toMatch(/finish 12 .* \(in [45] min\) The kiln is cold\./);
  });

  it("is a fault of the check-up from its alarm on", async () => {
    const fix = expect.stringContaining(`kit resources show ${uuid}`);
    const finds = (what: object) => eventually(async () => expect(await doctor()).toMatchObject(what));
    await finds({ ok: false, message: expect.stringContaining("finish"), fix });
    await tried(11);
    await finds({ ok: true, fix: null });
    await tried(12);
  });

  it("is listed under what needs attention, with a link to its resource", async () => {
    const { html, text } = await operator.get();
    expect(text).toContain("1 step failed again and again");
    expect(html).toContain(`href="/operator/resources/${uuid}"`);
  });
});
