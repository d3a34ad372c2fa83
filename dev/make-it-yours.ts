import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import type { Offer } from "../src/offer.ts";
import { addonId, offer } from "../src/your-service/plans.ts";
import { yourSettings } from "../src/your-service/settings.ts";
import { CHECK_ENV } from "./check-settings.ts";
import { idOf, serviceIn, settingsListed, takeOver } from "./example.ts";

// `npm run make-it-yours`: puts the names of your add-on in the place of the sample's, in the repository of the working
// folder, or another service in the place of the sample. The names that it replaces are those in
// `src/your-service/plans.ts`, so it can be run again.

const USAGE = `How it is used: npm run make-it-yours [-- --id ID --prefix PREFIX --plan PLAN… [--repo URL]]
            or: npm run make-it-yours -- --from examples/message-queue [--id ID] [--repo URL]
            or: npm run make-it-yours -- --settings
--id ID          the add-on's id, as registered with the platform: lower-case letters, digits and hyphens
--prefix PREFIX  what the names of its config vars begin with: PREFIX_URL and PREFIX_TOKEN
--plan PLAN      NAME, or NAME=SENTENCE with the sentence (and price) that customers read, or NAME:later=SENTENCE, the
                 same for a plan that takes minutes to provision; one --plan for each, from the smallest to the largest
--from FOLDER    begin with the service in FOLDER in the place of the sample: its settings enter .env.example, app.json,
                 compose.yaml and ops/sandbox.env by themselves
--settings       list the settings of src/your-service/settings.ts in those files
--repo URL       the address of your repository, for app.json and the README
--deploy-page URL  with --repo: the page of your platform that makes an app of a repository; the README gets a button
                 that leads there, with the repository as \`template\`
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
const given = flags();
if (git("status", "--porcelain") !== "")
  refuse(
    "The working tree has changes: commit them first, so that what this changes can be seen and undone.",
  );
if (given.settings || given.from !== undefined) {
  await withService(given.from);
  process.exit(0);
}
const prefix = offer.configVars[0]?.replace(/_URL$/, "");
if (offer.configVars.join() !== `${prefix}_URL,${prefix}_TOKEN`)
  refuse(
    "The config vars in src/your-service/plans.ts are not the sample's any more: change names there by hand.",
  );
const wanted = await wantedNames();
apply(await edited([...edits(wanted, { id: addonId, prefix: prefix! }), ...editsOfRepository()]));

/** The service of a folder in the place of the present one, or with `null` the present one: its settings in all files. */
async function withService(from: string | undefined): Promise<void> {
  if (from !== undefined) {
    const service = serviceIn(from);
    if (service === null)
      refuse(`There is no service in ${from}: an index.ts, there or in ${from}/your-service.`);
    const id = given.id ?? idOf(service);
    if (id === undefined) refuse(`${service}/plans.ts has no addonId: name one with --id.`);
    if (given.prefix !== undefined || given.plan !== undefined)
      refuse("With --from, plans and config vars are those of the service: change them in its plans.ts.");
    const faults = faultOf.id(id);
    if (faults.length > 0) refuse(faults.join("\n"));
    takeOver(service);
    const all = [...editsOfId(id, addonId), ...editsOfRepository()];
    await write(await edited(all));
  }
  await write(await settingsListed(yourSettings));
  console.log(git("diff", "--stat"));
  const values =
    from === undefined || !existsSync(CHECK_ENV)
      ? ""
      : `
Its settings have values that are made up in ${CHECK_ENV} and ops/sandbox.env. For npm run dev, write them into .env.`;
  console.log(`To see it whole: git diff. To undo it: git restore . && git clean -fd src test${values}
To begin anew in development: rm -rf .data
Check it: npm run check`);
}

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

/** Ends the process if the address of the repository is none. */
function checked<Given extends { repo?: string | undefined; "deploy-page"?: string | undefined }>(
  values: Given,
): Given {
  const { repo, "deploy-page": deployPage } = values;
  const isAddress = (text: string) => URL.canParse(text) && /^https:\/\/[^\s"<>()]+$/.test(text);
  if (repo !== undefined && !isAddress(repo))
    refuse(`The repository "${repo}" must be an https address, such as https://git.example/you/your-add-on.`);
  if (deployPage !== undefined && (repo === undefined || !isAddress(deployPage)))
    refuse(
      `The page "${deployPage}" must be an https address, such as https://dashboard.example/new, beside --repo.`,
    );
  return values;
}

