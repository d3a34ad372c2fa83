import { refreshesSettled } from "../../src/credentials/pools.ts";
import type { Environment } from "../../src/environment.ts";
import { aWorld, eventually, type Wishes, type World } from "../support/world.ts";
import { aBrowser, type Browser, type Shown } from "./browser.ts";

export interface Choice {
  user?: string;
  allow?: boolean;
}

/** A world in which people can sign in, and their actions. */
export async function aWorldOfPeople(wishes: Wishes = {}) {
  const world = await aWorld(wishes);
  const { control } = world.sandbox;
  const client = control.registerClient({
    name: "Teapots",
    redirectUri: "http://localhost:3000/oauth/callback",
  });
  const settings: Environment = { OAUTH_CLIENT_ID: client.id, OAUTH_CLIENT_SECRET: client.secret! };
  Object.assign(world.environment, settings);
  await world.restart({ environment: settings });
  const url = () => world.service.url!;

  /** The platform's redirect for a browser that was sent there: back to the callback. */
  const atPlatform = (begun: Shown, { user = "owner@example.com", allow = true }: Choice = {}) =>
    control.authorize({ url: begun.location!, user, allow });

  return {
    ...{ world, client, settings, control, url, atPlatform },
    browser: (headers?: Record<string, string>) => aBrowser(url, headers),
    /** Signs in completely; returns the answer of the callback. */
    async signIn(
      browser: Browser,
      { begin = "/oauth/login", ...choice }: Choice & { begin?: string } = {},
    ): Promise<Shown> {
      return browser.get(atPlatform(await browser.get(begin), choice));
    },
    people: () =>
      world.rows<PersonRow>(
        `SELECT c.*, p.email FROM people p JOIN credentials c USING (uuid) ORDER BY email`,
      ),
    sessions: () => world.rows(`SELECT * FROM sessions`),
    used: () => world.rows(`SELECT * FROM used_sign_ons`),
    forgetEverybody: () => world.forged.allHaveSignedOut(),
    job: (name: Job) => runOf(world, name),
    close: () => world.close(),
  };
}

type Job = "refresh-tokens" | "reopen-quarantined" | "prune-sessions";

/** Runs a job now, until a run that began after this call has ended, and what it started. */
export async function runOf(world: World, name: Job): Promise<void> {
  // The first heartbeat may be of a run that began before.
  for (let beats = 0; beats < 2; beats += 1) {
    await world.forged.jobHasNotRun(name);
    world.service.services.jobs.wake(name);
    await eventually(
      async () => (await world.rows(`SELECT 1 FROM heartbeats WHERE name = $1`, [name])).length === 1,
    );
  }
  await refreshesSettled(world.service.services);
}

export type PeopleWorld = Awaited<ReturnType<typeof aWorldOfPeople>>;

export interface PersonRow {
  uuid: string;
  email: string;
  state: string;
  generation: number;
  sealed_access_token: Buffer | null;
  sealed_refresh_token: Buffer | null;
}
