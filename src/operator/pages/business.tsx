import type { Business, DayOfBusiness, Failure } from "../business.ts";
import { counted } from "../wording.ts";
import { Named } from "./findings.tsx";
import { A, Moment, number, Section } from "./parts.tsx";

// How the service is doing: customers, the week, today's failures.

/** The plans with the most customers. */
const MOST_PLANS = 8;

export function BusinessOf({ of }: { of: Business | null }) {
  if (of === null)
    return (
      <Section title="Customers">
        <p>They could not be read just now: the database took too long.</p>
      </Section>
    );
  const { customers, isEstimate, plans, days, week } = of;
  const about = isEstimate ? "about " : "";
  const { done, later, refused, lost } = week.provisions;
  const shown = plans.slice(0, MOST_PLANS);
  const others = plans.slice(MOST_PLANS);
  return (
    <>
      <Section title="Customers">
        <dl class="figures">
          <Figure name="Customers" value={about + number(customers)} />
          <Figure name="New this week" value={number(week.came)} />
          <Figure name="Gone" value={number(week.gone)} />
          <Figure name="Plan changes" value={number(week.changed)} />
          <Figure name="Provisions: done (200)" value={number(done)} />
          <Figure name="Later (202)" value={number(later)} />
          <Figure name="Refused (4xx)" value={number(refused)} />
          <Figure name="Lost (5xx)" value={number(lost)} isBad={lost > 0} />
        </dl>
        <div class="pair">
          <table class="numbers">
            <caption>By plan</caption>
            <thead>
              <tr>
                <th scope="col">Plan</th>
                <th scope="col">Customers</th>
                <th scope="col">of them arriving</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ plan, customers: count, arriving }) => (
                <tr>
                  <th scope="row">
                    <A to={`/resources?${new URLSearchParams({ plan }).toString()}`}>
                      <bdi>{plan}</bdi>
                    </A>
                  </th>
                  <td>{about + number(count)}</td>
                  <td>{number(arriving)}</td>
                </tr>
              ))}
              {others.length > 0 && (
                <tr>
                  <th scope="row">{counted(others.length, "other plan")}</th>
                  <td>{number(others.reduce((sum, { customers: count }) => sum + count, 0))}</td>
                  <td />
                </tr>
              )}
            </tbody>
          </table>
          <Week of={days} />
        </div>
      </Section>
      <FailedToday of={of} />
    </>
  );
}

function Figure(props: { name: string; value: string; isBad?: boolean }) {
  return (
    <div class={props.isBad ? "bad" : undefined}>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  );
}

const WEEKDAYS = "Sun Mon Tue Wed Thu Fri Sat".split(" ");

function Week({ of: days }: { of: readonly DayOfBusiness[] }) {
  return (
    <table class="numbers">
      <caption>By day (UTC)</caption>
      <thead>
        <tr>
          {["Day", "New", "Gone", "Plans", "200", "202", "4xx", "5xx"].map((title) => (
            <th scope="col">{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[...days].reverse().map(({ day, came, gone, changed, provisions }, index) => (
          <tr>
            <th scope="row">
              <time dateTime={day}>
                {index === 0 ? "Today" : `${WEEKDAYS[new Date(day).getUTCDay()]} ${day.slice(8)}`}
              </time>
            </th>
            {[
              came,
              gone,
              changed,
              provisions.done,
              provisions.later,
              provisions.refused,
              provisions.lost,
            ].map((count) => (
              <td class={count === 0 ? "none" : undefined}>{number(count)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function FailedToday({ of: { failures, failedCalls } }: { of: Business }) {
  return (
    <Section title="Failed today">
      {failures.length === 0 && failedCalls.length === 0 && <p>Nothing since midnight, UTC.</p>}
      {failures.map((failure) => (
        <OfType failure={failure} />
      ))}
      {failedCalls.length > 0 && (
        <p>
          Calls of your functions that failed or were cut off, and are made again:{" "}
          {failedCalls.map(({ function: name, count }) => `${name}() ${number(count)}`).join(", ")}.
        </p>
      )}
    </Section>
  );
}

function OfType({ failure: { inWords, count, lastAt, some } }: { failure: Failure }) {
  return (
    <>
      <p>
        <strong>{number(count)}</strong> {inWords}, the last <Moment at={lastAt} />.
      </p>
      <Named whom={{ count, uuids: [], some }} />
    </>
  );
}
