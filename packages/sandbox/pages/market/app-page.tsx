import { appReport } from "../../control/app-report.ts";
import { findApp } from "../../control/find.ts";
import { addonConfigOf } from "../../world/attachments.ts";
import type { AddonRecord, AppRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { addonAt, appAt } from "./addresses.ts";
import { ButtonForm, Careful } from "./form-of.tsx";
import { Install } from "./install.tsx";
import type { ShowPage, View } from "./page.ts";
import { Empty, Section, State } from "./parts.tsx";
import { SetUp } from "./set-up.tsx";

/** One app as its owner sees it: its add-ons, its config vars, and what can be installed. */
export const appPage: ShowPage = (view, id) => {
  const { world } = view.platform;
  const app = findApp(world, id);
  return {
    title: app.name,
    part: "apps",
    content: (
      <>
        <Title world={world} app={app} />
        <div class="columns">
          <div>
            <AddonsOf world={world} app={app} />
            <ConfigVars world={world} app={app} />
            {app.setup && <SetUp world={world} app={app} />}
          </div>
          <div>
            <Install view={view} app={app} />
            <Ending view={view} app={app} />
          </div>
        </div>
      </>
    ),
  };
};

function Title({ world, app }: { world: World; app: AppRecord }) {
  const { region, generation, team, owner } = appReport(world, app);
  return (
    <>
      <h1>{app.name}</h1>
      <p class="lead">
        An app in <strong>{region.name}</strong>, of the <strong>{generation.name}</strong> generation,{" "}
        {team ? `of the team ${team.name}` : `of ${owner.email}`}.
      </p>
    </>
  );
}

function AddonsOf({ world, app }: { world: World; app: AppRecord }) {
  const attached = world.attachments
    .of("app", app.id)
    .map(({ name, addonId }) => ({ as: name, addon: world.addons.get(addonId)! }));
  return (
    <Section title="Add-ons" id="addons" isLive>
      {attached.length === 0 ? (
        <Empty>
          No add-on yet. Install one: the platform sends your service a provision request, and the config vars
          of its answer become config vars of this app.
        </Empty>
      ) : (
        <ul class="tiles">
          {attached.map(({ as, addon }) => (
            <li id={`addon-${addon.id}`}>
              <a href={addonAt(addon.name)}>{addon.name}</a>
              <span>
                {addon.plan} as <code>{as}</code> <State of={addon.state} />
              </span>
              <Remark addon={addon} app={app} world={world} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Remark({ addon, app, world }: { addon: AddonRecord; app: AppRecord; world: World }) {
  if (addon.appId !== app.id) return <small>of the app {world.apps.get(addon.appId)!.name}</small>;
  return addon.provisionMessage === null ? null : <small>{addon.provisionMessage}</small>;
}

function ConfigVars({ world, app }: { world: World; app: AppRecord }) {
  const brought = Object.keys(addonConfigOf(world, app));
  const foreign = app.setup?.foreignAddons.flatMap(({ configVars }) => configVars) ?? [];
  const own = Object.keys(app.configVars ?? {}).filter((name) => !foreign.includes(name));
  const names = [...new Set([...brought, ...foreign, ...own])].sort();
  return (
    <Section title="Config vars" id="config-vars" isLive>
      {names.length === 0 ? (
        <Empty>
          None yet. They arrive with the answer of an add-on's service, or later, when it sets them.
        </Empty>
      ) : (
        <>
          <ul class="vars">
            {names.map((name) => (
              <li id={`var-${name}`}>
                <code>{name}</code>
                <small>{own.includes(name) ? "set on the app" : "from an add-on"}</small>
              </li>
            ))}
          </ul>
          <p class="hint">
            Values may be secrets and are not shown here. With their values:{" "}
            <a href={`/sandbox/apps/${app.name}/config-vars`}>the config vars as JSON</a>.
          </p>
        </>
      )}
    </Section>
  );
}

function Ending({ view: { attempt }, app }: { view: View; app: AppRecord }) {
  return (
    <Section title="The app" id="ending">
      {app.setup && (
        <ButtonForm
          form="deploy"
          action={`${appAt(app.name)}/deploy`}
          attempt={attempt}
          button="Deploy again"
          look="secondary outline"
        />
      )}
      <Careful title="Destroy the app…">
        <p>Its add-ons are deprovisioned first. Add-ons of other apps are only detached.</p>
        <ButtonForm
          form="destroy"
          action={`${appAt(app.name)}/destroy`}
          attempt={attempt}
          button={`Destroy ${app.name}`}
          look="danger"
        />
      </Careful>
    </Section>
  );
}
