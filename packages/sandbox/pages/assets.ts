import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Router } from "express";

export const ASSETS = "/sandbox/assets";

/** The archive brings the one file of Pico that is served; the package has 20 MB of others. */
const packed = ours("pico.css");

const files = {
  "pico.css": existsSync(packed)
    ? packed
    : createRequire(import.meta.url).resolve("@picocss/pico/css/pico.min.css"),
  "pages.css": ours("pages.css"),
  "market.css": ours("market.css"),
  "live.js": ours("live.js"),
};

function ours(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/**
 * Serves the styles of the sandbox's pages, and the script of the live pages; also where a folder above begins with a dot,
 * as those that `npx` installs into.
 */
export function pageAssets(): Router {
  const router = Router();
  for (const [name, file] of Object.entries(files)) {
    router.get(`${ASSETS}/${name}`, (_req, res) => res.sendFile(file, { maxAge: "1h", dotfiles: "allow" }));
  }
  return router;
}
