import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import { build } from "../version.ts";

/** Metrics of the process that answers the scrape: memory, event loop, garbage collection, connections, its build. */
export function ownProcess(db: Pick<Database, "connections">): Registry {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "addon_database_connections",
    help: "Connections of this process to the database",
    labelNames: ["state"],
    registers,
    collect() {
      const { inUse, idle } = db.connections();
      this.set({ state: "in_use" }, inUse);
      this.set({ state: "idle" }, idle);
    },
  });
  new Gauge({
    name: "addon_database_waiting",
    help: "Statements of this process that wait for a connection",
    registers,
    collect() {
      this.set(db.connections().waiting);
    },
  });
  new Gauge({
    name: "addon_build_info",
    help: "Always 1; the labels say which build this process runs, on which Node",
    labelNames: Object.keys(build),
    registers,
  }).set(build, 1);
  return registry;
}
