import { randomBytes } from "node:crypto";
import { aBrowser, type Browser } from "../../people/browser.ts";
import { opened } from "../../support/world.ts";
import { aWorldOfOperators } from "./operator.ts";

// Somebody can write to the database, and does not have ENCRYPTION_KEY. They have an account at the platform, too.

const SALT = "the-salt-of-sign-on-of-tests";
const OPERATOR = "owner@example.com";
const operators = opened(() =>
  aWorldOfOperators(OPERATOR, { sandbox: { ssoSalt: SALT }, environment: { SSO_SALT: SALT } }),
);
const rows = (text: string, values?: unknown[]) => operators.world.rows(text, values);

let stranger: Browser;
let owner: Browser;
beforeEach(async () => {
  await operators.people.forgetEverybody();
  owner = await operators.signedIn(OPERATOR);
  stranger = await operators.signedIn("newcomer@example.com");
});

const THEIRS = `(SELECT uuid FROM people WHERE email = 'newcomer@example.com')`;
const MADE_UP = "ffffffff-ffff-4fff-8fff-ffffffffffff";
const OWNERS = `(SELECT uuid FROM people WHERE email = '${OPERATOR}')`;

it.each<[string, string[]]>([
  ["their e-mail", [`UPDATE people SET email = '${OPERATOR}' WHERE uuid = ${THEIRS}`]],
  [
    "their e-mail, and the proof of the operator",
    [
      `UPDATE people SET (email, proof) = (SELECT email, proof FROM people WHERE uuid = ${OWNERS}) WHERE uuid = ${THEIRS}`,
    ],
  ],
  ["their session", [`UPDATE sessions SET person = ${OWNERS} WHERE person = ${THEIRS}`]],
  [
    "their session, and the proof of the operator's",
    [
      `UPDATE sessions SET (person, proof) = (SELECT person, proof FROM sessions WHERE person = ${OWNERS}) WHERE person = ${THEIRS}`,
    ],
  ],
  [
    "the rows without proofs, as of the release before",
    [
      `UPDATE people SET proof = NULL, email = '${OPERATOR}' WHERE uuid = ${THEIRS}`,
      `UPDATE sessions SET proof = NULL`,
    ],
  ],
  [
    "the person of their session to a new one with the operator's e-mail",
    [
      `INSERT INTO people (uuid, email, is_email_verified, proof)
       SELECT '${MADE_UP}', email, true, proof FROM people WHERE uuid = ${OWNERS}`,
      `INSERT INTO credentials (uuid, owner, state) VALUES ('${MADE_UP}', 'person', 'signed_in')`,
      `UPDATE sessions SET person = '${MADE_UP}' WHERE person = ${THEIRS}`,
    ],
  ],
])("who changes %s in the database becomes no operator, and is in the log", async (_, statements) => {
  expect((await stranger.get("/operator")).status).toBe(403);
  const before = operators.world.lines("A session is refused").length;
  for (const text of statements) await rows(text);
  expect((await stranger.get("/operator")).status).toBe(401);
  expect((await stranger.get("/oauth/me")).status).toBe(401);
  const refused = operators.world.lines(
    `"level":"warn"`,
    "A session is refused",
    `"table":"sessions"`,
    `"person":"`,
  );
  expect(refused.length).toBeGreaterThan(before);
});

it("a session goes on after its key was rotated", async () => {
  const old = operators.world.environment["ENCRYPTION_KEY"]!;
  const environment = { ENCRYPTION_KEY: randomBytes(24).toString("hex"), DECRYPTION_KEYS: old };
  await operators.world.restart({ environment });
  expect((await owner.get("/operator")).status).toBe(200);
  expect((await stranger.get("/operator")).status).toBe(403);
  await operators.world.restart();
});

describe("a customer", () => {
  const signedOn = async (uuid: string) => {
    const customer = aBrowser(operators.url, { accept: "text/html" });
    const { form } = operators.control.signOnForm(uuid);
    expect((await customer.post("/sso/login", {}, new URLSearchParams(form))).status).toBe(303);
    return customer;
  };

  it.each([
    ["another resource", `UPDATE customer_sessions SET uuid = $2 WHERE uuid = $1`],
    [
      "another e-mail",
      `UPDATE customer_sessions SET email = 'x@example.com' WHERE uuid = $1 AND $2::uuid IS NOT NULL`,
    ],
    [
      "another account",
      `UPDATE customer_sessions SET user_id = 'x' WHERE uuid = $1 AND $2::uuid IS NOT NULL`,
    ],
    ["no proof", `UPDATE customer_sessions SET proof = NULL WHERE uuid = $1 AND $2::uuid IS NOT NULL`],
  ])("whose session was given %s in the database is not signed on", async (_, text) => {
    const [mine, theirs] = await operators.world.installed(2);
    const customer = await signedOn(mine!);
    const { value } = customer.cookies.get(`kit_customer_${mine}`)!;
    expect((await customer.get(`/customer/${mine}`)).status).toBe(200);
    await rows(text, [mine, theirs]);
    for (const uuid of [mine, theirs]) {
      const headers = { cookie: `kit_customer_${uuid}=${value}`, accept: "text/html" };
      expect((await fetch(`${operators.url()}/customer/${uuid}`, { headers })).status).toBe(401);
    }
    expect(
      operators.world.lines("A session is refused", `"table":"customer_sessions"`).length,
    ).toBeGreaterThan(0);
  });
});
