import type { AddonState } from "../packages/sandbox/index.ts";
import { type Offer, plansOnSale } from "../src/offer.ts";
import { colours } from "./colours.ts";
import { otherPlan } from "./other-plan.ts";

/** The data for the last part of the output. */
export interface Scene {
  serviceUrl: string;
  platformUrl: string;
  logFile: string;
  /** The file with the generated settings. */
  settingsFile: string;
  /** The value of OPERATOR_ACCOUNTS. */
  operators: string;
  startOver: string | null;
  addon: AddonState | null;
  offer: Offer;
  /** What must precede `npm` for the command line to find this service; empty in the usual case. */
  kitNeeds: string;
}

/** What to open and to try, in lines that can be copied. */
export function whatToTry(scene: Scene): string {
  const { serviceUrl, platformUrl, logFile, startOver, addon } = scene;
  return [
    title("What runs"),
    row("your service", `${serviceUrl}/readyz`, `its log: ${logFile}`),
    row("the platform", platformUrl, "a marketplace to play with in the browser"),
    row("the same as JSON", `${platformUrl}/sandbox/state`, "all it knows; every call: /sandbox/ledger"),
    ...(addon ? [...customer(scene, addon), ...platform(scene, addon), ...operator(scene, addon)] : []),
    title("Sign in as somebody who has an account at the platform"),
    row("sign in", `${serviceUrl}/oauth/login`),
    row("who is signed in?", `${serviceUrl}/oauth/me`, "and sign out there"),
    title("Make it yours: your service restarts when a file below src/ changes; .env is read by npm run dev"),
    row("plans and texts", "src/your-service/plans.ts"),
    row("your customers' page", "src/your-service/customer-page.tsx"),
    row("your code", "src/your-service/index.ts"),
    ...(startOver ? [row("start over", startOver)] : []),
  ].join("\n");
}

function customer(scene: Scene, { name, plan, app }: AddonState): string[] {
  const other = otherPlan(scene.offer, plan.name.slice(plan.name.lastIndexOf(":") + 1));
  const later = plansOnSale(scene.offer).find(([, each]) => each.later)?.[0];
  return [
    title("Be the customer, in a second terminal, and watch the story go on here"),
    row("see the config vars", curl(scene, "GET", `/apps/${app.name}/config-vars`)),
    ...(other ? [row("change the plan", curl(scene, "PATCH", `/addons/${name}`, { plan: other }))] : []),
    ...(later
      ? [row("one that takes time", curl(scene, "POST", `/apps/${app.name}/addons`, { plan: later }))]
      : []),
    row("sign on to it", `${scene.platformUrl}/marketplace/addons/${name}/sign-on`, "in a browser"),
    row("remove the add-on", curl(scene, "DELETE", `/addons/${name}`)),
  ];
}

function platform(scene: Scene, { name }: AddonState): string[] {
  const outage = { match: "POST /oauth/token", action: { status: 503 } };
  const secret = `node -pe "JSON.parse(fs.readFileSync(0)).secret"`;
  return [
    title("Be the platform, and watch the service cope when it next calls"),
    row("revoke the token", curl(scene, "POST", `/addons/${name}/revoke`, { token: "access" })),
    row("tokens live 20 s", curl(scene, "POST", "/settings", { expiresIn: 20 })),
    row(
      "new client secret",
      `${curl(scene, "POST", "/client-secret/reset")} | ${secret} | ${kit(scene, "secret set")}`,
    ),
    // Last, because the call that tries a new secret would get this fault, and that secret is shown only once.
    row("fail the next refresh", curl(scene, "POST", "/faults", outage)),
  ];
}

function operator(scene: Scene, { id }: AddonState): string[] {
  return [
    title("Be the operator"),
    row(
      "in a browser",
      `${scene.serviceUrl}/operator`,
      `sign in as ${scene.operators}; or the user operator: OPERATOR_PASSWORD is in ${scene.settingsFile}`,
    ),
    row("what is installed", kit(scene, "resources list")),
    row("one, and its history", kit(scene, `resources show ${id}`)),
    row("the apps it serves", kit(scene, `apps ${id}`)),
    row("its config vars", kit(scene, `config get ${id}`)),
    row("refresh its tokens", kit(scene, `tokens refresh ${id}`)),
    row("is all well?", kit(scene, "doctor")),
  ];
}

const kit = ({ kitNeeds }: Scene, rest: string) => `${kitNeeds}npm run --silent kit -- ${rest}`;

function curl({ platformUrl }: Scene, method: string, path: string, body?: object): string {
  const how = method === "GET" ? "" : `-X ${method} `;
  return `curl -s ${how}${new URL(platformUrl).host}/sandbox${path}${body ? ` -d '${JSON.stringify(body)}'` : ""}`;
}

const title = (text: string) => `\n  ${colours.bold(text)}`;
const row = (what: string, line: string, remark?: string) =>
  `    ${what.padEnd(22)} ${line}${remark ? colours.dim(`   ${remark}`) : ""}`;
