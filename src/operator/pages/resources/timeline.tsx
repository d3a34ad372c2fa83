import type { AuditEntry } from "../../audit.ts";
import type { ResourceEvent, WholeResource } from "../../resources.ts";
import { Moment } from "../moments.tsx";

interface Happening {
  at: string;
  what: string;
  detail: string;
}

/** A resource's events and the operators' actions on it, the newest first. */
export function Timeline({ of: { events, actions } }: { of: WholeResource }) {
  const happenings = [...events.map(happened), ...actions.map(wasDone)].sort((one, other) =>
    one.at < other.at ? 1 : -1,
  );
  return (
    <ol class="timeline">
      {happenings.map(({ at, what, detail }) => (
        <li>
          {what} {detail !== "" && <span class="quiet">{detail}</span>}
          <Moment at={at} />
        </li>
      ))}
    </ol>
  );
}

function happened({ at, type, detail }: ResourceEvent): Happening {
  const members = Object.entries((detail ?? {}) as Record<string, unknown>);
  const told = members.map(
    ([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`,
  );
  return { at, what: type.replaceAll("_", " "), detail: told.join(", ") };
}

function wasDone({ startedAt, operator, action, state }: AuditEntry): Happening {
  return { at: startedAt.toISOString(), what: `${operator.name}: ${action}`, detail: state };
}
