import type { Page } from "../../pages/pages.tsx";
import type { AuditEntry } from "../store.ts";
import { Facts, Moment, State, Table } from "./parts.tsx";

/** What operators did, and who came in or was refused, the newest first. */
export function auditPage(
  { entries, next }: { entries: readonly AuditEntry[]; next: number | null },
  root: string,
): Page {
  const aboutOf = ({ uuid }: AuditEntry) =>
    uuid === null ? "–" : <a href={`${root}/resources/${uuid}`}>{uuid}</a>;
  return {
    title: "Audit trail",
    content: (
      <>
        <p>
          What operators did, and who came in or was refused, the newest first. Nothing is ever deleted here.
        </p>
        {entries.length === 0 && <p>Nothing yet.</p>}
        {entries.length > 0 && (
          <Table
            columns={[
              ["Action", ({ id, action }) => <a href={`${root}/actions/${id}`}>{`${id}: ${action}`}</a>],
              ["Of", aboutOf],
              ["By", ({ operator }) => operator.name],
              ["From", ({ operator }) => operator.address ?? "–"],
              ["State", ({ state }) => <State of={state} />],
              ["What came of it", ({ message }) => message?.split("\n")[0] ?? "–"],
              ["Begun", ({ startedAt }) => <Moment at={startedAt} />],
            ]}
            rows={entries}
          />
        )}
        {next !== null && (
          <p>
            <a href={`${root}/actions?before=${next}`} rel="next">
              Older ones
            </a>
          </p>
        )}
      </>
    ),
  };
}

/** How often the script requests the page of a running action again. */
const LIVE_MS = 1_000;

/** One action: its progress, or how it ended. */
export function actionPage(entry: AuditEntry, root: string): Page {
  const { id, action, uuid, operator, state, message, startedAt, endedAt } = entry;
  const isRunning = state === "running";
  const live = isRunning ? LIVE_MS : undefined;
  const about = uuid === null ? root : `${root}/resources/${uuid}`;
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
          {isRunning && <Progress of={entry} />}
          <Facts
            of={[
              uuid === null ? null : ["Of", <a href={about}>{uuid}</a>],
              ["By", [`${operator.name} `, operator.account && <small>{operator.account}</small>]],
              operator.address === null ? null : ["From", operator.address],
              ["Begun", <Moment at={startedAt} />],
              endedAt && ["Ended", <Moment at={endedAt} />],
            ]}
          />
          {isRunning && (
            <p>
              <a href={`${root}/actions/${id}`}>Look again</a>
            </p>
          )}
        </div>
        <p>
          <a href={about}>{uuid === null ? "To the overview" : "To the resource"}</a>
        </p>
      </>
    ),
  };
}

function Progress({ of: { done, total } }: { of: AuditEntry }) {
  if (total === 0) return <p>At work.</p>;
  return (
    <label>
      {done.toLocaleString("en-GB")} of {total.toLocaleString("en-GB")}
      <progress value={done} max={total} />
    </label>
  );
}
