import { Secret } from "../../../src/secret.ts";
import { openContext } from "../../../src/open-context.ts";
import { checkDatabase } from "../../../src/process/start-up.ts";
import { clientSecretSealContext, createVault } from "../../../src/vault/vault.ts";
import { teapotConfig, teapotParts } from "../../support/sellers.ts";
import { aWorld, opened } from "../../support/world.ts";
import { kitJson } from "../../support/kit.ts";

// A stored client secret that cannot be decrypted: a byte of it is damaged, or its key is missing.

const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(() => world.installed(2));

interface Row {
  version: number;
  sealed: Buffer;
}

const versions = () =>
  world.rows<Row>(`SELECT version, sealed_secret AS sealed FROM client_secrets ORDER BY version`);
const run = <Data>(words: string[], input?: string) => kitJson<Data>(world.environment, words, input);

/** The database error of a process that starts now, without CLIENT_SECRET. */
async function start(): Promise<string> {
  const config = teapotConfig({ ...world.environment, CLIENT_SECRET: "" });
  const services = await openContext(config, {
    ...teapotParts,
    logTo: { write: () => undefined },
  });
  try {
    return await checkDatabase(services, AbortSignal.timeout(5_000)).then(
      () => "fit",
      (error: Error) => `${error.name}: ${error.message}`,
    );
  } finally {
    await services.close();
  }
}

async function damage(at: number): Promise<void> {
  await world.rows(
    `UPDATE client_secrets SET sealed_secret = set_byte(sealed_secret, $1, get_byte(sealed_secret, $1) # 1)`,
    [at],
  );
}

async function loseTheKey(): Promise<void> {
  const stranger = await createVault({
    encryptionKey: new Secret("a-key-that-nobody-has-any-more-".repeat(2)),
  });
  await world.rows(`INSERT INTO sealing_keys (key_id) VALUES ($1)`, [stranger.keyId]);
  for (const { version } of await versions())
    await world.rows(`UPDATE client_secrets SET sealed_secret = $2, hash = $3 WHERE version = $1`, [
      version,
      stranger.seal(clientSecretSealContext(version), "lost"),
      stranger.hash(new Secret("lost")),
    ]);
}

describe("kit secret set when the stored client secret cannot be decrypted", () => {
  it.each<[string, () => Promise<void>]>([
    ["for a byte of it was changed", () => damage(50)],
    ["for a byte of its format was changed", () => damage(0)],
    ["for its key is gone", loseTheKey],
  ])("%s, repairs a service that cannot start", async (_, lose) => {
    const [newest] = (await versions()).slice(-1);
    await lose();
    expect(await start()).toMatch(/^Misconfigured: /);
    const { secret } = world.sandbox.control.resetClientSecret();
    const { code, data } = await run<{ version: number }>(["secret", "set"], `${secret}\n`);
    expect({ code, data }).toEqual({ code: 0, data: { version: expect.any(Number), due: 2, fresh: 2 } });
    expect(data.version).toBeGreaterThan(newest!.version);
    expect(await start()).toBe("fit");
    // The old value in CLIENT_SECRET is known, so it is not set again.
    await world.restart();
    const current = await world.service.services.credentials.secrets.current();
    expect({ version: current.version, value: current.value.reveal() }).toEqual({ version: data.version, value: secret }); // prettier-ignore
  });

  it("changes nothing when the platform rejects the new secret", async () => {
    await damage(50);
    const before = await versions();
    expect(await run(["secret", "set"], "not-the-right-secret")).toMatchObject({
      code: 1,
      data: { id: "client_secret_rejected" },
    });
    expect(await versions()).toEqual(before);
    await damage(50);
  });

  it("changes nothing when other values cannot be decrypted either, and asks for the missing key", async () => {
    const before = await versions();
    const environment = { ...world.environment, ENCRYPTION_KEY: "a-key-that-sealed-nothing-".repeat(2) };
    const { clientSecret } = world.sandbox.settings;
    const { code, data } = await kitJson(environment, ["secret", "set"], clientSecret);
    expect({ code, data }).toMatchObject({ code: 78, data: { message: expect.stringContaining("DECRYPTION_KEYS") } }); // prettier-ignore
    expect(await versions()).toEqual(before);
  });
});
