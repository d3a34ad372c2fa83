import { good, type Habits, startExample } from "../examples/service/service.ts";
import { freePort } from "../free-port.ts";
import { judge } from "../judge.ts";
import type { Rule, Verdict } from "../rule.ts";
import { rules } from "../rules/index.ts";
import type { Settings } from "../settings.ts";
import { openStage } from "../stage/stage.ts";
import type { BrokenService } from "./broken/break.ts";

export const exampleSettings: Omit<Settings, "url"> = {
  resourcesPath: "/resources",
  ssoPath: "/sso/login",
  addonId: "example",
  addonPassword: "the-password-of-tests",
  clientSecret: "a-secret&of+tests%=",
  ssoSalt: "the-salt-of-tests",
  plan: "basic",
  otherPlan: "premium",
  asyncPlan: "slow",
  region: "us",
  manifest: {
    id: "example",
    plans: [{ name: "basic" }],
    config_vars: ["EXAMPLE_URL", "EXAMPLE_KEY", "EXAMPLE-URL"],
  },
  patience: {
    eventMs: 9_000,
    quietMs: 500,
    slowMs: 3_000,
    tokenLifeSeconds: 4,
    graceMs: 0,
    betweenMs: 0,
    answerMs: 20_000,
    // A loaded machine is no fault of a service.
    promisedMs: 20_000,
  },
  platformPort: 0,
  platformHost: "127.0.0.1",
  platformUrl: null,
};

/** The verdicts of all rules, or of these, on what answers at this address. */
export async function judgedAt(
  url: string,
  others: Partial<Settings> = {},
  judgedBy: readonly Rule[] = rules,
): Promise<Verdict[]> {
  const stage = await openStage({ ...exampleSettings, ...others, url });
  return judge(stage, judgedBy).finally(stage.close);
}

/** The verdicts of all rules, or of these, on the example with these habits, and with changed settings if given. */
export async function judgedExample(
  habits: Habits = good,
  judgedBy: readonly Rule[] = rules,
  others: Partial<Settings> = {},
): Promise<Verdict[]> {
  const port = await freePort();
  const settings: Settings = { ...exampleSettings, ...others, url: `http://127.0.0.1:${port}` };
  const stage = await openStage(settings);
  const service = await startExample(
    {
      port,
      addonId: settings.addonId,
      addonPassword: settings.addonPassword,
      clientSecret: settings.clientSecret!,
      ssoSalt: settings.ssoSalt,
      platformApiUrl: stage.platformUrl,
      platformAuthUrl: stage.platformUrl,
    },
    habits,
  );
  try {
    return await judge(stage, judgedBy);
  } finally {
    await stage.close();
    await service.close();
  }
}

/** A failure of the checker counts as a fault too. */
export const isFault = (status: Verdict["status"]) => status === "failed" || status === "checker_failed";

/** The verdicts on a service with these faults. */
export async function judgedBroken(service: BrokenService): Promise<Verdict[]> {
  const habits = service.reduce<Habits>((so, each) => ({ ...so, ...each.habits(so) }), good);
  const named = service.map(({ rule }) => rule);
  const isAlone = service.some(({ alone }) => alone);
  const patience = service.reduce((so, each) => ({ ...so, ...each.patience }), exampleSettings.patience);
  return judgedExample(
    habits,
    rules.filter(({ id }) => !isAlone || named.includes(id)),
    { patience },
  );
}

/** The ids of the rules that are broken, each with the reason. */
export const faultsIn = (verdicts: readonly Verdict[]): Map<string, string | null> =>
  new Map(verdicts.filter(({ status }) => isFault(status)).map(({ rule, reason }) => [rule.id, reason]));

/** Skipped rules that name a rule which was judged and is not broken, with what they say. */
export function falselyBlamed(verdicts: readonly Verdict[]): unknown[] {
  const isWhole = (id?: string | null) =>
    verdicts.some(({ rule, status }) => rule.id === id && !isFault(status));
  const skipped = verdicts.filter(({ status, broken }) => status === "skipped" && isWhole(broken));
  return skipped.map(({ rule, reason }) => [rule.id, reason]);
}

/** Works through all items, `count` at a time. */
export async function atATime<Item, Result>(
  count: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Map<Item, Result>> {
  const results = new Map<Item, Result>();
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift())
      results.set(item, await work(item));
  };
  await Promise.all(Array.from({ length: count }, lane));
  return results;
}
