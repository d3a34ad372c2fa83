import { Facts, type Page } from "../../pages/pages.tsx";
import type { AuditEntry } from "../audit.ts";
import { A, Moment, number, Older, State, Table } from "./parts.tsx";

export function auditPage({ entries, next }: { entries: readonly AuditEntry[]; next: number | null }): Page {
  return {
    title: "Audit trail",
    content: (
      <>
        <p>What operators did, the newest first. Nothing is ever deleted here.</p>
        <Table
          columns={[
            ["Action", ({ id, action }) => <A to={`/actions/${id}`}>{`${id}: ${action}`}</A>],
            ["Of", ({ uuid }) => (uuid === null ? "–" : <A to={`/resources/${uuid}`}>{uuid}</A>)],
            ["By", ({ operator }) => operator.name],
            ["State", ({ state }) => <State of={state} />],
            ["What came of it", ({ message }) => message?.split("\n")[0] ?? "–"],
            ["Begun", ({ startedAt }) => <Moment at={startedAt} />],
          ]}
          rows={entries}
        />
        <Older path={next === null ? null : `/actions?before=${next}`} />
      </>
    ),
  };
}

/** One action: its progress, or how it ended. `wasRunning`: who is shown it pressed the same button meanwhile. */
export function actionPage(entry: AuditEntry, wasRunning: boolean): Page {
  const { id, action, uuid, operator, state, message, startedAt, endedAt, done, total } = entry;
  const isRunning = state === "running";
  return {
    refresh: isRunning ? 2 : undefined,
    title: `Action ${id}: ${action}`,
    content: (
      <>
        <div role="status">
          <p>
            <State of={state} />
          </p>
          {wasRunning && (
            <p>
              <bdi>{operator.name}</bdi> had begun the same action, so your press began nothing more.
            </p>
          )}
          {message?.split("\n").map((line) => (
            <p>{line}</p>
          ))}
          {(state === "stopped" || state === "interrupted") && (
            <p>Start it again: it continues with the rest.</p>
          )}
        </div>
        {isRunning && total !== 0 && (
          <label>
            {number(done)} of {number(total)}
            <progress value={done} max={total} />
          </label>
        )}
        <Facts
          of={[
            uuid && ["Of", <A to={`/resources/${uuid}`}>{uuid}</A>],
            ["By", [<bdi>{operator.name}</bdi>, " ", operator.account && <small>{operator.account}</small>]],
            operator.address && ["From", operator.address],
            ["Begun", <Moment at={startedAt} />],
            endedAt && ["Ended", <Moment at={endedAt} />],
          ]}
        />
      </>
    ),
  };
}
