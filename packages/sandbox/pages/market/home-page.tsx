import { appShape } from "../../shapes/app.ts";
import type { AppRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { appAt, LEDGER } from "./addresses.ts";
import { latestCalls } from "./calls.ts";
import { CreateApp } from "./create-app.tsx";
import type { ShowPage, View } from "./page.ts";
import { count, Empty, Facts, priceText, Section, State } from "./parts.tsx";
import { regionsOf } from "./regions.ts";
import { Sequence } from "./sequence.tsx";

/** The existing apps, the add-on, and the form for creating an app. */
export const homePage: ShowPage = (view) => ({
  title: "Apps",
  part: "apps",
  content: (
    <>
      <h1>Act as a customer</h1>
      <p class="lead">
        Create an app, install the add-on on it, and watch the calls between the platform and your service.
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
          No app yet. An app is what a customer runs on the platform; add-ons are installed on apps. Create
          the first one below.
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
        {[region.name, `${generation.name} generation`, ...(team ? [`team ${team.name}`] : [])].map((tag) => (
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

function Addon({ view: { platform } }: { view: View }) {
  const { addonManifest, addonId, partnerUrl, resourcesPath } = platform.world.settings;
  const plans = addonManifest?.plans ?? [];
  return (
    <Section
      title={addonManifest?.name ?? addonId}
      id="addon"
      isLive
      intro="The add-on that customers can install."
    >
      <Facts
        of={[
          ...plans.map(
            ({ name, description, price }) =>
              [name, [description, priceText(price)].filter(Boolean).join(" · ") || "a plan"] as const,
          ),
          plans.length === 0 && ["plans", "No manifest was given: any plan can be installed."],
          ["regions", regionsOf(platform.world).join(", ")],
          ["requests go to", <code>{partnerUrl + resourcesPath}</code>],
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
        teach="No call yet. Install the add-on on an app: the platform then sends your service a provision request."
      />
      <p>
        <a
          href={LEDGER}
        >{`All calls in the ledger${calls.length > 0 ? `, ${count(calls.at(-1)!.seq, "call")} so far` : ""}`}</a>
      </p>
    </Section>
  );
}
