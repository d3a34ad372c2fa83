import { openIncidents, type CurrentStatus, type Incident } from "../../platform-status.ts";
import type { Known } from "../../../platform/status-watch.ts";
import { Moment } from "../moments.tsx";
import { State, type Look } from "../state.tsx";

const LOOKS: Readonly<Record<string, Look>> = { green: "well", yellow: "wait", red: "bad", blue: "wait" };

/** The platform's status, as its feed last said. */
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
        <p>
          The status feed cannot be read now{last ? "; this is what it said last." : "."} Nothing waits for
          it.
        </p>
      )}
      {!last && failure === null && <p class="quiet">The feed is being asked; load this page again.</p>}
    </section>
  );
}

function Systems({ status }: { status: CurrentStatus }) {
  const open = openIncidents(status);
  return (
    <>
      <dl>
        {status.status.map(({ system, status: colour }) => (
          <>
            <dt>{system}</dt>
            <dd>
              <State of={colour} look={LOOKS[colour] ?? "gone"} />
            </dd>
          </>
        ))}
      </dl>
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
