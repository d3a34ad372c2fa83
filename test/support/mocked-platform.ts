import { randomBytes } from "node:crypto";
import supertest from "supertest";
import { openDatabase } from "../../src/database/database.ts";
import type { Environment } from "../../src/environment.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aFreshDatabase, forTests, patient } from "./database.ts";
import { type Answer, PLAYED, playPlatform } from "./played-platform.ts";
import { sellers } from "./sellers.ts";
import { eventually, QUICK } from "./world.ts";

/** No platform is there that a test would wait for. */
const AT_ONCE = { ...QUICK, exchangeAfterMs: 10, soonMs: 5, pauses: 0.01, callPauses: 0.01 };

/**
 * Your service, or that of the kit's tests, beside a platform that is played by nock: each answer is declared before the
 * call, and the network is closed. Where the platform behaves, `aWorld` with the sandbox says more.
 */
export async function aMockedPlatform(extra: Environment = {}, sells: keyof typeof sellers = "yours") {
  const platform = playPlatform();
  const database = await aFreshDatabase();
  const login = { user: "teapots", password: randomBytes(24).toString("hex") };
  const clientSecret = randomBytes(24).toString("hex");
  const seller = sellers[sells];
  const config = seller.config({
    PORT: "0",
    HOST: "127.0.0.1",
    ADDON_ID: login.user,
    ADDON_PASSWORD: login.password,
    CLIENT_SECRET: clientSecret,
    ENCRYPTION_KEY: randomBytes(24).toString("hex"),
    ...PLAYED,
    SWEEP_CRON: "* * * * * *",
    DATABASE_URL: patient(database.settings.url),
    ...extra,
  });
  const log: string[] = [];
  const logTo = { write: (line: string) => void log.push(line) };
  const service = await runWeb(config, { ...seller.parts, logTo, pace: AT_ONCE });
  const db = openDatabase({ ...database.settings, url: forTests(database.settings.url) });
  await Promise.all([service.ready, db.prisma()]);
  const { answers } = platform;

  return {
    ...platform,
    clientSecret,
    /** For calls of the service's own code. */
    services: service.services,
    /** The answer to an exchange of `code`; tokens unless it says otherwise. */
    exchanges: (code: string, answer?: Answer) =>
      answers("POST /oauth/token", answer ?? { body: tokens() }, { grant_type: "authorization_code", code }),
    /** The answer to a refresh by this token. */
    refreshes: (refresh_token: string, answer?: Answer) =>
      answers("POST /oauth/token", answer ?? { body: tokens() }, {
        grant_type: "refresh_token",
        refresh_token,
      }),
    /** The two looks by which the service finds the apps of an add-on, once each. */
    isAttachedTo(uuid: string, ...apps: string[]): void {
      const refs = apps.map((name) => ({ id: uuidOf(name), name }));
      answers(`GET /addons/${uuid}`, { body: { id: uuid, app: refs[0]!, state: "provisioned" } });
      answers(`GET /addons/${uuid}/addon-attachments`, {
        body: refs.map((app) => ({ id: uuidOf(`attached to ${app.name}`), app })),
      });
    },
    /** The platform's own call, by supertest. */
    provision: (body: object) =>
      supertest(service.url!).post("/resources").auth(login.user, login.password).send(body),
    /** What is stored of a resource, once its credential is in this state and no work is left for it. */
    becomes: (uuid: string, state: string) =>
      eventually(async () => {
        const { credential, step, resource } = await db.prisma();
        expect(await credential.findUnique({ where: { uuid } })).toMatchObject({ state });
        expect(await step.findMany({ where: { uuid } })).toEqual([]);
        return resource.findUniqueOrThrow({ where: { uuid }, include: { credential: true } });
      }),
    logged: () => log.join(""),
    async close(): Promise<void> {
      await db.close();
      await service.stop();
      await database.close();
      platform.close();
    },
  };
}

/** A pair of tokens as the platform issues one. */
export function tokens(change: Record<string, unknown> = {}) {
  const [access, refresh] = [randomBytes(30).toString("hex"), randomBytes(16).toString("hex")];
  return {
    access_token: `SVCK-${access}`,
    refresh_token: refresh,
    expires_in: 28_800,
    token_type: "Bearer",
    ...change,
  };
}

const uuidOf = (name: string) =>
  `00000000-0000-4000-8000-${Buffer.from(name.padEnd(6, "-").slice(-6)).toString("hex")}`;
