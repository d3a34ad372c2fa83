import { basic } from "../../support/partner-calls.ts";
import { eventually, opened } from "../../support/world.ts";
import { aWorldOfOperators, PASSWORD } from "./operator.ts";

// Who came in, went out and was refused is in the audit trail.

const OPERATOR = "owner@example.com";
const operators = opened(() =>
  aWorldOfOperators(OPERATOR, { parts: { pace: { exchangeAfterMs: 50, logAgainMs: 3_600_000 } } }),
);
beforeEach(() => operators.world.forged.nothingIsLeftOf("operator_actions"));

interface Entry {
  action: string;
  operator: string;
  account: string | null;
  address: string | null;
  message: string | null;
  state: string;
}
const entries = (count: number) =>
  eventually(async () => {
    const found = await operators.world.rows<Entry>(
      `SELECT action, operator, account, address, message, state FROM operator_actions ORDER BY id`,
    );
    return found.length >= count ? found : null;
  });
const ADDRESS = "127.0.0.1";
const ask = (password: string) =>
  fetch(`${operators.url()}/operator`, { headers: { authorization: basic("operator", password) } });

it("a sign-in and a sign-out, with account and address", async () => {
  const browser = operators.browser();
  await operators.signIn(browser);
  await browser.post("/oauth/logout", { "sec-fetch-site": "same-origin" });
  const account = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown;
  const who = { operator: OPERATOR, account, address: ADDRESS, message: null, state: "done" };
  expect(await entries(2)).toEqual([
    { action: "signed in", ...who },
    { action: "signed out", ...who },
  ]);
});

it("an account that is no operator's, once for many requests", async () => {
  const browser = operators.browser();
  await operators.signIn(browser, { user: "colleague@example.com" });
  for (const _ of [1, 2, 3]) expect((await browser.get("/operator")).status).toBe(403);
  const found = await entries(2);
  expect(found.map(({ action, operator, message }) => [action, operator, message])).toEqual([
    ["signed in", "colleague@example.com", null],
    ["refused", "colleague@example.com", "The account is not in OPERATOR_ACCOUNTS."],
  ]);
});

it("the password, right and wrong, sampled", async () => {
  for (const password of ["wrong-1", "wrong-2", PASSWORD, PASSWORD]) await ask(password);
  expect((await entries(2)).map(({ action, address, message }) => [action, address, message])).toEqual([
    ["refused", ADDRESS, "The operator's password was wrong."],
    ["came in with the password", ADDRESS, null],
  ]);
});

it("a sign-in that cannot be completed", async () => {
  await fetch(`${operators.url()}/oauth/callback?code=x&state=y`);
  expect(await entries(1)).toMatchObject([
    { action: "refused", message: "A sign-in was refused: not_completed." },
  ]);
});
