import { readFileSync } from "node:fs";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aVendor } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";
import { PASSWORD } from "./operator.ts";
import { aPrometheus, hasPrometheus, type Prometheus } from "./prometheus.ts";

// Grafana's dashboard, asked of a real Prometheus that scrapes a service which has done each kind of work and failed a bit.

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { type: string; uid: string };
  targets?: { refId: string; expr: string; legendFormat: string }[];
}
interface Dashboard {
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; type: string }[] };
}
const dashboard = JSON.parse(readFileSync("ops/dashboard.json", "utf8")) as Dashboard;
const { panels } = dashboard;

describe("the dashboard", () => {
  it("has panels of Grafana's own kinds, each with an id, a data source that is asked for, and a place of its own", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: "datasource", type: "datasource" }),
    );
    const taken = new Set<string>();
    for (const { type, title, gridPos, datasource, targets = [] } of panels) {
      expect(["row", "stat", "timeseries", "alertlist"]).toContain(type);
      expect(title).not.toBe("");
      if (type !== "row") expect(datasource).toEqual({ type: "prometheus", uid: "${datasource}" });
      if (!["row", "alertlist"].includes(type)) expect(targets).not.toEqual([]);
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, taken.has(`${x},${y}`)]).toEqual([title, false]);
          taken.add(`${x},${y}`);
        }
    }
  });
});

(hasPrometheus ? describe : describe.skip)("each of its queries", () => {
  let prometheus: Prometheus;
  let isOver = false;
  let working: Promise<void>;
  // Before the world is closed, in the order in which they stand here.
  afterAll(async () => {
    isOver = true;
    await working;
    await prometheus.close();
  });

  const vendor = aVendor();
  const life = opened(() =>
    aLifecycle({
      environment: { OPERATOR_PASSWORD: PASSWORD, METRICS_PASSWORD: PASSWORD, PROCESSES_EXPECTED: "1" },
      parts: {
        vendor: { ...vendor, jobs: [{ name: "meter", at: "0 3 * * *", run: async () => undefined }] },
      },
    }),
  );
  beforeAll(async () => {
    const { platform, control, world } = life;
    prometheus = await aPrometheus(world.service.url!, 1);
    const round = async () => {
      const { oauth_grant: _, ...withoutGrant } = aProvisionRequest();
      await platform.provision(withoutGrant);
      const wrong = basic(world.sandbox.settings.addonId, "not the password");
      await platform.provision(aProvisionRequest(), { headers: { authorization: wrong } });
      vendor.next("provision", () => Promise.reject(new Error("The kiln is cold.")));
      await control.install({ plan: "basic" });
      const { addon } = await control.install({ plan: "basic" });
      await control.changePlan(addon.id, "premium");
      await world.forged.tokensFellDue(addon.id);
      await control.deprovision((await control.install({ plan: "basic" })).addon.id);
    };
    // A rate needs two scrapes of the same series.
    working = (async () => {
      while (!isOver) await round();
    })();
  });
  const queries = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr }) => [`${title} ${refId}`, expr] as const),
  );
  it.each(queries)("%s returns numbers", async (_, expr) => {
    const query = expr.replaceAll("$__rate_interval", "30s").replaceAll("[10m]", "[30s]");
    await eventually(async () => {
      const { status, data, error } = await prometheus.query(query);
      expect([status, error]).toEqual(["success", undefined]);
      expect(data!.result).not.toEqual([]);
    });
  });
});
