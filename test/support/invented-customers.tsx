import { expect } from "@jest/globals";
import { Refusal } from "../../src/errors.ts";
import { requestSuspension } from "../../src/extend/suspension.ts";
import {
  Bars,
  Card,
  Cards,
  Facts,
  PlanCard,
  Sparkline,
  StateOf,
  Table,
  Usage,
} from "../../src/parts/cards.tsx";
import { csv } from "../../src/parts/csv.ts";
import type { Brand } from "../../src/people/brand.ts";
import type {
  CustomerAction,
  CustomerDownloads,
  CustomerPage,
  CustomerPages,
} from "../../src/people/contract.ts";
import type { Offer, VendorResource } from "../../src/resources/contract.ts";
import { aVendor } from "./a-vendor.ts";
import type { LifecycleWorld } from "./lifecycle.ts";
import { eventually } from "./world.ts";

// A vendor with a hundred customers, all of them invented, for looking at pages as they are after some weeks of business.

const offer: Offer = {
  plans: {
    basic: {
      description: "A teapot for one, on a shared kiln",
      includes: { storage: { bytes: 250e6 }, connections: 20, pours: { count: 1_000, per: "day" } },
    },
    premium: {
      description: "A teapot for six, with a shelf of its own",
      includes: {
        storage: { bytes: 10e9 },
        connections: 1_000,
        pours: { count: 100_000, per: "day" },
        "daily copies kept": { seconds: 14 * 86_400 },
        support: "within a working day",
      },
    },
    dedicated: {
      description: "A teapot fired to order",
      includes: {
        storage: { bytes: 1e12 },
        connections: Infinity,
        pours: Infinity,
        support: "day and night",
      },
      later: "Your teapot is being fired. Its config vars appear when it has cooled, in a few minutes.",
    },
  },
  defaultPlan: "basic",
  ephemeralPlan: "basic",
  regions: ["us", "eu"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
};

const teapot = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="${colour}" stroke-width="2.4"><path d="M9 14h12c2 7-1 12-6 12s-8-5-6-12zM12 14c0-4 6-4 6 0M15 9V7M21 17c6-3 6 5 0 6M9 20c-3 0-4-4-6-6"/></svg>`;

const brand: Brand = {
  name: "Teapots",
  colour: { light: "#0b6b62", dark: "#5fd0c3" },
  logo: { light: teapot("#0b6b62"), dark: teapot("#5fd0c3") },
  links: [
    { label: "Documentation", href: "https://teapots.example/docs" },
    { label: "Support", href: "mailto:help@teapots.example" },
  ],
};

const actions: Record<"move" | "empty", CustomerAction> = {
  move: { run: async (_resource, form) => `Your teapot is being moved to the shelf ${form.get("shelf")}.` },
  empty: {
    run: async () => "The teapot is empty: 12,408 cups were poured away.",
    confirm: {
      question:
        "All 12,408 cups in this teapot are poured away, at once and for good. Nobody can bring them back.",
      button: "Empty the teapot",
    },
  },
};

const POURS: (string | number)[][] = [
  ["28 Nov, 09:14", "checkout-worker-7f3c9b2e41-production-eu-west", "earl grey", 1_204],
  ["28 Nov, 08:02", "mail-queue", "darjeeling second flush, 2026", 88],
  ["27 Nov, 17:45", "nightly-import-of-the-catalogue", "green", 11_116],
];

/** Of the last 30 days; one of them has no number. */
const CUPS = Array.from({ length: 30 }, (_, at): [string, number | null] => [
  `${at + 1} Nov`,
  at === 11 ? null : Math.round(4_000 + 3_000 * Math.sin(at / 3) + 1_500 * ((at * 7) % 5)),
]);

type Place = "usage" | "empty-shelf" | "usage.csv";

const pages: CustomerPages<Offer, "move" | "empty", Place> = {
  usage: {
    title: "Usage",
    render: (_resource, { link, form }) => (
      <Cards>
        <Card title="Cups of the last 30 days" isWhole>
          <Sparkline title="Cups" values={CUPS} />
          <Bars title="Cups" of="Day" values={CUPS} />
          <p class="foot">{link("usage.csv", "Download all days as CSV")}</p>
        </Card>
        <Card title="What you can do">{form("empty", <button>Empty the teapot…</button>)}</Card>
      </Cards>
    ),
  },
  "empty-shelf": {
    title: "Shelf",
    render: () => (
      <Card title="Pots on your shelf">
        <Table title="Pots" columns={["Pot", "Room"]} rows={[]} empty="Your shelf has no pot yet." />
        <Bars title="Pots" of="Day" values={[["1 Nov", 0]]} empty="No pot was put there." />
      </Card>
    ),
  },
};

const downloads: CustomerDownloads<Offer, Place> = {
  "usage.csv": { content: () => csv(["Day", "Cups"], CUPS) },
};

/** Uses all that a page can be made of. */
const customerPage: CustomerPage<Offer, "move" | "empty", Place> = (resource, { form, link, dashboard }) => {
  const { uuid, name, plan, region, appName, progress } = resource;
  const limits = offer.plans[plan]?.includes ?? {};
  const forms = [
    form("move", [
      <label>
        Shelf
        <input name="shelf" value="north" required />
      </label>,
      <button class="secondary">Move it to another shelf</button>,
    ]),
    form("empty", <button>Empty the teapot…</button>),
  ];
  const mayDo = forms.some((each) => each !== null);
  return {
    title: name ?? "Your teapot",
    content: (
      <Cards>
        <PlanCard offer={offer} resource={resource} dashboard={dashboard} />
        <Card title="Add-on">
          {progress !== null && <p class="told busy">{progress}</p>}
          <Facts
            of={[
              ["State", <StateOf resource={resource} />],
              ["Region", region ?? "any"],
              ["App", appName ?? "–"],
              [
                "Address",
                <code>{`https://${plan}.teapots.example/${uuid}/a-rather-long-path-of-its-own`}</code>,
              ],
            ]}
          />
        </Card>
        <Card title="Used">
          <Usage name="Storage" used={{ bytes: 203e6 }} of={limits["storage"] ?? 0} />
          <Usage name="Connections" used={9} of={limits["connections"] ?? 0} />
          <p>
            <small>Measured every ten minutes.</small>
          </p>
        </Card>
        <Card title="What you can do">{mayDo ? forms : <p>Your role at the app lets you look.</p>}</Card>
        <Card title="Last pours" isWhole>
          <Table title="Last pours" columns={["When", "By", "Tea", "Cups"]} rows={POURS} />
          <p class="foot">{link("usage", "Cups day by day")}</p>
        </Card>
      </Cards>
    ),
  };
};

