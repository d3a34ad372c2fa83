import type { PartnerAnswer } from "./partner.ts";
import { aWorld, type TestWorld } from "./world.ts";

/** The members that docs/assumed.md, section 5, lists, each with its types; `?` may be absent. */
const reference = { id: "uuid", name: "text" };
const times = { created_at: "time", updated_at: "time" };
const app = {
  id: "uuid",
  name: "app name",
  archived_at: "time|null",
  buildpack_provided_description: "text|null",
  build_stack: reference,
  stack: reference,
  git_url: "url",
  internal_routing: "flag|null",
  maintenance: "flag",
  owner: { id: "uuid", email: "email" },
  region: reference,
  released_at: "time|null",
  repo_size: "number|null",
  slug_size: "number|null",
  web_url: "url|null",
  ...times,
};
const owningAddon = { ...reference, app: reference };

const shapes = {
  addon: {
    id: "uuid",
    name: "text",
    state: /^(provisioning|provisioned|deprovisioning|deprovisioned)$/,
    addon_service: reference,
    plan: { id: "uuid", name: /^widgets:[a-z]+$/ },
    app: reference,
    billing_entity: { ...reference, type: /^(app|team)$/ },
    billed_price: [{ cents: "number", contract: "flag", unit: "text" }, "null"],
    config_vars: "texts",
    actions: "none",
    provider_id: "text",
    "provision_message?": "text",
    web_url: "url|null",
    ...times,
  },
  attachment: {
    ...reference,
    namespace: "text|null",
    addon: owningAddon,
    app: reference,
    web_url: "url|null",
    log_input_url: "url|null",
    ...times,
  },
  config: { name: "text", value: "text|null" },
  app: {
    ...app,
    acm: "flag",
    generation: reference,
    organization: [reference, "null"],
    team: [reference, "null"],
    space: [{ ...reference, shield: "flag" }, "null"],
  },
  teamApp: {
    ...app,
    joined: "flag",
    locked: "flag",
    team: [{ name: "text" }, "null"],
    space: [reference, "null"],
  },
  collaborator: {
    id: "uuid",
    app: reference,
    user: { id: "uuid", email: "email", federated: "flag" },
    role: [/^(admin|collaborator|member|owner)$/, "null"],
    permissions: [[{ name: "text", description: "text" }]],
    ...times,
  },
  domain: {
    id: "uuid",
    hostname: /^[a-z0-9.-]+$/,
    kind: /^(platform|custom)$/,
    cname: "text|null",
    status: "text",
    acm_status: "text|null",
    acm_status_reason: "text|null",
    sni_endpoint: [reference, "null"],
    app: reference,
    ...times,
  },
  drain: {
    id: "uuid",
    url: "url",
    token: /^d\.[0-9a-f-]{36}$/,
    addon: [owningAddon, "null"],
    app: [reference, "null"],
    ...times,
  },
  pipeline: {
    ...reference,
    owner: [{ id: "uuid", type: /^(user|team)$/ }, "null"],
    generation: reference,
    ...times,
  },
  coupling: {
    id: "uuid",
    app: { id: "uuid" },
    pipeline: { id: "uuid" },
    stage: /^(test|review|development|staging|production)$/,
    ...times,
  },
  member: {
    id: "uuid",
    email: "email",
    role: /^(admin|member|viewer|collaborator|owner)$/,
    federated: "flag",
    identity_provider: [{ ...reference, redacted: "flag", owner: reference }, "null"],
    two_factor_authentication: "flag",
    user: { id: "uuid", email: "email", name: "text|null" },
    ...times,
  },
};

const kinds: Record<string, (value: unknown) => boolean> = {
  null: (value) => value === null,
  flag: (value) => typeof value === "boolean",
  number: (value) => Number.isInteger(value),
  text: (value) => typeof value === "string" && value !== "",
  texts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  none: (value) => Array.isArray(value) && value.length === 0,
  uuid: (value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(value)),
  time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(String(value)),
  url: (value) => URL.canParse(String(value)),
  email: (value) => /^[^\s@]+@[^\s@]+$/.test(String(value)),
  "app name": (value) => /^[a-z][a-z0-9-]{1,28}[a-z0-9]$/.test(String(value)),
};

