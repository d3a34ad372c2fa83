import { findAddon } from "../../control/find.ts";
import { addonState, type AddonState } from "../../control/state.ts";
import type { AddonRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { addonAt, appAt, HOME } from "./addresses.ts";
import { latestCalls } from "./calls.ts";
import { ButtonForm, Careful, ChoiceField, FormOf, TextField } from "./form-parts.tsx";
import type { ShowPage, View } from "./page.ts";
import { Empty, Facts, Moment, Section, State } from "./parts.tsx";
import { Progress } from "./progress.tsx";
import { Sequence } from "./sequence.tsx";

/** One add-on: how far it has come, its grant and tokens, what can be done with it, and every call about it. */
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
        <Section title="How far it has come" id="progress" isLive>
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
              <Actions view={view} addon={addon} />
            )}
            <Again view={view} addon={addon} />
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
    <Section title="What was said about it" id="calls" isLive>
      <Sequence
        calls={calls}
        teach="Nothing lately: only the newest calls are looked through. The ledger has the earlier ones."
      />
    </Section>
  );
}

function Credentials({ addon }: { addon: AddonState }) {
  const token = addon.tokens.at(-1);
  return (
    <Section title="Its grant and tokens" id="credentials" isLive>
      <Facts
        of={[
          addon.grant
            ? [
                "grant",
                <>
                  <State of={addon.grant.state} /> good until <Moment at={addon.grant.expires_at} />
                </>,
              ]
            : ["grant", "none was issued"],
          token
            ? [
                "access token",
                <>
                  <State of={token.state} /> good until <Moment at={token.expires_at} />
                </>,
              ]
            : ["access token", "none: the grant was not exchanged yet"],
          addon.refresh_token && [
            "refresh token",
            <>
              <State of={addon.refresh_token.state} /> lives as long as the add-on
            </>,
          ],
        ]}
      />
    </Section>
  );
}

function Attachments({ view: { platform, attempt }, addon }: { view: View; addon: AddonRecord }) {
  const { world } = platform;
  const attachments = world.attachments.of("addon", addon.id);
  const attached = new Set(attachments.map(({ appId }) => appId));
  const others = world.apps
    .all()
    .filter(({ id, destroyedAt }) => destroyedAt === undefined && !attached.has(id));
  return (
    <Section title="Apps it is attached to" id="attachments-panel">
      <div id="attachments" data-live="">
        {attachments.length === 0 ? (
          <Empty>None any more.</Empty>
        ) : (
          <ul class="vars">
            {attachments.map(({ id, name, appId }) => (
              <li id={`attachment-${id}`}>
                <a href={appAt(world.apps.get(appId)!.name)}>{world.apps.get(appId)!.name}</a>{" "}
                <code>{name}</code>
              </li>
            ))}
          </ul>
        )}
      </div>
      {addon.state !== "deprovisioned" &&
        (others.length === 0 ? (
          <p class="hint">
            To share it, there must be a second app: <a href={`${HOME}#create`}>create one</a>.
          </p>
        ) : (
          <FormOf
            form="attach"
            action={`${addonAt(addon.name)}/attach`}
            attempt={attempt}
            button="Attach"
            look="secondary"
          >
            <div class="pair">
              <ChoiceField name="app" label="Attach it to" choices={others.map(({ name }) => [name, name])} />
              <TextField name="as" label="As" placeholder="made up" />
            </div>
          </FormOf>
        ))}
    </Section>
  );
}

function Actions({ view: { platform, attempt }, addon }: { view: View; addon: AddonRecord }) {
  const { addonManifest, ssoSalt } = platform.world.settings;
  const at = addonAt(addon.name);
  const plans = addonManifest?.plans.map(({ name }) => name) ?? [];
  const next = plans.find((name) => name !== addon.plan) ?? addon.plan;
  return (
    <Section title="What its owner can do" id="actions">
      <FormOf
        form="plan"
        action={`${at}/plan`}
        attempt={attempt}
        button="Change the plan"
        look="secondary"
        isRow
      >
        {plans.length > 0 ? (
          <ChoiceField name="plan" label="Plan" choices={plans.map((name) => [name, name])} initial={next} />
        ) : (
          <TextField name="plan" label="Plan" initial={addon.plan} />
        )}
      </FormOf>
      {ssoSalt ? (
        <form method="get" action={`${at}/sign-on`} id="sign-on" class="row">
          <div class="field">
            <label for="sign-on-email">Sign on as</label>
            <input
              id="sign-on-email"
              name="email"
              type="email"
              value="owner@example.com"
              autoComplete="off"
              required
            />
          </div>
          <button type="submit" class="secondary">
            Open the add-on's page
          </button>
        </form>
      ) : (
        <p class="hint">
          To sign on to the add-on, the platform needs the salt that your service checks with: start the
          sandbox with <code>SSO_SALT</code>.
        </p>
      )}
      <Careful title="Uninstall…">
        <p>Your service is told to take the resource down; its tokens die, and the config vars go.</p>
        <ButtonForm
          form="uninstall"
          action={`${at}/uninstall`}
          attempt={attempt}
          button={`Uninstall ${addon.name}`}
          look="danger"
        />
      </Careful>
    </Section>
  );
}

function Gone({ app }: { app: string }) {
  return (
    <Section title="It is gone" id="actions">
      <Empty>
        This add-on is deprovisioned, and its id is never used again. What is left is what was said about it.
        Install another on <a href={HOME}>an app</a>; it was on {app}.
      </Empty>
    </Section>
  );
}

function Again({ view: { attempt }, addon }: { view: View; addon: AddonRecord }) {
  const at = addonAt(addon.name);
  return (
    <Section
      title="What the platform can do"
      id="again"
      intro="It delivers at least once: the same request may come again, and must change nothing."
    >
      <FormOf
        form="redeliver"
        action={`${at}/redeliver`}
        attempt={attempt}
        button="Deliver the provision request again"
        look="secondary"
      >
        <ChoiceField
          name="code"
          label="With"
          choices={[
            ["same", "the same grant as before"],
            ["new", "a new grant"],
          ]}
        />
        <ChoiceField
          name="fault"
          label="And the answer"
          choices={[
            ["", "arrives"],
            ["lost", "is lost on its way"],
          ]}
        />
      </FormOf>
      {addon.state !== "deprovisioned" && (
        <FormOf
          form="revoke"
          action={`${at}/revoke`}
          attempt={attempt}
          button="Revoke"
          look="secondary outline"
        >
          <ChoiceField
            name="token"
            label="A token"
            choices={[
              ["access", "its access token"],
              ["refresh", "its refresh token"],
            ]}
          />
        </FormOf>
      )}
    </Section>
  );
}
