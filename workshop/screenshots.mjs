// `npm run screenshots`: takes the pictures of docs/images anew, or with SCREENSHOTS=some/folder every page into it.
import "../dev/packages.mjs";
import { spawnSync } from "node:child_process";
import process from "node:process";

const jest = ["--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js"];
const { status } = spawnSync(process.execPath, [...jest, "test/browser/gallery.test.ts"], {
  env: { ...process.env, SCREENSHOTS: process.env.SCREENSHOTS || "1" },
  stdio: "inherit",
});
process.exitCode = status ?? 1;
