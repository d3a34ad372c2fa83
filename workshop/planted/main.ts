import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { freePort } from "../../packages/conformance/free-port.ts";
import { judge } from "../../packages/conformance/judge.ts";
import type { Verdict } from "../../packages/conformance/rule.ts";
import { rules } from "../../packages/conformance/rules/index.ts";
import { startService } from "../../packages/conformance/service-process.ts";
import { type Settings, usualPatience } from "../../packages/conformance/settings.ts";
import { openStage } from "../../packages/conformance/stage/stage.ts";
import { faults, type Planted } from "./faults.ts";
import { plant } from "./plant.ts";

// `npm run planted [RULE …]`: plants one fault at a time in a copy of the Python example, and says which rules break. Each
// fault must break the one rule that it names. Exit 1 if one does not.

const AT_A_TIME = 4;
const PATIENCE = {
  eventMs: 6_000,
  quietMs: 1_000,
  slowMs: 3_000,
  // Half of it is how late a service may be on a machine that is busy with the others.
  tokenLifeSeconds: 8,
  graceMs: 0,
  betweenMs: 0,
};
const plans = ["basic", "premium", "slow"].map((name) => ({ name }));
const SETTINGS: Omit<Settings, "url"> = {
  ...{ resourcesPath: "/resources", ssoPath: "/sso/login", region: "us" },
  ...{ addonId: "example", addonPassword: "the-password-of-tests", clientSecret: "a-secret&of+tests%=" },
  ...{ ssoSalt: "the-salt-of-tests", plan: "basic", otherPlan: "premium", asyncPlan: "slow" },
  manifest: { id: "example", plans, config_vars: ["EXAMPLE_URL", "EXAMPLE_KEY"] },
  patience: { ...usualPatience, ...PATIENCE },
  ...{ platformPort: 0, platformHost: "127.0.0.1", platformUrl: null },
};

const chosen = process.argv.slice(2);
const queue = faults.filter(({ rule }) => chosen.length === 0 || chosen.some((id) => rule.startsWith(id)));
const folder = await mkdtemp(path.join(tmpdir(), "planted-"));
const wrong: Planted[] = [];
try {
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
} finally {
  await rm(folder, { recursive: true });
}
console.log(
  wrong.length === 0
    ? "Each fault breaks its rule alone."
    : `${wrong.length} faults do not break their rule alone.`,
);
process.exit(wrong.length === 0 ? 0 : 1);

async function lane(): Promise<void> {
  for (let fault = queue.shift(); fault; fault = queue.shift()) {
    const verdicts = await judged(fault);
    const broken = verdicts.filter(({ status }) => status === "failed" || status === "checker_failed");
    const isAlone = broken.length === 1 && broken[0]!.rule.id === fault.rule;
    if (!isAlone) wrong.push(fault);
    console.log(`${isAlone ? "✓" : "✗"} ${fault.rule.padEnd(9)} ${fault.what}`);
    if (!isAlone)
      for (const { rule, reason } of broken) console.log(`    ${rule.id} ${rule.severity}: ${reason}`);
  }
}

async function judged(fault: Planted): Promise<Verdict[]> {
  const file = path.join(folder, `${faults.indexOf(fault)}.py`);
  await writeFile(file, plant(fault));
  const settings = { ...SETTINGS, url: `http://127.0.0.1:${await freePort()}` };
  const stage = await openStage(settings);
  const service = await startService(
    `exec python3 ${file}`,
    settings,
    stage.platformUrl,
    new AbortController().signal,
  );
  try {
    return await judge(stage, rules);
  } finally {
    await stage.close();
    await service.stop();
  }
}
