// The examples in other languages, where this machine has the language.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { conformance } from "./command.ts";

const at = (place: string) => fileURLToPath(new URL(`../examples/${place}`, import.meta.url));
const has = (...words: [string, ...string[]]) => spawnSync(words[0], words.slice(1)).status === 0;

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));

const plans = ["basic", "premium", "slow"].map((name) => ({ name }));
const MANIFEST = { id: "example", plans, config_vars: ["EXAMPLE_URL", "EXAMPLE_KEY"] };
const GIVEN = ["--async-plan", "slow", "--sso-salt", "a-salt-of-these-tests", "--id", "example"];

const withFlask = ["python3", "/usr/bin/python3"].find((each) =>
  has(each, "-c", "import flask, requests, waitress"),
);

const examples = [
  {
    language: "Python with Flask",
    isHere: withFlask !== undefined,
    start: () => `${withFlask} ${at("flask/partner.py")}`,
  },
  {
    language: "Python",
    isHere: has("python3", "--version"),
    start: () => `python3 ${at("python/partner.py")}`,
  },
  {
    language: "Go",
    isHere: has("go", "version"),
    start() {
      const program = path.join(folder, "partner-go");
      const env = { ...process.env, GOCACHE: path.join(folder, "go"), GO111MODULE: "off" };
      spawnSync("go", ["build", "-o", program, at("go/partner.go")], { env, stdio: "inherit" });
      return program;
    },
  },
];

for (const { language, isHere, start } of examples)
  (isHere ? it : it.skip)(
    `finds no fault in the example in ${language}`,
    async () => {
      const command = `DATABASE=${path.join(folder, `${language.replaceAll(" ", "-")}.db`)} exec ${start()}`;
      const words = ["--command", command, "--manifest", JSON.stringify(MANIFEST), ...GIVEN, "--json"];
      const { code, stdout } = await conformance(folder, "--grace", "1", ...words);
      const { rules } = JSON.parse(stdout) as { rules: { id: string; outcome: string; reason: string }[] };
      expect(rules.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
      expect(code).toBe(0);
    },
    600_000,
  );
