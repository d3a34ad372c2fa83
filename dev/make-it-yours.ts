import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import type { Offer } from "../src/offer.ts";
import { addonId, offer } from "../src/your-service/plans.ts";

// `npm run make-it-yours`: puts the names of your add-on in the place of the sample's, in the repository of the working
// folder. The names that it replaces are those in `src/your-service/plans.ts`, so it can be run again.

const USAGE = `How it is used: npm run make-it-yours [-- --id ID --prefix PREFIX --plan PLAN…]
--id ID          the add-on's id, as registered with the platform: lower-case letters, digits and hyphens
--prefix PREFIX  what the names of its config vars begin with: PREFIX_URL and PREFIX_TOKEN
--plan PLAN      NAME, or NAME=SENTENCE with the sentence (and price) that customers read, or NAME:later=SENTENCE, the
                 same for a plan that takes minutes to provision; one --plan for each, from the smallest to the largest
On a terminal it asks for what is not given.`;

interface Names {
  id: string;
  prefix: string;
  plans: readonly string[];
}

/** In `file`, `find` becomes `put`. */
interface Edit {
  file: string;
  find: RegExp | string;
  put: string;
}

const ID = /^[a-z][a-z0-9-]{0,28}[a-z0-9]$/;
const PREFIX = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/;
const PLAN = /^(?<name>[a-z][\w-]*)(?<later>:later)?(?:=(?<sentence>.*\S.*))?$/i;
const SAMPLE_ID: string = "teapots";
const SAMPLE_TESTS_OF_DOCS = "test/your-service/docs.test.ts";

const faultOf = {
  id: (id: string) =>
    ID.test(id) && id !== SAMPLE_ID
      ? []
      : [
          `The id "${id}" must be 2 to 30 lower-case letters, digits and hyphens, begin with a letter, and not be the sample's.`,
        ],
  prefix: (prefix: string) =>
    PREFIX.test(prefix)
      ? []
      : [
          `The prefix "${prefix}" must be upper-case letters, digits and underscores, and begin with a letter.`,
        ],
  plans: (plans: readonly string[]) => {
    const names = plans.map((plan) => PLAN.exec(plan)?.groups!["name"]);
    const twice = new Set(names.filter((name, index) => name && names.indexOf(name) < index));
    return [
      ...(plans.length === 0 ? ["There must be a plan."] : []),
      ...plans
        .filter((plan) => !PLAN.test(plan))
        .map((plan) => `The plan "${plan}" must be NAME, NAME=SENTENCE or NAME:later=SENTENCE.`),
      ...[...twice].map((name) => `The plan "${name}" is there twice.`),
    ];
  },
};

const isSample = addonId === SAMPLE_ID;
const prefix = offer.configVars[0]?.replace(/_URL$/, "");
if (offer.configVars.join() !== `${prefix}_URL,${prefix}_TOKEN`)
  refuse(
    "The config vars in src/your-service/plans.ts are not the sample's any more: change names there by hand.",
  );
const given = flags();
if (git("status", "--porcelain") !== "")
  refuse(
    "The working tree has changes: commit them first, so that what this changes can be seen and undone.",
  );
const wanted = await wantedNames();
apply(await edited(edits(wanted, { id: addonId, prefix: prefix! })));

/** What was given as flags, and on a terminal what is asked for. Ends the process if a name is invalid or missing. */
async function wantedNames(): Promise<Names> {
  const { id, prefix, plan: plans } = given;
  const faults = [
    ...(id === undefined ? [] : faultOf.id(id)),
    ...(prefix === undefined ? [] : faultOf.prefix(prefix)),
    ...(plans === undefined ? [] : faultOf.plans(plans)),
  ];
  if (faults.length > 0) refuse(faults.join("\n"));
  if (id !== undefined && prefix !== undefined && plans !== undefined) return { id, prefix, plans };
  if (!process.stdin.isTTY) refuse(USAGE);
  return ask();
}

function flags() {
  const text = { type: "string" } as const;
  const options = {
    id: text,
    prefix: text,
    plan: { ...text, multiple: true },
    help: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({ options });
    if (!values.help) return values;
  } catch (error) {
    refuse(`${(error as Error).message}\n\n${USAGE}`);
  }
  console.log(USAGE);
  process.exit(0);
}

async function ask(): Promise<Names> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  terminal.once("close", () => process.exit(130));
  const valid = async (question: string, faults: (answer: string) => string[], usual = "") => {
    for (;;) {
      const answer = (await terminal.question(question)).trim() || usual;
      const found = faults(answer);
      if (found.length === 0) return answer;
      console.log(found.join("\n"));
    }
  };
  const id = given.id ?? (await valid("The add-on's id: ", faultOf.id));
  const usual = id.toUpperCase().replaceAll("-", "_");
  const prefix =
    given.prefix ?? (await valid(`What its config vars begin with [${usual}]: `, faultOf.prefix, usual));
  let plans = given.plan ?? [];
  if (given.plan === undefined) {
    console.log(
      "The plans, from the smallest: NAME=SENTENCE with the price, or NAME:later=SENTENCE for one that takes minutes.",
    );
    for (;;) {
      const isEnd = (answer: string) => answer === "" && plans.length > 0;
      const answer = await valid("A plan (empty: no more): ", (plan) =>
        isEnd(plan) ? [] : faultOf.plans([...plans, plan]),
      );
      if (answer === "") break;
      plans = [...plans, answer];
    }
  }
  terminal.removeAllListeners("close");
  terminal.close();
  return { id, prefix, plans };
}

