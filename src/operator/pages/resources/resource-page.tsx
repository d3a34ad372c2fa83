import type { ResourceRecord } from "../../resource-record.ts";
import type { WholeResource } from "../../resources.ts";
import type { AppsReport } from "../../apps.ts";
import type { ConfigDifference } from "../../config-diff.ts";
import { duration, planInWords } from "../../wording.ts";
import type { Page } from "../../../pages/pages.tsx";
import { ActionLinks } from "../actions/action-links.tsx";
import { ACTIONS } from "../actions/all.ts";
import type { Part } from "../load-part.ts";
import { Moment } from "../moments.tsx";
import { State } from "../state.tsx";
import { DiffTable } from "./diff-table.tsx";
import { StepsTable } from "./steps-table.tsx";
import { Timeline } from "./timeline.tsx";
import type { TokenTimes } from "./token-times.ts";

/** How often the script requests the page again; the platform is not asked then. */
const LIVE_MS = 5_000;

export interface ResourceView {
  record: WholeResource;
  times: TokenTimes;
  /**
   * The answers of the platform; null when the script requests the page, because it replaces no part that shows them.
   */
  asked: Asked | null;
}

/** Each is null if there are no tokens to ask the platform with. */
export interface Asked {
  apps: Part<AppsReport> | null;
  vars: Part<ConfigDifference> | null;
}

/** One resource: its record, its tokens, its apps, its config vars, and its history. */
export function resourcePage({ record, times, asked }: ResourceView, root: string): Page {
  const { uuid, name, state } = record;
  const isGone = state === "deprovisioned";
  return {
    title: name ?? uuid,
    content: (
      <>
        {!isGone && <ActionLinks actions={ACTIONS.ofOne} root={`${root}/resources/${uuid}`} />}
        <div class="pair" id="record" data-live={LIVE_MS}>
          <About record={record} />
          <Credential record={record} times={times} />
        </div>
        <section id="steps" data-live={LIVE_MS}>
          <h2>Waiting steps</h2>
          <StepsTable steps={record.steps} now={record.readAt} />
        </section>
        {asked && <AtThePlatform asked={asked} />}
        <section id="timeline" data-live={LIVE_MS}>
          <h2>What happened</h2>
          <Timeline of={record} />
        </section>
      </>
    ),
  };
}

function AtThePlatform({ asked: { apps, vars } }: { asked: Asked }) {
  return (
    <>
      <section>
        <h2>Apps</h2>
        {apps ? <Apps apps={apps} /> : <p class="quiet">{NO_TOKENS}</p>}
      </section>
      <section>
        <h2>Config vars</h2>
        {!vars && <p class="quiet">{NO_TOKENS}</p>}
        {vars && ("value" in vars ? <DiffTable of={vars.value} /> : <p>{vars.trouble}</p>)}
      </section>
    </>
  );
}

const NO_TOKENS = "The platform cannot be asked: there is no working token.";

function About({
  record: { uuid, plan, region, state, app, createdAt, updatedAt },
}: {
  record: ResourceRecord;
}) {
  return (
    <section>
      <h2>Resource</h2>
      <dl>
        <dt>Uuid</dt>
        <dd>
          <code>{uuid}</code>
        </dd>
        <dt>State</dt>
        <dd>
          <State of={state} />
        </dd>
        <dt>Plan</dt>
        <dd>{planInWords(plan)}</dd>
        <dt>Region</dt>
        <dd>{region ?? "–"}</dd>
        <dt>App</dt>
        <dd>{app?.name ?? "not known yet"}</dd>
        <dt>Made</dt>
        <dd>
          <Moment at={createdAt} />
        </dd>
        <dt>Changed</dt>
        <dd>
          <Moment at={updatedAt} />
        </dd>
      </dl>
    </section>
  );
}

function Credential({ record: { credential, readAt }, times }: { record: WholeResource; times: TokenTimes }) {
  const { state, reason, generation, expiresAt, refreshDueAt, lastError, secretVersion, keyId, flags } =
    credential;
  return (
    <section>
      <h2>Credential</h2>
      <dl>
        <dt>State</dt>
        <dd>
          <State of={state} />
          {reason !== null && ` (${reason})`}
        </dd>
        <dt>Token age</dt>
        <dd>
          {times.ageSeconds === null ? "no token" : duration(times.ageSeconds)}
          {generation > 0 && <span class="quiet"> (pair {generation})</span>}
        </dd>
        <dt>Next refresh</dt>
        <dd>
          {times.isBeingRefreshed ? (
            "just now"
          ) : refreshDueAt ? (
            <Moment at={refreshDueAt} now={readAt} />
          ) : (
            "never by itself"
          )}
        </dd>
        <dt>Expires</dt>
        <dd>{expiresAt ? <Moment at={expiresAt} now={readAt} /> : "–"}</dd>
        {lastError !== null && (
          <>
            <dt>Last error</dt>
            <dd>{lastError}</dd>
          </>
        )}
        <dt>Client secret</dt>
        <dd>{secretVersion === null ? "–" : `version ${secretVersion}`}</dd>
        <dt>Sealed with</dt>
        <dd>{keyId === null ? "–" : <code>{keyId}</code>}</dd>
        {flags.length > 0 && (
          <>
            <dt>Odd</dt>
            <dd>{flags.join(", ")}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

function Apps({ apps }: { apps: Part<AppsReport> }) {
  if (!("value" in apps)) return <p>{apps.trouble}</p>;
  const { primary, attachments } = apps.value;
  const others = attachments.filter(({ app }) => app.id !== primary.id);
  return (
    <ul>
      <li>
        <strong>{primary.name}</strong>, where it was installed
      </li>
      {others.map(({ name, app }) => (
        <li>
          {app.name}, attached as <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}
