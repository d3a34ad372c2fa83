import { runConformance } from "./run.ts";

// The command of the packed archive.

// Writing to a terminal that was closed fails, but what was installed must still be deprovisioned.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
// Rules that were interrupted keep waiting for events, so the process must be ended.
process.exit(await runConformance(process.argv.slice(2), process.env));
