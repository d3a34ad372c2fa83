import { MOST_ROWS_WAITING } from "../../../metrics/store.ts";
import { duration } from "../../wording.ts";
import type { Page } from "../../../pages/pages.tsx";
import type { Known } from "../../../platform/status-watch.ts";
import { ActionLinks } from "../actions/action-links.tsx";
import { ACTIONS } from "../actions/all.ts";
import { State } from "../state.tsx";
import type { Issue } from "./issues.ts";
import type { Gauges } from "./gauges.ts";
import type { Hour } from "./hours.ts";
import { RefreshesPerHour, TokenAges } from "./plots.tsx";
import { StatusPart } from "./status-part.tsx";

/** How often the script requests the page again. */
const LIVE_MS = 5_000;

export interface Overview {
  issues: readonly Issue[];
  gauges: Gauges;
  hours: readonly Hour[];
  known: Known;
}

/** The issues that need an operator, the state of the service, and the actions on all resources. */
export function overviewPage({ issues, gauges, hours, known }: Overview, root: string): Page {
  return {
    title: "Overview",
    content: (
      <>
        <div class="columns">
          <section id="attention" data-live={LIVE_MS}>
            <h2>Needs attention</h2>
            <Issues issues={issues} root={root} />
          </section>
          <div id="platform" data-live={LIVE_MS}>
            <StatusPart known={known} />
          </div>
        </div>
        <section>
          <h2>Tokens</h2>
          <div class="pair" id="plots" data-live={LIVE_MS}>
            <TokenAges ages={gauges.tokenAges} isEstimated={gauges.isEstimated} />
            <RefreshesPerHour hours={hours} />
          </div>
        </section>
        <div class="pair" id="numbers" data-live={LIVE_MS}>
          <Credentials gauges={gauges} root={root} />
          <Queues gauges={gauges} />
        </div>
        <section>
          <h2>For all resources</h2>
          <ActionLinks actions={ACTIONS.ofAll} root={root} />
        </section>
      </>
    ),
  };
}

const URGENCIES: Readonly<Record<Issue["urgency"], string>> = { bad: "urgent", wait: "can wait" };

function Issues({ issues, root }: { issues: readonly Issue[]; root: string }) {
  if (issues.length === 0) {
    return (
      <ul class="cards">
        <li class="well">
          <p>Nothing. Tokens are exchanged and refreshed, and the sweeps run.</p>
        </li>
      </ul>
    );
  }
  return (
    <ul class="cards">
      {issues.map(({ urgency, what, todo, links }) => (
        <li class={urgency}>
          <p>
            <State of={URGENCIES[urgency]} look={urgency} /> <strong>{what}</strong>
          </p>
          <p>{todo}</p>
          {links.length > 0 && (
            <p>
              {links.map(({ label, path }, index) => (
                <>
                  {index > 0 && " · "}
                  <a href={root + path}>{label}</a>
                </>
              ))}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function Credentials({ gauges, root }: { gauges: Gauges; root: string }) {
  const found = gauges.credentials.filter(({ count }) => count > 0);
  return (
    <section>
      <h2>Credentials</h2>
      {found.length === 0 && <p>There are no resources yet.</p>}
      <dl>
        {found.map(({ state, count }) => (
          <>
            <dt>
              <a href={`${root}/resources?state=${state}`}>
                <State of={state} />
              </a>
            </dt>
            <dd>
              {gauges.isEstimated && "about "}
              {count.toLocaleString("en-GB")}
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

function Queues({ gauges: { queues } }: { gauges: Gauges }) {
  return (
    <section>
      <h2>Due and not done</h2>
      <dl>
        {queues.map(({ queue, due, ageSeconds }) => (
          <>
            <dt>{queue}</dt>
            <dd>
              {due.toLocaleString("en-GB")}
              {due >= MOST_ROWS_WAITING && " or more"}
              {due > 0 && <span class="quiet"> (the oldest for {duration(ageSeconds)})</span>}
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}