function edits({ id, prefix, plans }: Names, old: { id: string; prefix: string }): Edit[] {
  const readme = (name: string) =>
    `# ${name}\n\nSells ${name} as an add-on. It is made with the add-on partner starter kit, which this page describes.\n`;
  const description = (name: string) => `"description": "Sells ${name} as an add-on."`;
  /** The kit's own words, or what this put in their place. */
  const head = (kits: RegExp, ours: (name: string) => string) => ({
    find: isSample ? kits : ours(old.id),
    put: ours(id),
  });
  const named = [
    "src/your-service/plans.ts",
    "src/your-service/index.ts",
    "test/your-service/service.test.ts",
    "README.md",
  ];
  return [
    { file: "package.json", find: /(?<=^ {2}"name": ").+(?=")/m, put: id },
    { file: "package-lock.json", find: /(?<=^ {2}"name": ").+(?=")/m, put: id },
    { file: "package-lock.json", find: /(?<="": \{\n {6}"name": ").+(?=")/, put: id },
    { file: "Dockerfile", find: /(?<=image\.title=").+(?=")/, put: id },
    { file: "app.json", find: /(?<=^ {2}"name": ").+(?=")/m, put: id },
    { file: "app.json", ...head(/"description": ".+"/, description) },
    {
      file: "app.json",
      find: /(?<="ADDON_ID": \{\n {6}"description": ".+")(,\n {6}"value": ".+")?/,
      put: `,\n      "value": "${id}"`,
    },
    { file: ".env.example", find: /^ADDON_ID=.* (?=# )/m, put: `ADDON_ID=${id}`.padEnd(45) },
    { file: "ops/sandbox.env", find: /(?<=^ADDON_ID=).+/m, put: id },
    { file: "README.md", ...head(/^# .+\n\n(?:.+\n)+/, readme) },
    { file: "src/your-service/plans.ts", find: /(?<=^export const addonId = ").+(?=")/m, put: id },
    {
      file: "src/your-service/plans.ts",
      find: /(?<=^export const offer = defineOffer\(\{\n)[^]*?^ {2}ephemeralPlan: .+\n/m,
      put: plansInCode(plans),
    },
    ...named.map((file) => ({ file, find: new RegExp(`\\b${old.prefix}(?=_)`, "g"), put: prefix })),
  ];
}

/** The members of `offer` about plans. A sentence that you wrote earlier is kept where none is given. */
function plansInCode(plans: readonly string[]): string {
  const { plans: plansBefore }: Offer = offer;
  const wishes = plans.map(
    (plan) => PLAN.exec(plan)!.groups as Record<"name" | "later" | "sentence", string>,
  );
  const inCode = wishes.map(({ name, later, sentence }) => {
    const before = isSample ? undefined : plansBefore[name];
    const plan = {
      description: sentence?.trim() ?? before?.description ?? `The plan ${name}`,
      ...(later && { later: before?.later ?? "It is being made. Its config vars appear in a few minutes." }),
    };
    return `${JSON.stringify(name)}: ${JSON.stringify(plan)},\n`;
  });
  const first = JSON.stringify((wishes.find(({ later }) => !later) ?? wishes[0]!).name);
  return `  plans: {\n${inCode.join("")}},\n  defaultPlan: ${first},\n  ephemeralPlan: ${first},\n`;
}

/**
 * The new texts of the files that change. What is not there any more, because you rewrote or removed it, is named and
 * left alone; but without the sample's names in `src/your-service` this process ends with 1.
 */
async function edited(all: readonly Edit[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const { file, find, put } of all) {
    const text = texts.get(file) ?? (existsSync(file) ? readFileSync(file, "utf8") : "");
    let isThere = false;
    const changed = text.replace(find, () => {
      isThere = true;
      return put;
    });
    if (isThere) texts.set(file, changed);
    else {
      console.error(`${file} has nothing like ${find}: it is left as it is.`);
      if (file.startsWith("src/your-service/")) process.exit(1);
    }
  }
  for (const [file, text] of texts) {
    const pretty = /\.(ts|md)$/.test(file)
      ? await format(text, { ...(await resolveConfig(file)), filepath: file })
      : text;
    if (pretty === readFileSync(file, "utf8")) texts.delete(file);
    else texts.set(file, pretty);
  }
  return texts;
}

function apply(texts: Map<string, string>): void {
  for (const [file, text] of texts) writeFileSync(file, text);
  // What the documentation says of the sample is true of the sample alone.
  if (isSample) rmSync(SAMPLE_TESTS_OF_DOCS, { force: true });
  if (texts.size === 0) return console.log("Nothing to change.");
  console.log(git("diff", "--stat"));
  console.log(`To see it whole: git diff. To undo it: git restore .
To begin anew in development: rm -rf .data
Then fill in src/your-service/: the four functions in index.ts, and the sentences in plans.ts. Check it: npm run check`);
}

function git(...words: string[]): string {
  try {
    return execFileSync("git", words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return refuse("This needs git and a repository: it shows what it changed as a diff.");
  }
}

function refuse(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}
