import { readdirSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const isKits = readFileSync(new URL("README.md", root), "utf8").startsWith("# Add-on partner starter kit\n");

/**
 * The pages that the tests compare with the code: those of the kit. A fork's README is its own, and so are pages in a
 * sub-folder of docs/.
 */
export const kitPages: string[] = [
  ...(isKits ? ["README.md"] : []),
  "AGENTS.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync(new URL("docs/", root))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
  ...readdirSync(new URL("packages/", root), { recursive: true, encoding: "utf8" })
    .filter((name) => /^\w+\/\w+\.md$/.test(name))
    .map((name) => `packages/${name}`),
];
