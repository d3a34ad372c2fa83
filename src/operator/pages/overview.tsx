import { MOST_ROWS_WAITING, samplesOf, type Sample } from "../../metrics/store.ts";
import { Facts, type Page } from "../../pages/pages.tsx";
import type { Check, Finding } from "../doctor/finding.ts";
import { inShort, type DoctorReport } from "../doctor/doctor.ts";
import type { Overview } from "../overview.ts";
import { duration } from "../wording.ts";
import { OF_ALL } from "./actions.tsx";
import { A, LIVE_MS, Links, number, Section, State, type Look } from "./parts.tsx";
import { isEstimated, RefreshesPerHour, TokenAges } from "./plots.tsx";

/** What needs an operator, the state of the service, and the actions on all resources. */
export function overviewPage({ issues, samples, hours }: Overview): Page {
  return {
    title: "Overview",
    content: (
      <>
        <Section title="Needs attention" id="attention" live={LIVE_MS}>
          <Issues issues={issues} />
        </Section>
        <Section title="Tokens">
          <div class="pair" id="plots" data-live={LIVE_MS}>
            <TokenAges samples={samples} />
            <RefreshesPerHour hours={hours} />
          </div>
        </Section>
        <div class="pair" id="numbers" data-live={LIVE_MS}>
          <Numbers samples={samples} />
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

function Numbers({ samples }: { samples: readonly Sample[] }) {
  const found = samplesOf(samples, "addon_credentials").filter(({ value }) => value > 0);
  const ages = samplesOf(samples, "addon_due_age_seconds");
  return (
    <>
      <Section title="Credentials">
        {found.length === 0 && <p>There are no resources yet.</p>}
        <Facts
          of={found.map(({ labels: { state }, value }) => [
            <A to={`/resources?state=${state}`}>
              <State of={String(state)} />
            </A>,
            `${isEstimated(samples) ? "about " : ""}${number(value)}`,
          ])}
        />
      </Section>
      <Section title="Due and not done">
        <Facts
          of={samplesOf(samples, "addon_due").map(({ labels, value }, index) => [
            labels["queue"],
            <>
              {number(value)}
              {value >= MOST_ROWS_WAITING && " or more"}
              {value > 0 && <span class="quiet"> (the oldest for {duration(ages[index]!.value)})</span>}
            </>,
          ])}
        />
      </Section>
    </>
  );
}

const WORDS = { well: "fine", wait: "warning", bad: "fault", gone: "not checked" };

/** The results of all checks of `kit doctor`, with what to do. */
export function checkUpPage(report: DoctorReport): Page {
  return {
    title: "Check-up",
    content: (
      <>
        <p>{inShort(report)}</p>
        <ul class="cards">
          {report.checks.map((check) => (
            <li class={lookOf(check)}>
              <h2>
                {check.id} <State of={WORDS[lookOf(check)]} look={lookOf(check)} />
              </h2>
              {(check.found ?? [check]).map(({ message, fix }) => (
                <>
                  <p>{message}</p>
                  {fix !== null && <p class="quiet">{fix}</p>}
                </>
              ))}
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