function flags() {
  const text = { type: "string" } as const;
  const options = {
    id: text,
    prefix: text,
    plan: { ...text, multiple: true },
    from: text,
    repo: text,
    "deploy-page": text,
    settings: { type: "boolean" },
    help: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({ options });
    if (!values.help) return checked(values);
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

/** The kit's own words, or what this put in their place. */
function head(kits: RegExp, ours: (name: string) => string, id: string, old: string) {
  return { find: isSample ? kits : ours(old), put: ours(id) };
}

/** The id and what follows from it, in all files but those of the service. */
function editsOfId(id: string, old: string): Edit[] {
  const readme = (name: string) =>
    `# ${name}\n\nSells ${name} as an add-on. It is made with the add-on partner starter kit, which this page describes.\n`;
  const description = (name: string) => `"description": "Sells ${name} as an add-on."`;
  return [
    { file: "package.json", find: /(?<=^ {2}"name": ").+(?=")/m, put: id },
    { file: "package-lock.json", find: /(?<=^ {2}"name": ").+(?=")/m, put: id },
    { file: "package-lock.json", find: /(?<="": \{\n {6}"name": ").+(?=")/, put: id },
    { file: "Dockerfile", find: /(?<=image\.title=").+(?=")/, put: id },
    { file: "app.json", find: /(?<=^ {2}"name": ").+(?=")/m, put: id },
    { file: "app.json", ...head(/"description": ".+"/, description, id, old) },
    {
      file: "app.json",
      find: /(?<="ADDON_ID": \{\n {6}"description": ".+")(,\n {6}"value": ".+")?/,
      put: `,\n      "value": "${id}"`,
    },
    { file: ".env.example", find: /^ADDON_ID=.* (?=# )/m, put: `ADDON_ID=${id}`.padEnd(45) },
    { file: "ops/sandbox.env", find: /(?<=^ADDON_ID=).+/m, put: id },
    { file: "README.md", ...head(/^# .+\n\n(?:.+\n)+/, readme, id, old) },
    { file: "src/your-service/plans.ts", find: /(?<=^export const addonId = ").+(?=")/m, put: id },
  ];
}

function edits({ id, prefix, plans }: Names, old: { id: string; prefix: string }): Edit[] {
  const named = [
    "src/your-service/plans.ts",
    "src/your-service/index.ts",
    "test/your-service/service.test.ts",
    "README.md",
  ];
  return [
    ...editsOfId(id, old.id),
    {
      file: "src/your-service/plans.ts",
      find: /(?<=^export const offer = defineOffer\(\{\n)[^]*?^ {2}ephemeralPlan: .+\n/m,
      put: plansInCode(plans),
    },
    ...named.map((file) => ({ file, find: new RegExp(`\\b${old.prefix}(?=_)`, "g"), put: prefix })),
  ];
}

/** The address of the repository: the member of app.json that a platform reads, and a link and a button of the README's. */
function editsOfRepository(): Edit[] {
  const { repo, "deploy-page": deployPage } = given;
  if (repo === undefined) return [];
  const page = deployPage === undefined ? null : new URL(deployPage);
  page?.searchParams.set("template", repo);
  const button = page ? `\n[![Deploy](docs/images/deploy.svg)](${page.href})\n` : "";
  return [
    {
      file: "app.json",
      find: /(?<=^ {2}"description": ".+",\n)( {2}"repository": ".+",\n)?/m,
      put: `  "repository": ${JSON.stringify(repo)},\n`,
    },
    {
      file: "README.md",
      find: /(?<=which this page describes\.\n)(\n\[!\[Deploy\]\(.+\)\n)?(\nThe source: <.+>\n)?/,
      put: `${button}\nThe source: <${repo}>\n`,
    },
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
  return prettyIfChanged(texts);
}

async function prettyIfChanged(texts: Map<string, string>): Promise<Map<string, string>> {
  for (const [file, text] of texts) {
    const pretty =
      /\.(ts|md|json)$/.test(file) && file !== "package-lock.json"
        ? await format(text, { ...(await resolveConfig(file)), filepath: file })
        : text;
    if (existsSync(file) && pretty === readFileSync(file, "utf8")) texts.delete(file);
    else texts.set(file, pretty);
  }
  return texts;
}

async function write(texts: Map<string, string>): Promise<void> {
  for (const [file, text] of await prettyIfChanged(texts)) writeFileSync(file, text);
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
