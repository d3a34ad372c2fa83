import type { AddonState } from "../sandbox/index.ts";
import type { Offer } from "../src/resources/contract.ts";
import { colours } from "./colours.ts";

/** What the last part of the story is made of. */
export interface Scene {
  serviceUrl: string;
  platformUrl: string;
  logFile: string;
  dataDir: string;
  addon: AddonState | null;
  offer: Offer;
  /** What must stand before `npm` for the command line to find this service; empty in the usual case. */
  kitNeeds: string;
}

/** What to open and to try, in lines that can be copied as they are. */
export function whatToTry(scene: Scene): string {
  const { serviceUrl, platformUrl, logFile, dataDir, addon, kitNeeds } = scene;
  const kit = (rest: string) => `${kitNeeds}npm run --silent kit -- ${rest}`;
  return [
    title("What runs"),
    row("your service", serviceUrl, `its log: ${logFile}`),
    row("the platform", platformUrl, `played by sandbox/; all it knows: ${platformUrl}/sandbox/state`),
    ...(addon ? customer(scene, addon) : []),
    ...(addon ? operator(addon, kit) : []),
    title("Make it yours"),
    row("plans, texts", "src/your-service/plans.ts"),
    row("your code", "src/your-service/index.ts", "then Ctrl-C and npm run dev: it goes on from here"),
    row("start over", `rm -rf ${dataDir}`),
  ].join("\n");
}

function customer({ platformUrl, offer }: Scene, { name, plan, app }: AddonState): string[] {
  const curl = (method: string, path: string, body?: object) =>
    `curl ${method === "GET" ? "" : `-X ${method} `}${platformUrl}/sandbox${path}${body ? ` -d '${JSON.stringify(body)}'` : ""}`;
  const plans = Object.entries(offer.plans);
  const other = plans.find(([each, { later }]) => !plan.name.endsWith(`:${each}`) && !later)?.[0];
  const later = plans.find(([, plan]) => plan.later)?.[0];
  return [
    title("Be the customer, in a second terminal, and watch the story go on here"),
    row("the app's config vars", curl("GET", `/apps/${app.name}/config-vars`)),
    ...(other ? [row("change the plan", curl("PATCH", `/addons/${name}`, { plan: other }))] : []),
    ...(later
      ? [row("a plan that takes longer", curl("POST", `/apps/${app.name}/addons`, { plan: later }))]
      : []),
    row("remove it", curl("DELETE", `/addons/${name}`)),
    title("Be the platform"),
    row("kill the access token", curl("POST", `/addons/${name}/revoke`, { token: "access" })),
    row(
      "lose the next answer",
      curl("POST", "/faults", { match: "POST /oauth/token", action: { status: 503 } }),
    ),
  ];
}

function operator({ id }: AddonState, kit: (rest: string) => string): string[] {
  return [
    title("Be the operator"),
    row("what is installed", kit("resources list")),
    row("one, and its history", kit(`resources show ${id}`)),
    row("the apps it serves", kit(`apps ${id}`)),
    row("its config vars", kit(`config get ${id}`)),
    row("refresh its tokens", kit(`tokens refresh ${id}`)),
    row("is all well?", kit("doctor")),
  ];
}

const title = (text: string) => `\n  ${colours.bold(text)}`;
const row = (what: string, line: string, remark?: string) =>
  `    ${what.padEnd(25)}${line}${remark ? colours.dim(`   ${remark}`) : ""}`;