/** Parts of a world in which this vendor sells. Its backend fails for the add-ons in `failing`. */
export function inventedVendor() {
  const failing = new Set<string>();
  const vendor = aVendor();
  const { changePlan } = vendor;
  const parts = {
    offer,
    customerPage,
    vendor: Object.assign(vendor, {
      ...{ brand, actions, pages, downloads, suspend: async () => undefined, resume: async () => undefined },
      changePlan: async (resource: VendorResource, previous: string) => {
        if (failing.has(resource.uuid)) throw new Error("The kiln answers 503: it is too hot to open.");
        return changePlan(resource, previous);
      },
    }),
  };
  return { parts, failing };
}

const FIRST =
  "amber birch cedar copper coral dover elm fjord harbour heron ivory juniper kestrel linden maple north opal pine river thistle".split(
    " ",
  );
const SECOND = ["books", "clinic", "press", "roasters", "tickets"];
const KINDS = ["", "-staging", "-api", "-prod", "-eu"];

/** A hundred app names, each of another business. */
const apps = FIRST.flatMap((first, at) =>
  SECOND.map((second, index) => `${first}-${second}${KINDS[(at + index) % 5]}`),
);
const planOf = (index: number) => (index % 19 === 7 ? "dedicated" : index % 3 === 1 ? "premium" : "basic");

/**
 * Installs a hundred add-ons by the platform's protocol. Of these some are refused, some have ended, some have changed
 * their plan, two fail at the vendor's backend, one is suspended, and one is still being made. Answers uuids of some.
 */
export async function inventCustomers(
  life: Pick<LifecycleWorld, "world" | "control">,
  invented: InventedVendor,
) {
  const { world, control } = life;
  const { vendor } = invented.parts;
  /** Waits until everything was tried once; fails with what was not. */
  const isQuiet = () =>
    eventually(async () =>
      expect(
        await world.rows(
          `SELECT kind AS what, due_at, leased_until, last_error FROM steps WHERE attempts = 0
           UNION ALL
           SELECT state, due_at, leased_until, last_error FROM credentials WHERE state = 'grant_pending'`,
        ),
      ).toEqual([]),
    );
  const full = async () => {
    throw new Refusal("There is no room in this region: choose another one.");
  };
  for (const each of [full, full]) vendor.next("provision", each);
  const add = async (name: string, plan: string, region: string) =>
    (await control.install({ app: control.createApp({ name }).name, plan, region })).addon;
  const installed = await Promise.all(
    apps.map((name, index) => add(name, planOf(index), index % 4 === 0 ? "eu" : "us")),
  );
  await isQuiet();
  const ready = installed.filter(({ id }) => control.addon(id).state === "provisioned");
  const one = (plan: string) => {
    const at = ready.findIndex((each) => each.plan.name === `teapots:${plan}`);
    return ready.splice(at, 1)[0]!.id;
  };
  for (const plan of ["basic", "basic", "premium", "basic", "basic"]) await control.deprovision(one(plan));
  for (let count = 0; count < 4; count += 1) await control.changePlan(one("basic"), "premium");
  const failing = [one("basic"), one("premium")] as const;
  failing.forEach((uuid) => invented.failing.add(uuid));
  await control.changePlan(failing[0], "premium");
  await control.changePlan(failing[1], "basic");
  const suspended = one("basic");
  const { services } = world.service;
  await requestSuspension(
    services,
    suspended,
    "The bill of October is not paid. Pay it in your account.",
    "operator",
  );
  await isQuiet();
  vendor.next("finish", async () => ({ later: "Your teapot is 62 % fired.", againInSeconds: 3_600 }));
  const making = await add("quarry-records", "dedicated", "eu");
  await eventually(() => vendor.callsOf(making.id, "finish").length > 0);
  await world.rows(
    `UPDATE resources r SET created_at = now() - make_interval(hours => 7 * n.at::int) FROM (
       SELECT uuid, row_number() OVER (ORDER BY app_name) AS at FROM resources) n WHERE n.uuid = r.uuid`,
  );
  return { failing: failing[0], suspended, making: making.id, basic: one("basic"), premium: one("premium") };
}

type InventedVendor = ReturnType<typeof inventedVendor>;
