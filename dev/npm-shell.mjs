// npm runs a script in a shell. Debian's stays in between, and ends at a signal without passing it on: then npm is gone,
// too, and this program stops as if it had got SIGTERM. Where the shell gives its process to the program, npm's own signals
// arrive, and a second one stops nothing early.
import process from "node:process";
import { setInterval } from "node:timers";

const LOOKS_EVERY_MS = 100;
const shell = process.ppid;
if (process.env.npm_lifecycle_event && process.platform !== "win32") {
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    timer.close();
    process.kill(process.pid, "SIGTERM");
  }, LOOKS_EVERY_MS).unref();
}
