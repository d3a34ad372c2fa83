import { MOST_ROWS_WAITING, samplesOf, type Sample, SAMPLED, type Hour } from "../../metrics/store.ts";
import { Facts, type Page } from "../../pages/pages.tsx";
import type { Check, Finding } from "../doctor/finding.ts";
import { inShort, type DoctorReport } from "../doctor/doctor.ts";
import type { Overview } from "../overview.ts";
import { duration } from "../wording.ts";
import { OF_ALL } from "./actions.tsx";
import { A, LIVE_MS, Links, number, Section, State, type Look } from "./parts.tsx";

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

/** `label` stands below the bar, and its bad part on the good one. */
interface Bar {
  label: string;
  good: number;
  bad: number;
  inWords: string;
}

/** Tokens live for eight hours: older than six means that refreshes have failed for hours. */
const NEAR_THE_END_SECONDS = 6 * 3_600;

/** Whether there are so many credentials that counts by state, and ages, are estimated from a sample. */
const isEstimated = (samples: readonly Sample[]) => samplesOf(samples, SAMPLED)[0]!.value < 100;

/** How old the access tokens in use are. A token is refreshed at about half of its life. */
function TokenAges({ samples }: { samples: readonly Sample[] }) {
  // The counts of a histogram include those of all buckets before.
  const upTo = samplesOf(samples, "addon_token_age_seconds_bucket").map(({ labels: { le }, value }) => ({
    ...{ bound: le === "+Inf" ? Infinity : Number(le), value },
  }));
  const short = (seconds: number) => (seconds < 3_600 ? `${seconds / 60} m` : `${seconds / 3_600} h`);
  const bars = upTo.map(({ bound, value }, index) => {
    const before = upTo[index - 1] ?? { bound: 0, value: 0 };
    const [count, from] = [value - before.value, duration(before.bound)];
    const isOld = bound > NEAR_THE_END_SECONDS;
    const label = bound === Infinity ? "older" : short(bound);
    return {
      label: index % 2 === 0 ? "" : label,
      ...{ good: isOld ? 0 : count, bad: isOld ? count : 0 },
      inWords: `${bound === Infinity ? `over ${from}` : `${from} to ${duration(bound)}`}: ${count}`,
    };
  });
  const title = `Age of the tokens in use${isEstimated(samples) ? ", estimated" : ""}`;
  return <BarChart id="ages" title={title} bars={bars} empty="There are no tokens in use yet." />;
}

function RefreshesPerHour({ hours }: { hours: readonly Hour[] }) {
  const bars = hours.map(({ at, refreshed, failed }, index) => {
    const hour = at.toISOString().slice(11, 13);
    return {
      label: (hours.length - 1 - index) % 4 === 0 ? hour : "",
      ...{ good: refreshed, bad: failed },
      inWords: `${hour}:00 UTC: ${refreshed} refreshed, ${failed} failed`,
    };
  });
  const empty =
    "The service refreshed none within the last 24 hours. What kit refreshes is not counted here.";
  return <BarChart id="refreshes" title="Refreshes per hour (UTC)" bars={bars} empty={empty} />;
}

const [WIDTH, HEIGHT, LABELS] = [480, 160, 20];

/**
 * A bar chart as inline SVG: its colours come from our stylesheet, in light and dark mode, so it needs neither a script
 * nor a style of its own. The same numbers stand below it as a list.
 */
function BarChart(chart: { id: string; title: string; bars: readonly Bar[]; empty: string }) {
  const { id, title, bars, empty } = chart;
  const most = Math.max(...bars.map(({ good, bad }) => good + bad), 0);
  const step = WIDTH / bars.length;
  const part = (index: number, below: number, count: number) => ({
    ...{ x: index * step, width: step * 0.75 },
    ...{ y: HEIGHT * (1 - (below + count) / most), height: (HEIGHT * count) / most },
  });
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {most === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + LABELS}`} role="img" aria-labelledby={`${id}-title`}>
            <title id={`${id}-title`}>{`${title}. The numbers stand below.`}</title>
            {bars.map(({ label, good, bad }, index) => (
              <>
                <rect {...part(index, 0, good)} />
                <rect class="bad" {...part(index, good, bad)} />
                <text x={(index + 0.375) * step} y={HEIGHT + 14} text-anchor="middle">
                  {label}
                </text>
              </>
            ))}
            <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
          </svg>
          <details>
            <summary>The numbers; the highest bar: {number(most)}</summary>
            <ul>{bars.map(({ good, bad, inWords }) => good + bad > 0 && <li>{inWords}</li>)}</ul>
          </details>
        </>
      )}
    </figure>
  );
}
