import type { Page } from "../../../pages/pages.tsx";
import { Moment } from "../moments.tsx";
import { State } from "../state.tsx";
import type { AuditEntry } from "../../audit.ts";

/** How often the script requests the page again. */
const LIVE_MS = 1_000;

/** One action: its progress, or how it ended. */
export function actionPage(entry: AuditEntry, root: string): Page {
  const { id, action, uuid, operator, state, message, done, total, startedAt, endedAt } = entry;
  const isRunning = state === "running";
  const live = isRunning ? LIVE_MS : undefined;
  const about = uuid === null ? "" : `/resources/${uuid}`;
  return {
    title: `Action ${id}: ${action}`,
    content: (
      <>
        {/* The script replaces only its content, so a screen reader announces the end of the action, once. */}
        <div role="status">
          <div id="end" data-live={live}>
            <p>
              <State of={state} />
            </p>
            {state === "stopped" && (
              <p>Its process ended before it did. Begin it again: it goes on with the rest.</p>
            )}
            {message?.split("\n").map((line) => (
              <p>{line}</p>
            ))}
          </div>
        </div>
        <div id="action" data-live={live}>
          {isRunning && <Progress done={done} total={total} />}
          <dl>
            {uuid !== null && (
              <>
                <dt>Of</dt>
                <dd>
                  <a href={root + about}>{uuid}</a>
                </dd>
              </>
            )}
            <dt>By</dt>
            <dd>
              {operator.name} {operator.account && <small>{operator.account}</small>}
            </dd>
            {operator.address && (
              <>
                <dt>From</dt>
                <dd>{operator.address}</dd>
              </>
            )}
            <dt>Begun</dt>
            <dd>
              <Moment at={startedAt} />
            </dd>
            {endedAt && (
              <>
                <dt>Ended</dt>
                <dd>
                  <Moment at={endedAt} />
                </dd>
              </>
            )}
          </dl>
          {isRunning && (
            <p>
              <a href={`${root}/actions/${id}`}>Look again</a>
            </p>
          )}
        </div>
        <p>
          <a href={root + about}>{uuid === null ? "To the overview" : "To the resource"}</a>
        </p>
      </>
    ),
  };
}

function Progress({ done, total }: { done: number; total: number }) {
  if (total === 0) return <p>At work.</p>;
  return (
    <label>
      {done.toLocaleString("en-GB")} of {total.toLocaleString("en-GB")}
      <progress value={done} max={total} />
    </label>
  );
}
