import { appShape } from "../../shapes/app.ts";
import type { AppRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { appAt, LEDGER, MARKET } from "./addresses.ts";
import { latestCalls } from "./calls.ts";
import { ChoiceField, FileField, FormOf, TextField } from "./form-parts.tsx";
import type { ShowPage, View } from "./page.ts";
import { count, Empty, Facts, priceText, Section, State } from "./parts.tsx";
import { Sequence } from "./sequence.tsx";

/** The apps there are, the add-on there is, and how to make another app. */
export const homePage: ShowPage = (view) => ({
  title: "Apps",
  part: "apps",
  content: (
    <>
      <h1>Be the customer</h1>
      <p class="lead">
        Make an app, install the add-on on it, and watch what the platform and your service say to each other.
      </p>
      <div class="columns">
        <div>
          <Apps view={view} />
          <CreateApp view={view} />
        </div>
        <div>
          <Addon view={view} />
          <LatestCalls view={view} />
        </div>
      </div>
    </>
  ),
});

function Apps({ view: { platform } }: { view: View }) {
  const { world } = platform;
  const apps = world.apps.all().filter(({ destroyedAt }) => destroyedAt === undefined);
  return (
    <Section title="Apps" id="apps" isLive>
      {apps.length === 0 ? (
        <Empty>
          No app yet. An app is what a customer runs on the platform, and what add-ons are installed on. Make
          the first one below: without a name it gets one.
        </Empty>
      ) : (
        <ul class="tiles">
          {apps.toReversed().map((app) => (
            <AppTile world={world} app={app} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function AppTile({ world, app }: { world: World; app: AppRecord }) {
  const { region, generation, team } = appShape(world, app);
  const attached = world.attachments.of("app", app.id).map(({ addonId }) => world.addons.get(addonId)!);
  return (
    <li id={`app-${app.id}`}>
      <a href={appAt(app.name)}>{app.name}</a>
      <span class="tags">
        {[region.name, generation.name, ...(team ? [`team ${team.name}`] : [])].map((tag) => (
          <span class="tag">{tag}</span>
        ))}
      </span>
      {attached.length === 0 ? (
        <small>no add-on yet</small>
      ) : (
        attached.map(({ name, plan, state }) => (
          <small>
            {name} · {plan} <State of={state} />
          </small>
        ))
      )}
    </li>
  );
}

const generations: [string, string][] = [
  ["older", "the older"],
  ["newer", "the newer"],
];

function CreateApp({ view: { platform, attempt } }: { view: View }) {
  const isFilled =
    attempt?.form === "create-app" && (attempt.values["manifest"] ?? attempt.values["env"]) !== "";
  return (
    <Section title="Create an app" id="create">
      <FormOf form="create-app" action={`${MARKET}/apps`} attempt={attempt} button="Create the app" hasFile>
        <TextField name="name" label="Name" placeholder="shop" hint="Empty: a name is made up." />
        <div class="pair">
          <ChoiceField
            name="region"
            label="Region"
            choices={regionsOf(platform.world).map((name) => [name, name])}
          />
          <ChoiceField name="generation" label="Generation" choices={generations} initial="older" />
        </div>
        <TextField name="team" label="Team" hint="Empty: an app of your own. A team of a new name is made." />
        <details class="more" open={isFilled}>
          <summary>From an app.json</summary>
          <TextField
            name="manifest"
            label="Pasted"
            rows={6}
            placeholder={'{ "addons": ["teapots:basic"] }'}
            hint="Config vars, add-ons, scripts: all of it is done before the app is there, or none of it."
          />
          <FileField name="file" label="Or as a file" accept=".json,application/json" />
          <TextField
            name="env"
            label="Values of its config vars"
            rows={2}
            placeholder="GREETING=hello"
            hint="One a line, for those that the app.json requires and gives no value."
          />
          <ChoiceField
            name="environment"
            label="It is"
            choices={[
              ["", "an app to stay"],
              ["review", "a review app"],
              ["test", "an app of a test run"],
            ]}
          />
        </details>
      </FormOf>
    </Section>
  );
}

export function regionsOf({ settings }: World): string[] {
  return settings.addonManifest?.regions ?? ["us", "eu"];
}

function Addon({ view: { platform } }: { view: View }) {
  const { addonManifest, addonId, partnerUrl, resourcesPath } = platform.world.settings;
  const plans = addonManifest?.plans ?? [];
  return (
    <Section
      title={addonManifest?.name ?? addonId}
      id="addon"
      isLive
      intro="The add-on on sale: what your service told the platform."
    >
      <Facts
        of={[
          ...plans.map(
            ({ name, description, price }) =>
              [name, [description, priceText(price)].filter(Boolean).join(" · ") || "a plan"] as const,
          ),
          plans.length === 0 && ["plans", "No manifest was given: any plan can be installed."],
          ["regions", regionsOf(platform.world).join(", ")],
          ["is asked at", <code>{partnerUrl + resourcesPath}</code>],
        ]}
      />
    </Section>
  );
}

function LatestCalls({ view: { platform } }: { view: View }) {
  const { calls } = latestCalls(platform, { most: 6 });
  return (
    <Section title="Latest calls" id="latest" isLive>
      <Sequence
        calls={calls}
        teach="No call yet. Install the add-on on an app: the platform then asks your service for a resource."
      />
      <p>
        <a
          href={LEDGER}
        >{`All calls in the ledger${calls.length > 0 ? `, ${count(calls.at(-1)!.seq, "call")} so far` : ""}`}</a>
      </p>
    </Section>
  );
}
