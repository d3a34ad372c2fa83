import { aProvisionRequest } from "../support/a-provision-request.ts";
import { forged } from "../support/forged.ts";
import { aMockedPlatform, tokens } from "../support/mocked-platform.ts";
import type { Answer } from "../support/played-platform.ts";
import { eventually, opened } from "../support/world.ts";

// Grants and refreshes where the platform does not behave: each of its answers is declared.

const platform = opened(() => aMockedPlatform({}, "teapots"));
beforeEach(() => void platform.sent.splice(0));
afterEach(() => expect([platform.undeclared(), platform.unused()]).toEqual([[], []]));

/** Provisions a resource whose code is exchanged for these tokens, after these answers. */
async function active(pair = tokens(), ...before: Answer[]): Promise<string> {
  const request = aProvisionRequest({ plan: "basic" });
  const { uuid } = request;
  const { code } = request["oauth_grant"] as { code: string };
  for (const answer of [...before, { body: pair }]) platform.exchanges(code, answer);
  platform.isAttachedTo(uuid, "bookshop");
  await platform.provision(request);
  await platform.becomes(uuid, "active");
  return uuid;
}

/** Waits until a resource's credential looks like this. */
const becomes = (uuid: string, what: object) =>
  eventually(async () => {
    const { credential } = await platform.becomes(uuid, "active");
    expect(credential).toMatchObject(what);
    return credential!;
  });

/** A call to the platform with the resource's token. */
const own = (uuid: string) => platform.services.platformFor(uuid).addons.own();

const FAULTS: [string, Answer, outcome: string][] = [
  ["the answer is a page", { body: "<html>" }, "unknown"],
  ["the answer is a 503 without a reason", { status: 503, body: "" }, "unknown"],
  ["the platform cannot be reached", { instead: "no connection" }, "not_issued"],
];

it.each(FAULTS)("a grant's exchange is tried again when %s", async (_, answer) => {
  const uuid = await active(tokens(), answer, answer);
  await becomes(uuid, { generation: 1 });
});

it.each(FAULTS)("a refresh is repeated with the same refresh token when %s", async (_, answer, outcome) => {
  const [pair, fresh] = [tokens({ expires_in: 1 }), tokens()];
  platform.refreshes(pair.refresh_token, answer);
  platform.refreshes(pair.refresh_token, { body: fresh });
  const uuid = await active(pair);
  await becomes(uuid, { generation: 2 });
  expect(platform.logged()).toContain(`"uuid":"${uuid}","outcome":"${outcome}"`);

  platform.answers(`GET /addons/${uuid}`, { body: { id: uuid } });
  await own(uuid);
  expect(platform.sent.at(-1)!.authorization).toBe(`Bearer ${fresh.access_token}`);
});

it("calls cause no third forced refresh when the platform refuses fresh tokens too", async () => {
  const pair = tokens();
  const uuid = await active(pair);
  const refused = { status: 401, body: { id: "unauthorized", message: "No." } };
  for (let call = 1; call <= 2; call++) {
    for (let time = 1; time <= 2; time++) platform.answers(`GET /addons/${uuid}`, refused);
    platform.refreshes(pair.refresh_token, { body: tokens({ refresh_token: pair.refresh_token }) });
    await expect(own(uuid)).rejects.toMatchObject({ status: 401 });
  }
  for (let call = 3; call <= 4; call++) {
    platform.answers(`GET /addons/${uuid}`, refused);
    await expect(own(uuid)).rejects.toMatchObject({ id: "refused_again" });
  }
});

// It delays every refresh of the process, so it is the last.
it("a 429 delays refreshes for as long as its Retry-After says, and no grant", async () => {
  const pair = tokens();
  const uuid = await active(pair);
  platform.refreshes(pair.refresh_token, { status: 429, headers: { "retry-after": "600" } });
  await forged({ db: platform.services.db }).tokensFellDue([uuid]);
  const { dueAt } = await becomes(uuid, { generation: 1, attempts: 1, leasedUntil: null });
  const dueIn = (dueAt!.getTime() - Date.now()) / 1_000;
  expect(dueIn).toBeGreaterThan(560);
  expect(dueIn).toBeLessThan(601);
  // Grants have only minutes: they are exchanged, and existing tokens keep working.
  const other = await active();
  platform.answers(`GET /addons/${other}`, { body: { id: other } });
  expect((await own(other)).id).toBe(other);
});
