import { openIncidents, type CurrentStatus } from "../../operator/platform-status.ts";
import { Moment } from "../moments.tsx";
import type { Known } from "../../platform/status-watch.ts";

const LOOKS: Readonly<Record<string, string>> = { green: "well", yellow: "wait", red: "bad", blue: "wait" };

/** What the platform says of itself, as last heard. */
export function StatusPart({ known: { last, failure } }: { known: Known }) {
  return (
    <section>
      <h2>The platform's status</h2>
      {last && <Systems status={last.status} />}
      {last && (
        <p class="quiet">
          Asked <Moment at={new Date(last.at)} />
        </p>
      )}
      {failure !== null && (
        <p>The status feed cannot be read now{last ? "; this is what it said last." : "."} Nothing waits for it.</p>
      )}
      {!last && failure === null && <p class="quiet">The feed is being asked; load this page again.</p>}
    </section>
  );
} // prettier-ignore

function Systems({ status }: { status: CurrentStatus }) {
  const open = openIncidents(status);
  return (
    <>
      <dl>
        {status.status.map(({ system, status: colour }) => (
          <>
            <dt>{system}</dt>
            <dd>
              <span class={`state ${LOOKS[colour] ?? "gone"}`}>{colour}</span>
            </dd>
          </>
        ))}
      </dl>
      {open.length === 0 && <p>No open incident.</p>}
      <ul class="cards">
        {open.map(({ title, state, updates }) => (
          <li>
            <h3>{title}</h3>
            <p>{updates.at(-1)?.contents ?? state ?? ""}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
