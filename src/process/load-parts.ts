/**
 * Loads the parts of a process one after the other. Node opens the files of one import all at once, and a process with
 * few file descriptors would end before it could say so.
 */
export async function loadParts(): Promise<void> {
  await import("../config.ts");
  await import("../logging/log.ts");
  await import("../metrics/metrics.ts");
  await import("../database/database.ts");
  await import("../vault/store.ts");
  await import("../platform/api.ts");
  await import("../credentials/pools.ts");
  await import("../resources/store.ts");
  await import("../work/runner.ts");
  await import("../extend/jobs.ts");
  await import("../processes/presence.ts");
  await import("../open-context.ts");
}
