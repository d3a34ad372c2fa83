import { freePort } from "../../packages/conformance/free-port.ts";
import { judge } from "../../packages/conformance/judge.ts";
import { rules } from "../../packages/conformance/rules/index.ts";
import { openStage } from "../../packages/conformance/stage/stage.ts";
import { exampleSettings } from "../../packages/conformance/test/judged.ts";
import { addonManifest } from "../../src/offer.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aFreshDatabase, patient } from "../support/database.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { QUICK } from "../support/world.ts";

const toClose: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of toClose.reverse()) await close();
});

it("passes every rule that can be judged, must and should", async () => {
  const database = await aFreshDatabase();
  toClose.push(() => database.close());
  const port = await freePort();
  const patience = {
    ...{ eventMs: 30_000, quietMs: 1_000, slowMs: 2_000, answerMs: 20_000 },
    ...{ tokenLifeSeconds: 7, graceMs: 0, betweenMs: 20, promisedMs: 20_000 },
  };
  const stage = await openStage({
    ...exampleSettings,
    ...{ url: `http://127.0.0.1:${port}`, patience, ssoSalt: "a-salt-of-tests", asyncPlan: "dedicated" },
    manifest: addonManifest("example", teapotParts.offer),
  });
  const service = await runWeb(
    teapotConfig({
      PORT: String(port),
      DATABASE_URL: patient(database.settings.url),
      // Its tokens live for seconds: a sweep that is missed on a busy machine must be repeated soon.
      SWEEP_CRON: "* * * * * *",
      ADDON_ID: exampleSettings.addonId,
      ADDON_PASSWORD: exampleSettings.addonPassword,
      CLIENT_SECRET: exampleSettings.clientSecret!,
      ENCRYPTION_KEY: "a-key-of-tests-with-more-than-32-characters",
      SSO_SALT: "a-salt-of-tests",
      PLATFORM_API_URL: stage.platformUrl,
      PLATFORM_AUTH_URL: stage.platformUrl,
      PLATFORM_STATUS_URL: stage.platformUrl,
      ALLOW_INSECURE_PLATFORM: "on",
    }),
    { ...teapotParts, pace: QUICK, logTo: { write: () => undefined } },
  );
  toClose.push(
    () => service.stop(),
    // First: it hangs up on calls that it was to answer late, for which the service would wait.
    () => stage.close(),
  );
  await service.ready;
  const verdicts = await judge(stage, rules);
  const others = verdicts.filter(({ status, reason }) => status === "failed" || reason !== null);
  expect(others.map(({ rule, status, reason }) => [rule.id, status, reason])).toEqual([]);
}, 900_000);
