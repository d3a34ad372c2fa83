import { setTimeout as sleep } from "node:timers/promises";
import { exitWith } from "../src/process/run-process.ts";

// The service of `npm run dev`: the web program of production, which stops when the process that started it has ended,
// however that ended.

const STOPS_WITHIN_MS = 5_000;

process.once("disconnect", () => {
  process.kill(process.pid, "SIGTERM");
  void sleep(STOPS_WITHIN_MS, undefined, { ref: false }).then(() => process.exit(1));
});
try {
  await import("../src/web.ts");
  const { offer } = await import("../src/your-service/plans.ts");
  process.send!(offer);
} catch (error) {
  exitWith(error);
}