/** The differences of a value from its shape: missing members, members of a wrong type, and additional ones. */
function differences(shape: unknown, value: unknown, at: string): string[] {
  if (typeof shape === "string")
    return shape.split("|").some((kind) => kinds[kind]!(value)) ? [] : [`${at} is no ${shape}`];
  if (shape instanceof RegExp) return shape.test(String(value)) ? [] : [`${at} is not ${shape.source}`];
  if (Array.isArray(shape) && Array.isArray(shape[0])) {
    const [[item]] = shape as [[unknown]];
    return (value as unknown[]).flatMap((each, index) => differences(item, each, `${at}[${index}]`));
  }
  if (Array.isArray(shape)) {
    const found = shape.map((either) => differences(either, value, at));
    return found.find((faults) => faults.length === 0) ?? found[0]!;
  }
  if (typeof value !== "object" || value === null) return [`${at} is no object`];
  const members = value as Record<string, unknown>;
  const expected = Object.entries(shape as object) as [string, unknown][];
  const names = expected.map(([name]) => name.replace("?", ""));
  const unknown = Object.keys(members).filter((name) => !names.includes(name));
  const present = expected.filter(([name]) => !name.endsWith("?") || name.slice(0, -1) in members);
  return [
    ...unknown.map((name) => `${at}.${name} is unknown`),
    ...present.flatMap(([name, kind]) =>
      differences(kind, members[name.replace("?", "")], `${at}.${name.replace("?", "")}`),
    ),
  ];
}

const GET: [path: string, shape: keyof typeof shapes][] = [
  ["/addons", "addon"],
  ["/addons/ADDON", "addon"],
  ["/addons/ADDON/addon-attachments", "attachment"],
  ["/addons/ADDON/config", "config"],
  ["/addons/ADDON/log-drains", "drain"],
  ["/apps", "app"],
  ["/apps/APP", "app"],
  ["/apps/APP/addons", "addon"],
  ["/apps/APP/addon-attachments", "attachment"],
  ["/apps/APP/collaborators", "collaborator"],
  ["/apps/APP/domains", "domain"],
  ["/apps/APP/log-drains", "drain"],
  ["/apps/APP/pipeline-couplings", "coupling"],
  ["/pipelines", "pipeline"],
  ["/pipeline-couplings", "coupling"],
  ["/teams/makers/members", "member"],
];

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const later = { status: 202, body: { id: "p-1" } };
const states: { state: string; wish: object; answer?: PartnerAnswer }[] = [
  { state: "of a person's app", wish: { name: "abc" } },
  { state: "of a team's app", wish: { team: "makers" } },
  { state: "of an app of the newer generation", wish: { generation: "newer" } },
  { state: "still provisioning", wish: {}, answer: later },
];

it.each(states)("every object has exactly its documented members: $state", async ({ wish, answer }) => {
  if (answer) world.partner.answers(answer);
  const made = world.control.createApp(wish);
  const { addon, token } = await world.installed({ app: made.id });
  const drains = `/apps/${made.id}/log-drains`;
  await world.call(token, drains, { method: "POST", json: { url: "https://logs.example.com/in" } });
  const ofThisApp = GET.filter(([path]) => made.team !== null || !path.startsWith("/teams"))
    .filter(([path]) => made.generation.name === "older" || !path.includes("log-drains"))
    .map(([path, shape]) => [path.replace("ADDON", addon.id).replace("APP", made.id), shape] as const);
  for (const [path, shape] of ofThisApp) {
    const { body } = await world.call<unknown[]>(token, path);
    const found = [body].flat().flatMap((object) => differences(shapes[shape], object, shape));
    expect([path, ...found]).toEqual([path]);
    expect(answer && shape === "config" ? [1] : [body].flat()).not.toHaveLength(0);
  }
  const filter = { method: "POST", json: { in: { id: [made.id] } } };
  const { body } = await world.call<unknown[]>(token, "/filters/apps", filter);
  expect(body.flatMap((object) => differences(shapes.teamApp, object, "app"))).toEqual([]);
});
