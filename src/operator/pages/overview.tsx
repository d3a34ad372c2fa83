import { MOST_ROWS_WAITING } from "../../metrics/store.ts";
import { Facts, type Page } from "../../pages/pages.tsx";
import type { Check, Finding } from "../doctor/finding.ts";
import type { DoctorReport } from "../doctor/doctor.ts";
import type { Gauges, Overview } from "../overview.ts";
import { duration } from "../wording.ts";
import { OF_ALL } from "./actions.tsx";
import { A, LIVE_MS, Links, number, Section, State, type Look } from "./parts.tsx";
import { RefreshesPerHour, TokenAges } from "./plots.tsx";

/** What needs an operator, the state of the service, and the actions on all resources. */
export function overviewPage({ issues, gauges, hours }: Overview): Page {
  return {
    title: "Overview",
    content: (
      <>
        <Section title="Needs attention" id="attention" live={LIVE_MS}>
          <Issues issues={issues} />
        </Section>
        <Section title="Tokens">
          <div class="pair" id="plots" data-live={LIVE_MS}>
            <TokenAges ages={gauges.tokenAges} isEstimated={gauges.isEstimated} />
            <RefreshesPerHour hours={hours} />
          </div>
        </Section>
        <div class="pair" id="numbers" data-live={LIVE_MS}>
          <Numbers gauges={gauges} />
        </div>
        <Section title="For all resources">
          <Links of={OF_ALL.map(({ label, name }) => ({ label, path: `/${name}` }))} as="buttons" />
        </Section>
      </>
    ),
  };
}

function Issues({ issues }: { issues: readonly Finding[] }) {
  return (
    <ul class="cards">
      {issues.length === 0 && (
        <li class="well">Nothing. Tokens are exchanged and refreshed, and the sweeps run.</li>
      )}
      {issues.map(({ ok, message, fix, links = [] }) => (
        <li class={ok ? "wait" : "bad"}>
          <p>
            <State of={ok ? "can wait" : "urgent"} look={ok ? "wait" : "bad"} /> <strong>{message}</strong>
          </p>
          <p>{fix}</p>
          <Links of={links} />
        </li>
      ))}
    </ul>
  );
}

function Numbers({ gauges: { credentials, isEstimated, queues } }: { gauges: Gauges }) {
  const found = credentials.filter(({ count }) => count > 0);
  return (
    <>
      <Section title="Credentials">
        {found.length === 0 && <p>There are no resources yet.</p>}
        <Facts
          of={found.map(({ state, count }) => [
            <A to={`/resources?state=${state}`}>
              <State of={state} />
            </A>,
            `${isEstimated ? "about " : ""}${number(count)}`,
          ])}
        />
      </Section>
      <Section title="Due and not done">
        <Facts
          of={queues.map(({ queue, due, ageSeconds }) => [
            queue,
            <>
              {number(due)}
              {due >= MOST_ROWS_WAITING && " or more"}
              {due > 0 && <span class="quiet"> (the oldest for {duration(ageSeconds)})</span>}
            </>,
          ])}
        />
      </Section>
    </>
  );
}

const WORDS = { well: "fine", wait: "warning", bad: "fault", gone: "not checked" };

/** The results of all checks of `kit doctor`, with what to do. */
export function checkUpPage({ checks }: DoctorReport): Page {
  const named = (look: Look, what: string) => {
    const ids = checks.filter((each) => lookOf(each) === look).map(({ id }) => id);
    return ids.length > 0 ? `${what}: ${ids.join(", ")}. ` : "";
  };
  const said =
    named("bad", "Something has to be fixed") + named("gone", "Not checked") + named("wait", "To look at");
  return {
    title: "Check-up",
    content: (
      <>
        <p>{said || "Everything the service needs is there."}</p>
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
