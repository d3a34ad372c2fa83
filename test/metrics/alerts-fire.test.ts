import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "@jest/globals";

// The rules as Prometheus evaluates them. promtool is no npm package: without it these tests are skipped.

const RULES = path.resolve("ops/alerts.yml");
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

/** Series in promtool's notation, a sample a minute for an hour: `1x60` is constant, `0+2x60` grows. */
type Series = Record<string, string>;

const ages = (labels: string, counts: [le: string, count: string][]): Series =>
  Object.fromEntries(
    counts.map(([le, count]) => [`addon_token_age_seconds_bucket{${labels}le="${le}"}`, count]),
  );

/** Provisions a minute: those answered within 25 ms, and those that took between three and ten seconds. */
const answers = (rows: { status: string; quick: number; slow: number }[]): Series =>
  Object.fromEntries(
    rows.flatMap(({ status, quick, slow }) =>
      [
        ["0.025", quick],
        ["3", quick],
        ["10", quick + slow],
        ["+Inf", quick + slow],
      ].map(([le, perMinute]) => [
        `addon_http_request_duration_seconds_bucket{method="POST",route="/resources",status="${status}",le="${le}"}`,
        `0+${perMinute}x60`,
      ]),
    ),
  );

const UP: Series = { addon_database_up: "1x60" };

/** What must fire within the hour, and what must not. */
const cases: Record<string, { fires: Series[]; stays: Series[] }> = {
  AddonAlarm: {
    fires: [{ 'addon_alarms_total{alarm="no_grant"}': "0x30 1x30" }],
    stays: [{ 'addon_alarms_total{alarm="no_grant"}': "7x60" }],
  },
  AddonDown: { fires: [{ other: "1x60" }, { addon_database_up: "1x30" }], stays: [UP] },
  AddonDatabaseAway: {
    fires: [
      { addon_database_up: "1x30 0x30" },
      { 'addon_database_up{instance="a"}': "1x60", 'addon_database_up{instance="b"}': "1x30 0x30" },
      // One of three processes behind a router.
      { addon_database_up: `1x30 ${"0 1 1 ".repeat(10)}` },
    ],
    // A failover is short, and one failed scrape is no outage.
    stays: [UP, { addon_database_up: "1x30 0 1x30" }],
  },
  AddonClientSecretRejected: {
    fires: [{ addon_client_secret_rejected: "0x30 1x30" }],
    stays: [{ addon_client_secret_rejected: "0x60" }],
  },
  AddonGrantsWait: {
    fires: [{ addon_grant_age_seconds: "0x30 100x30" }],
    stays: [{ addon_grant_age_seconds: "80x60" }],
  },
  AddonSweepsLate: {
    fires: [{ 'addon_sweep_age_seconds{sweep="run-steps"}': "5x30 5+60x30" }],
    stays: [
      {
        'addon_sweep_age_seconds{sweep="run-steps"}': "20x60",
        'addon_sweep_age_seconds{sweep="other"}': "9999x60",
      },
    ],
  },
  AddonRefreshesWait: {
    fires: [{ 'addon_due_age_seconds{queue="refreshes"}': "0+60x60" }],
    stays: [{ 'addon_due_age_seconds{queue="refreshes"}': "900x60" }],
  },
  AddonTokensOld: {
    fires: [
      ages("", [
        ["25200", "90x60"],
        ["28800", "100x60"],
        ["+Inf", "100x60"],
      ]),
    ],
    stays: [
      ages("", [
        ["14400", "995x60"],
        ["28800", "1000x60"],
        ["+Inf", "1000x60"],
      ]),
    ],
  },
  AddonStepsWait: {
    fires: [{ 'addon_due_age_seconds{queue="steps"}': "0+60x60" }],
    stays: [{ 'addon_due_age_seconds{queue="steps"}': "600x60" }],
  },
  AddonNeedsAttention: {
    fires: [{ 'addon_credentials_needing_attention{state="grant_lost",reason="expired"}': "0x30 1x30" }],
    stays: [{}],
  },
  AddonProvisionsFail: {
    fires: [{ 'addon_provisions_total{result="failed"}': "0x30 1x30" }],
    stays: [
      {
        'addon_provisions_total{result="failed"}': "3x60",
        'addon_provisions_total{result="accepted"}': "0+5x60",
      },
    ],
  },
  AddonAnswersSlow: {
    fires: [
      answers([{ status: "202", quick: 10, slow: 40 }]),
      answers([
        { status: "200", quick: 60, slow: 0 },
        { status: "202", quick: 0, slow: 40 },
      ]),
    ],
    stays: [
      answers([
        { status: "200", quick: 100, slow: 0 },
        { status: "202", quick: 100, slow: 1 },
      ]),
    ],
  },
  AddonPlatformFails: {
    fires: [{ addon_refresh_breaker_openings_total: "0x20 0+4x40" }],
    stays: [{ addon_refresh_breaker_openings_total: "0x20 1x40" }],
  },
  AddonLeasesStolen: {
    fires: [{ addon_lease_steals_total: "0x30 0+2x30" }],
    stays: [{ addon_lease_steals_total: "0x30 5x30" }],
  },
  AddonEventLoopBlocked: {
    fires: [{ nodejs_eventloop_lag_p99_seconds: "0x30 0.8x30" }],
    stays: [{ nodejs_eventloop_lag_p99_seconds: "0.05x60" }],
  },
};

/** Whether promtool reports that the alert fired at any minute of the hour. */
function promtool(alert: string, series: Series, fires: boolean): string {
  const folder = mkdtempSync(path.join(tmpdir(), "addon-alerts-"));
  try {
    const input = Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const told = `count_over_time((sum(ALERTS{alertname="${alert}",alertstate="firing"}))[1h:1m]) > bool 0`;
    const samples = fires ? [{ labels: "{}", value: 1 }] : [];
    const test = {
      rule_files: [RULES],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: input,
          promql_expr_test: [{ expr: told, eval_time: "59m", exp_samples: samples }],
        },
      ],
    };
    // JSON is YAML.
    writeFileSync(path.join(folder, "test.yml"), JSON.stringify(test));
    const run = spawnSync("promtool", ["test", "rules", "test.yml"], { cwd: folder, encoding: "utf8" });
    return run.status === 0 ? "as expected" : run.stdout + run.stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("alert rules, evaluated by Prometheus", () => {
  it("each have a case in this test", () => {
    const named = [...readFileSync(RULES, "utf8").matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
    expect(Object.keys(cases).sort()).toEqual(named.sort());
  });

  (hasPromtool ? describe : describe.skip).each(Object.entries(cases))("%s", (alert, { fires, stays }) => {
    it.each(fires)("fires at %j", (series) => expect(promtool(alert, series, true)).toBe("as expected"));
    it.each(stays)("is quiet at %j", (series) => expect(promtool(alert, series, false)).toBe("as expected"));
  });
});
