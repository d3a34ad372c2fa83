import { type Sample, samplesOf } from "../../metrics/metrics.ts";
import { MOST_ROWS_WAITING } from "../../metrics/store.ts";
import { Facts, type Page } from "../../pages/pages.tsx";
import type { Process } from "../../processes/store.ts";
import { type DoctorReport, inShort } from "../doctor/doctor.ts";
import type { Check } from "../doctor/finding.ts";
import { URGENCIES } from "../facts/fact.ts";
import type { Overview } from "../overview.ts";
import { counted, duration, moment } from "../wording.ts";
import { OF_ALL } from "./actions.tsx";
import { BusinessOf } from "./business.tsx";
import { ButtonsOf, Card, WORDS_OF_URGENCY } from "./findings.tsx";
import { A, type Look, number, Section, State, Table } from "./parts.tsx";
import { aboutIfSampled, Plots } from "./plots.tsx";

/** How often the page renews itself. */
const RENEW_SECONDS = 15;

export function overviewPage(overview: Overview): Page {
  const { at, issues, remarks, notChecked, business, samples, hours, processes } = overview;
  return {
    title: "Overview",
    renew: RENEW_SECONDS,
    content: (
      <>
        <p class="age">
          As of <time dateTime={at.toISOString()}>{moment(at.toISOString())}</time> UTC
          <span data-age />
        </p>
        <Glance of={overview} />
        <Section title="Needs attention">
          {issues.length === 0 && <p>Nothing. Grants are exchanged, tokens refreshed, and the sweeps run.</p>}
          {notChecked.length > 0 && <p>Not checked, because of what follows: {notChecked.join(", ")}.</p>}
          {issues.map((issue) => (
            <Card of={issue} heading="h3" />
          ))}
        </Section>
        <BusinessOf of={business} />
        <Processes of={processes} />
        <div class="small">
          <div class="pair">
            <Numbers samples={samples} />
          </div>
          <Plots samples={samples} hours={hours} />
        </div>
        {remarks.length > 0 && (
          <Section title="Remarks on this installation">
            {remarks.map((remark) => (
              <Card of={remark} heading="h3" />
            ))}
          </Section>
        )}
        <Section title="For all resources">
          <ButtonsOf paths={OF_ALL.map(({ name }) => `/${name}`)} />
        </Section>
      </>
    ),
  };
}

/** The whole page in a line. */
function Glance({ of: { issues, business } }: { of: Overview }) {
  const ofUrgency = URGENCIES.flatMap((each) => {
    const count = issues.filter(({ urgency, because }) => urgency === each && !because).length;
    const [word, look] = WORDS_OF_URGENCY[each];
    return count === 0 ? [] : [<State of={`${count} ${word}`} look={look} />, " "];
  });
  return (
    <p class="glance">
      {issues.length === 0 ? <State of="all is well" look="well" /> : ofUrgency}{" "}
      {business && (
        <span>
          {counted(business.customers, "customer")}, {number(business.week.came)} new and{" "}
          {number(business.week.gone)} gone this week
        </span>
      )}
    </p>
  );
}

function Numbers({ samples }: { samples: readonly Sample[] }) {
  const found = samplesOf(samples, "addon_credentials").filter(({ value }) => value > 0);
  const ages = samplesOf(samples, "addon_due_age_seconds");
  const about = aboutIfSampled(samples);
  return (
    <>
      <Section title="Credentials">
        {found.length === 0 && <p>There are no resources yet.</p>}
        <Facts
          of={found.map(({ labels: { state }, value }) => [
            <A to={`/resources?state=${state}`}>
              <State of={String(state)} />
            </A>,
            about + number(value),
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
              {value > 0 && <small> (the oldest for {duration(ages[index]!.value)})</small>}
            </>,
          ])}
        />
      </Section>
    </>
  );
}

const LOOKS_OF_PROCESSES: Readonly<Record<string, Look>> = {
  ready: "well",
  starting: "wait",
  stopping: "wait",
  missing: "bad",
  misconfigured: "bad",
};

/** Those that run or are missing, then of the ended ones the last. */
function Processes({ of: all }: { of: readonly Process[] }) {
  const isEnded = ({ state }: Process) => ["stopped", "misconfigured", "gone"].includes(state);
  const [ended, others] = [all.filter(isEnded), all.filter((one) => !isEnded(one))];
  const shown = [...others.slice(0, 20), ...ended.slice(0, 3)];
  const left = all.length - shown.length;
  return (
    <Section title="Processes">
      <Table
        columns={[
          ["Process", ({ role, host, pid }) => [<strong>{role}</strong>, ` ${host}:${pid}`]],
          [
            "State",
            ({ state, why }) => [
              <State of={state} look={LOOKS_OF_PROCESSES[state] ?? "gone"} />,
              why && <small>{why}</small>,
            ],
          ],
          [
            "Build",
            ({ version, commit, node }) => [version, <small>{`${commit.slice(0, 12)}, Node ${node}`}</small>],
          ],
          ["Key", ({ keyId }) => (keyId ? <code>{keyId}</code> : "–")],
          ["Started", ({ startSeconds }) => `${duration(startSeconds)} ago`],
          ["Last heartbeat", ({ beatSeconds }) => `${duration(beatSeconds)} ago`],
        ]}
        rows={shown}
      />
      {left > 0 && (
        <p>
          {counted(left, "more row")}: <code>kit processes</code>
        </p>
      )}
    </Section>
  );
}

const WORDS = { well: "fine", wait: "warning", bad: "fault", gone: "not checked" };

export function checkUpPage(report: DoctorReport): Page {
  return {
    title: "Check-up",
    content: (
      <>
        <p>{inShort(report)}</p>
        <Table
          columns={[
            ["Check", ({ id }) => id],
            ["State", (check) => <State of={WORDS[lookOf(check)]} look={lookOf(check)} />],
            [
              "Found",
              (check) =>
                (check.found ?? [check]).map((each) =>
                  each.fact ? <Card of={each} heading="h2" /> : <div>{each.message}</div>,
                ),
            ],
          ]}
          rows={report.checks}
        />
      </>
    ),
  };
}

function lookOf({ ok, fix, isChecked = true }: Check): Look {
  if (!isChecked) return "gone";
  if (!ok) return "bad";
  return fix === null ? "well" : "wait";
}
