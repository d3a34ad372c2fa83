import type { Page } from "../../../pages/pages.tsx";
import { Moment } from "../moments.tsx";
import { State } from "../state.tsx";
import type { AuditEntry } from "../../audit.ts";

/** What operators did, and who came in or was refused, the newest first. */
export function auditPage(
  { entries, next }: { entries: readonly AuditEntry[]; next: number | null },
  root: string,
): Page {
  return {
    title: "Audit trail",
    content: (
      <>
        <p>
          What operators did, and who came in or was refused, the newest first. Nothing is ever deleted here.
        </p>
        {entries.length === 0 && <p>Nothing yet.</p>}
        {entries.length > 0 && <Table entries={entries} root={root} />}
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

function Table({ entries, root }: { entries: readonly AuditEntry[]; root: string }) {
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Action</th>
          <th scope="col">Of</th>
          <th scope="col">By</th>
          <th scope="col">From</th>
          <th scope="col">State</th>
          <th scope="col">What came of it</th>
          <th scope="col">Begun</th>
        </tr>
      </thead>
      <tbody>
        {entries.map(({ id, action, uuid, operator, state, message, startedAt }) => (
          <tr>
            <td data-label="Action">
              <a href={`${root}/actions/${id}`}>
                {id}: {action}
              </a>
            </td>
            <td data-label="Of">{uuid === null ? "–" : <a href={`${root}/resources/${uuid}`}>{uuid}</a>}</td>
            <td data-label="By">{operator.name}</td>
            <td data-label="From">{operator.address ?? "–"}</td>
            <td data-label="State">
              <State of={state} />
            </td>
            <td data-label="What came of it">{message?.split("\n")[0] ?? "–"}</td>
            <td data-label="Begun">
              <Moment at={startedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
