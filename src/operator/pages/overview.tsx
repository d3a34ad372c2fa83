import { MOST_ROWS_WAITING } from "../../metrics/store.ts";
import type { Page } from "../../pages/pages.tsx";
import { openIncidents, type CurrentStatus, type Incident } from "../../platform/status.ts";
import type { Known } from "../../platform/status-watch.ts";
import type { Check } from "../doctor/finding.ts";
import type { DoctorReport } from "../doctor/doctor.ts";
import type { Gauges, Issue, Overview } from "../overview.ts";
import { duration } from "../wording.ts";
import { OF_ALL } from "./actions.tsx";
import { ActionLinks, Facts, LIVE_MS, Moment, Section, State, type Look } from "./parts.tsx";
import { RefreshesPerHour, TokenAges } from "./plots.tsx";

/** What needs an operator, the state of the service, and the actions on all resources. */
export function overviewPage(
  { issues, gauges, hours, known }: Overview & { known: Known },
  root: string,
): Page {
  return {
    title: "Overview",
    content: (
      <>
        <div class="columns">
          <Section title="Needs attention" id="attention" live={LIVE_MS}>
            <Issues issues={issues} root={root} />
          </Section>
          <div id="platform" data-live={LIVE_MS}>
            <PlatformStatus known={known} />
          </div>
        </div>
        <Section title="Tokens">
          <div class="pair" id="plots" data-live={LIVE_MS}>
            <TokenAges ages={gauges.tokenAges} isEstimated={gauges.isEstimated} />
            <RefreshesPerHour hours={hours} />
          </div>
        </Section>
        <div class="pair" id="numbers" data-live={LIVE_MS}>
          <Credentials gauges={gauges} root={root} />
          <Queues gauges={gauges} />
        </div>
        <Section title="For all resources">
          <ActionLinks actions={OF_ALL} root={root} />
        </Section>
      </>
    ),
  };
}

const URGENCIES: Readonly<Record<Issue["urgency"], string>> = { bad: "urgent", wait: "can wait" };

function Issues({ issues, root }: { issues: readonly Issue[]; root: string }) {
  return (
    <ul class="cards">
      {issues.length === 0 && (
        <li class="well">
          <p>Nothing. Tokens are exchanged and refreshed, and the sweeps run.</p>
        </li>
      )}
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

function Credentials({ gauges: { credentials, isEstimated }, root }: { gauges: Gauges; root: string }) {
  const found = credentials.filter(({ count }) => count > 0);
  return (
    <Section title="Credentials">
      {found.length === 0 && <p>There are no resources yet.</p>}
      <Facts
        of={found.map(({ state, count }) => [
          <a href={`${root}/resources?state=${state}`}>
            <State of={state} />
          </a>,
          `${isEstimated ? "about " : ""}${count.toLocaleString("en-GB")}`,
        ])}
      />
    </Section>
  );
}

function Queues({ gauges: { queues } }: { gauges: Gauges }) {
  return (
    <Section title="Due and not done">
      <Facts
        of={queues.map(({ queue, due, ageSeconds }) => [
          queue,
          <>
            {due.toLocaleString("en-GB")}
            {due >= MOST_ROWS_WAITING && " or more"}
            {due > 0 && <span class="quiet"> (the oldest for {duration(ageSeconds)})</span>}
          </>,
        ])}
      />
    </Section>
  );
}

const COLOURS: Readonly<Record<string, Look>> = { green: "well", yellow: "wait", red: "bad", blue: "wait" };

/** The platform's status, as its feed last said. */
function PlatformStatus({ known: { last, failure } }: { known: Known }) {
  return (
    <Section title="The platform's status">
      {last && <Systems status={last.status} />}
      {last && (
        <p class="quiet">
          Asked <Moment at={new Date(last.at)} />
        </p>
      )}
      {failure !== null && (
        <p>
          The status feed cannot be read now{last ? "; this is what it said last." : "."} Nothing waits for
          it.
        </p>
      )}
      {!last && failure === null && <p class="quiet">The feed is being asked; load this page again.</p>}
    </Section>
  );
}

function Systems({ status }: { status: CurrentStatus }) {
  const open = openIncidents(status);
  return (
    <>
      <Facts
        of={status.status.map(({ system, status: colour }) => [
          system,
          <State of={colour} look={COLOURS[colour] ?? "gone"} />,
        ])}
      />
      {!open && <p>The feed has no list of incidents.</p>}
      {open?.length === 0 && <p>No open incident.</p>}
      {open && open.length > 0 && (
        <ul class="cards">
          {open.map((incident) => (
            <li>
              <h3>{incident.title}</h3>
              <p>{latestWord(incident)}</p>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/**
 * The text of an incident's latest update. The platform's document does not say in which order the feed lists updates.
 */
function latestWord({ state, updates }: Incident): string {
  const at = ({ created_at: time }: (typeof updates)[number]) => Date.parse(time ?? "") || 0;
  const [latest] = [...updates].sort((one, other) => at(other) - at(one));
  return latest?.contents || latest?.title || (state ?? "");
}

const WORDS = { well: "fine", wait: "warning", bad: "fault", gone: "not checked" };

/** The results of all checks of `kit doctor`, with what to do. */
export function checkUpPage({ ok, checks }: DoctorReport): Page {
  const idsOf = (look: Look) => checks.filter((each) => lookOf(each) === look).map(({ id }) => id);
  const [bad, warnings, skipped] = [idsOf("bad"), idsOf("wait"), idsOf("gone")];
  const said = [
    ...(bad.length > 0 ? [`Something has to be fixed: ${bad.join(", ")}.`] : []),
    ...(skipped.length > 0 ? [`Not checked: ${skipped.join(", ")}.`] : []),
    ...(ok && warnings.length > 0 ? [`No check failed; to look at: ${warnings.join(", ")}.`] : []),
  ];
  return {
    title: "Check-up",
    content: (
      <>
        <p>{said.join(" ") || "Everything the service needs is there."}</p>
        <ul class="cards">
          {checks.map((check) => (
            <li class={lookOf(check)}>
              <h2>
                {check.id} <State of={WORDS[lookOf(check)]} look={lookOf(check)} />
              </h2>
              <p>{check.message}</p>
              {check.fix !== null && <p class="quiet">{check.fix}</p>}
            </li>
          ))}
        </ul>
      </>
    ),
  };
}

function lookOf({ ok, fix, isChecked = true }: Check): Look {
  if (!isChecked) return "gone";
  if (!ok) return "bad";
  return fix === null ? "well" : "wait";
}
