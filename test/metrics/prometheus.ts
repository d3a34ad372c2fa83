import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "../support/world.ts";
import { PASSWORD } from "./operator.ts";

/** Debian's package `prometheus` is no npm package: tests that need it are skipped where it is missing. */
export const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;

interface Alert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: "pending" | "firing";
}

export type Prometheus = Awaited<ReturnType<typeof aPrometheus>>;

/**
 * Prometheus with the configuration and the alerts of `ops/`, in a hurry: a minute lasts `minuteSeconds` in each
 * duration of an expression and in each threshold of an age, and that is also how often it scrapes.
 */
export async function aPrometheus(target: string, minuteSeconds: number) {
  const folder = mkdtempSync(path.join(tmpdir(), "addon-prometheus-"));
  const at = (name: string) => path.join(folder, name);
  const hurry = (rules: string) =>
    rules
      .replace(/(?<=for: |\[)(\d+)m/g, (_, minutes) => `${Number(minutes) * minuteSeconds}s`)
      .replace(/(?<=_(?:age|oldest)_seconds(?:\{.*\})?\) > )\d+/g, (seconds) =>
        String((Number(seconds) * minuteSeconds) / 60),
      );
  writeFileSync(at("password"), `${PASSWORD}\n`);
  writeFileSync(at("alerts.yml"), hurry(readFileSync("ops/alerts.yml", "utf8")));
  const configuration = readFileSync("ops/prometheus.yml", "utf8")
    .replace("web:3000", new URL(target).host)
    .replace("/run/secrets/metrics_password", at("password"))
    .replaceAll("15s", `${minuteSeconds}s`);
  writeFileSync(at("prometheus.yml"), configuration);

  const child = spawn("prometheus", [
    `--config.file=${at("prometheus.yml")}`,
    `--storage.tsdb.path=${at("data")}`,
    "--web.listen-address=127.0.0.1:0",
  ]);
  const ended = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output += data.toString()));
  const url = await eventually(() => {
    if (child.exitCode !== null) throw new Error(output);
    return output.includes("ready to receive") && /"Listening on" address=(\S+)/.exec(output)?.[1];
  });

  const fired = new Map<string, Alert>();
  async function alerts(): Promise<Alert[]> {
    const answer = await fetch(`http://${url}/api/v1/alerts`);
    const { data } = (await answer.json()) as { data: { alerts: Alert[] } };
    for (const alert of data.alerts)
      if (alert.state === "firing") fired.set(alert.labels["alertname"]!, alert);
    return data.alerts;
  }
  // What a counter has counted before its first scrape is no increase.
  await eventually(async () => {
    const answer = await fetch(`http://${url}/api/v1/query?query=addon_alarms_total`);
    expect(await answer.text()).toContain("crash");
  });
  const watch = setInterval(() => void alerts().catch(() => undefined), 250);

  return {
    /** The alerts that fired since this was cleared, also those that ended. */
    fired,
    /** The names of the alerts that are pending or firing now. */
    active: async () => (await alerts()).map(({ labels }) => labels["alertname"]!),
    firing: async () =>
      (await alerts()).flatMap(({ labels, state }) => (state === "firing" ? [labels["alertname"]!] : [])),
    /** What an expression selects now. */
    async query(expression: string) {
      const answer = await fetch(`http://${url}/api/v1/query?${new URLSearchParams({ query: expression })}`);
      return (await answer.json()) as { status: string; error?: string; data?: { result: unknown[] } };
    },
    async close() {
      clearInterval(watch);
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * Tests that each of these alerts fires after `cause`, links to its runbook, and ends after `repair`. Those of several
 * calls run one after the other.
 */
export function theyRing(
  why: string,
  alerts: string[],
  prometheus: () => Prometheus,
  { cause, repair }: { cause(): Promise<unknown>; repair(): Promise<unknown> },
): void {
  describe(why, () => {
    beforeAll(async () => {
      await eventually(async () => expect(await prometheus().active()).toEqual([]), 120_000);
      prometheus().fired.clear();
      await cause();
    });

    it.each(alerts)("%s fires", async (name) => {
      const { annotations } = await eventually(() => prometheus().fired.get(name) ?? null, 120_000);
      expect(annotations["runbook_url"]).toMatch(/^https:\/\/git\.example\.com\/.*operate\.md#/);
      for (const text of Object.values(annotations)) expect(text).not.toMatch(/\{\{|<error|NaN/);
    });

    describe("until that is repaired", () => {
      beforeAll(repair);

      it.each(alerts)("%s ends", (name) =>
        eventually(async () => expect(await prometheus().active()).not.toContain(name), 120_000),
      );
    });
  });
}
