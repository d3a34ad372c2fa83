import { aWorldOfPeople } from "./people.ts";
import { opened } from "../support/world.ts";

// Sign-ins that succeed and fail; then every secret of them is searched for in the log, on the pages, in the
// addresses and in every column.

/** The secrets by their kind, unencrypted. */
const secrets = new Map<string, string>();
let shown = "";

const people = opened(() => aWorldOfPeople({ environment: { WEB_JOBS: "off", LOG_LEVEL: "trace" } }));
beforeAll(async () => {
  secrets.set("the client's secret", people.client.secret);
  await signInAndStay("owner@example.com");
  await signInAndStay("colleague@example.com");
  await people.world.rows(`UPDATE credentials SET due_at = now()`);
  await people.job("refresh-tokens");
  await failInManyWays();
  for (const { request, response } of people.control.ledger({ reveal: true }).entries)
    note(request, response);
});

async function signInAndStay(user: string): Promise<void> {
  const browser = people.browser();
  const begun = await browser.get("/oauth/login?return_to=/oauth/me");
  secrets.set(`a state of ${user}`, new URL(begun.location!).searchParams.get("state")!);
  const back = await browser.get(people.atPlatform(begun, { user }));
  const page = await browser.get("/oauth/me");
  shown += JSON.stringify([back.location, back.text, page.text, [...page.headers]]);
  for (const [name, { value }] of browser.cookies) secrets.set(`${name} of ${user}`, value);
}

async function failInManyWays(): Promise<void> {
  const text = `wrong: ${people.client.secret}`;
  const faults = [
    { status: 400, body: { error: "invalid_grant", error_description: text } },
    { status: 500, body: text },
    { status: 401, body: { error: text, error_description: text } },
    { truncate: true as const },
  ];
  for (const fault of faults) {
    for (const call of ["POST /oauth/token", "GET /account"]) {
      const browser = people.browser();
      const back = people.atPlatform(await browser.get("/oauth/login"));
      const code = new URL(back).searchParams.get("code")!;
      secrets.set(`a code met by ${call} ${JSON.stringify(fault)}`, code);
      // The account's endpoint knows no code, so one there is hidden by nobody.
      const told = { status: 403, body: { id: "forbidden", message: `Not with ${code}` } };
      people.control.fault(call, call === "GET /account" && fault.status === 500 ? told : fault);
      shown += (await browser.get(back)).text;
      shown += (await browser.get(back)).text;
      people.control.clearFaults();
    }
    await people.world.rows(`UPDATE credentials SET due_at = now(), expires_at = now()`);
    people.control.fault("POST /oauth/token", fault);
    await people.job("refresh-tokens");
    people.control.clearFaults();
  }
}

/** Tokens and codes that the platform sent and received, for any person. */
function note(request: { body: unknown }, response: { body: unknown } | null): void {
  for (const body of [request.body, response?.body] as (Record<string, unknown> | null | undefined)[])
    for (const name of ["access_token", "refresh_token", "code", "session_nonce"])
      if (typeof body?.[name] === "string") secrets.set(`${name} ${secrets.size}`, body[name]);
}

const found = (text: string) =>
  [...secrets].filter(([, value]) => text.includes(value)).map(([what]) => what);

it("no secret is in the log, on a page, in an address or in a header other than cookies", () => {
  expect(secrets.size).toBeGreaterThan(20);
  expect(people.world.logged()).toMatch(/A page says what went wrong/);
  expect(found(people.world.logged())).toEqual([]);
  expect(found(shown.replace(/"set-cookie","[^"]*"/g, ""))).toEqual([]);
});

it("no secret is unencrypted in any column", async () => {
  const tables = await people.world.rows<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
  );
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["people", "sessions", "used_sign_ons"]),
  );
  for (const { name } of tables) {
    const rows = await people.world.rows<Record<string, unknown>>(`SELECT * FROM ${name}`);
    const values = rows.flatMap((row) => Object.values(row));
    const texts = values.flatMap((value) =>
      value instanceof Buffer
        ? [value.toString("latin1"), value.toString("base64url")]
        : [JSON.stringify(value)],
    );
    expect(found(texts.join("\n"))).toEqual([]);
  }
});
