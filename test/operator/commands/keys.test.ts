import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Queryable } from "../../../src/database/statement.ts";
import { Secret } from "../../../src/secret.ts";
import { reseal } from "../../../src/vault/store.ts";
import { createVault, credentialSealContext, type Vault } from "../../../src/vault/vault.ts";
import { kit, kitJson, startKit } from "../../support/kit.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";

interface Report {
  resealed: number;
  byKey: { keyId: string; rows: number }[];
}

const MANY = 1_200;

let oldKey: string;
let newKey: string;
let old: Vault;
let both: Vault;
const world = opened(() => aWorld());
beforeAll(async () => {
  await world.settled();
  oldKey = world.environment["ENCRYPTION_KEY"]!;
});

it("a command with fewer keys runs once no row needs the removed one, and forgets it", async () => {
  await world.forged.keyWasUsed("0123456789abcdef");
  const { code, data } = await kitJson(world.environment, ["tokens", "refresh", "--all"]);
  expect({ code, data }).toMatchObject({ code: 0, data: { failed: [] } });
  expect(await world.rows(`SELECT 1 FROM sealing_keys WHERE key_id = '0123456789abcdef'`)).toEqual([]);
});

/** Each test rotates to a key of its own. */
beforeEach(async () => {
  newKey = randomBytes(24).toString("hex");
  old = await createVault({ encryptionKey: new Secret(oldKey) });
  both = await createVault({ encryptionKey: new Secret(newKey), decryptionKeys: [new Secret(oldKey)] });
});

const rotated = () => ({ ...world.environment, ENCRYPTION_KEY: newKey, DECRYPTION_KEYS: oldKey });

/** Resources with a sealed token, which is named after the uuid. */
async function manyResources(count: number): Promise<string[]> {
  const uuids = Array.from({ length: count }, () => randomUUID()).sort();
  const sealed = uuids.map((uuid) => old.seal(contextOf(uuid), `token of ${uuid}`));
  await world.rows(
    `INSERT INTO resources (uuid, plan, applied_plan, state) SELECT unnest($1::uuid[]), 'basic', 'basic', 'provisioned'`,
    [uuids],
  );
  await world.rows(
    `INSERT INTO credentials (uuid, state, sealed_access_token, secret_version)
     SELECT uuid, 'active', access, 1 FROM unnest($1::uuid[], $2::bytea[]) AS i(uuid, access)`,
    [uuids, sealed],
  );
  return uuids;
}

const contextOf = (uuid: string) => credentialSealContext("sealed_access_token", uuid);
/** The tokens by their resources, decrypted. */
async function tokensOf(uuids: (string | undefined)[]): Promise<Record<string, string>> {
  const rows = await world.rows<{ uuid: string; sealed: Buffer }>(
    `SELECT uuid, sealed_access_token AS sealed FROM credentials WHERE uuid = ANY($1)`,
    [uuids],
  );
  return Object.fromEntries(
    rows.map(({ uuid, sealed }) => [uuid, both.open(contextOf(uuid), sealed).reveal()]),
  );
}

async function countFresh(): Promise<number> {
  const [row] = await world.rows<{ fresh: number }>(
    `SELECT count(*)::int AS fresh FROM credentials WHERE encode(substring(sealed_access_token FROM 2 FOR 8), 'hex') = $1`,
    [both.keyId],
  );
  return row!.fresh;
}

describe("kit keys reseal", () => {
  it("continues after it was killed, and leaves nothing encrypted with the old key", async () => {
    const uuids = await manyResources(MANY);
    // It can store one half, and tries the other again and again.
    await world.rows(
      `CREATE FUNCTION leave_alone() RETURNS trigger AS 'BEGIN RETURN NULL; END' LANGUAGE plpgsql`,
    );
    await world.rows(
      `CREATE TRIGGER busy BEFORE UPDATE ON credentials FOR EACH ROW WHEN (OLD.uuid >= '${uuids[MANY / 2]}') EXECUTE FUNCTION leave_alone()`,
    );
    const child = startKit(rotated(), ["keys", "reseal", "--json"]);
    const closed = once(child, "close");
    await eventually(async () => expect(await countFresh()).toBeGreaterThanOrEqual(MANY / 2));
    child.kill("SIGKILL");
    expect(await closed).toEqual([null, "SIGKILL"]);
    const done = await countFresh();
    await world.rows(`DROP TRIGGER busy ON credentials`);

    const { code, data } = await kitJson<Report>(rotated(), ["keys", "reseal"]);
    expect(code).toBe(0);
    expect(data.resealed).toBeLessThanOrEqual(MANY + 3 - done);
    expect(data.byKey).toEqual([{ keyId: both.keyId, rows: MANY + 3 }]);
    expect(await tokensOf(uuids)).toEqual(
      Object.fromEntries(uuids.map((uuid) => [uuid, `token of ${uuid}`])),
    );
    expect((await kitJson<Report>(rotated(), ["keys", "reseal"])).data.resealed).toBe(0);

    // The old key can be removed now, and the client secret is recognised by its hash: it is not imported a second
    // time.
    oldKey = newKey;
    await world.restart({ environment: { ENCRYPTION_KEY: newKey } });
    world.environment = { ...world.environment, ENCRYPTION_KEY: newKey };
    expect(await world.rows(`SELECT version FROM client_secrets`)).toEqual([{ version: 1 }]);
    await world.forged.nothingIsLeftOf("credentials", "resources");
  });

  it("never overwrites a token that was refreshed meanwhile", async () => {
    const [uuid, other] = await manyResources(2);
    const fresh = both.seal(contextOf(uuid!), "fresh");
    let isMeanwhile = true;
    const db: Queryable = {
      async query(what, ...values) {
        if (what.name === "reseal_credentials" && isMeanwhile) {
          isMeanwhile = false;
          await world.forged.accessTokenIs(uuid!, fresh);
        }
        return world.db.query(what, ...values);
      },
    };
    const { signal } = new AbortController();
    const result = await reseal({ db, vault: both }, "credentials", {
      ...{ signal, onRows: () => undefined, onUnopened: () => undefined },
    });
    expect(result).toMatchObject({ passedOver: 1 });
    expect(await tokensOf([uuid, other])).toEqual({ [uuid!]: "fresh", [other!]: `token of ${other}` });
  });

  it("leaves values that cannot be decrypted unchanged, lists them, and exits with 1", async () => {
    // Only the first few are shown, so nothing else may be wrong.
    await world.forged.nothingIsLeftOf("credentials");
    const [broken, lost] = await manyResources(2);
    const stranger = await createVault({ encryptionKey: new Secret("z".repeat(40)) });
    await world.forged.bitIsFlipped(broken!, "sealed_access_token");
    const sealed = stranger.seal(contextOf(lost!), "token");
    await world.forged.accessTokenIs(lost!, sealed);
    const { code, stdout } = await kit(rotated(), ["keys", "reseal"]);
    expect(code).toBe(1);
    const said = stdout.replace(/\s+/g, " ");
    expect(said).toContain(`credentials.sealed_access_token of ${broken}`);
    expect(said).toContain(`needs key ${stranger.keyId}`);
    const [row] = await world.rows(`SELECT sealed_access_token AS sealed FROM credentials WHERE uuid = $1`, [
      lost,
    ]);
    expect(row!["sealed"]).toEqual(Buffer.from(sealed));
  });
});
