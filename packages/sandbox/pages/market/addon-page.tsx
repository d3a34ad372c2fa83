import { findAddon } from "../../control/find.ts";
import { addonState } from "../../control/state.ts";
import type { AddonRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { OwnerForms, PlatformForms } from "./addon-forms.tsx";
import { appAt, HOME } from "./addresses.ts";
import { Attachments } from "./attachments.tsx";
import { latestCalls } from "./calls.ts";
import { Credentials } from "./credentials.tsx";
import type { ShowPage, View } from "./page.ts";
import { Empty, Section, State } from "./parts.tsx";
import { Progress } from "./progress.tsx";
import { Sequence } from "./sequence.tsx";

/** One add-on: its progress, its grant and tokens, the actions on it, and the calls about it. */
export const addonPage: ShowPage = (view, id) => {
  const { world } = view.platform;
  const addon = findAddon(world, id);
  const state = addonState(world, addon);
  return {
    title: addon.name,
    part: "apps",
    content: (
      <>
        <Title world={world} addon={addon} />
        <Section title="Progress" id="progress" isLive>
          <Progress addon={state} />
        </Section>
        <div class="columns">
          <div>
            <CallsOf view={view} addon={addon} />
            <Credentials addon={state} />
          </div>
          <div>
            <Attachments view={view} addon={addon} />
            {addon.state === "deprovisioned" ? (
              <Gone app={state.app.name} />
            ) : (
              <OwnerForms view={view} addon={addon} />
            )}
            <PlatformForms view={view} addon={addon} />
          </div>
        </div>
      </>
    ),
  };
};

function Title({ world, addon }: { world: World; addon: AddonRecord }) {
  const app = world.apps.get(addon.appId)!;
  const message = addon.provisionMessage;
  return (
    <div id="title" data-live="">
      <h1>
        {addon.name} <State of={addon.state} />
      </h1>
      <p class="lead">
        Plan <strong>{addon.plan}</strong> in <strong>{addon.region}</strong>, on the app{" "}
        <a href={app.destroyedAt === undefined ? appAt(app.name) : HOME}>{app.name}</a>.
        {message !== null && ` “${message}”`}
      </p>
    </div>
  );
}

function CallsOf({ view: { platform }, addon }: { view: View; addon: AddonRecord }) {
  const { calls } = latestCalls(platform, { addonId: addon.id, most: 40 });
  return (
    <Section title="Calls about it" id="calls" isLive>
      <Sequence calls={calls} teach="No call about it among the latest. The ledger has the earlier ones." />
    </Section>
  );
}

function Gone({ app }: { app: string }) {
  return (
    <Section title="Deprovisioned" id="actions">
      <Empty>
        This add-on was on {app}. It is deprovisioned, and its id is never used again; only the calls about it
        are kept. To install another, choose <a href={HOME}>an app</a>.
      </Empty>
    </Section>
  );
}
