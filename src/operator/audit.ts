import { statement, retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import type { OnProgress } from "./work-through.ts";

/** Who does something as an operator. */
export interface Operator {
  /** The name in the audit trail: the account's e-mail; `operator` for the password; for a command, the system's user. */
  name: string;
  /** The platform's id of the account; null for the password. */
  account: string | null;
  /** The client's address, or the host on which a command ran; null if there is no client. */
  address: string | null;
}

export const BY_PASSWORD: Operator = { name: "operator", account: null, address: null };

/** What somebody did as an operator and its result, without secrets. */
export interface AuditEntry {
  id: number;
  action: string;
  /** Null if the action is not about one resource. */
  uuid: string | null;
  /** The operator, by the name they had at the time. */
  operator: Operator;
  /** `stopped`: its process ended before the action did. */
  state: "running" | "done" | "failed" | "stopped";
  message: string | null;
  done: number;
  total: number;
  startedAt: Date;
  endedAt: Date | null;
}

/** What an operator asks for, by sending a form or typing a command. */
export interface ActionRequest {
  action: string;
  uuid: string | null;
  operator: Operator;
  /** The unique name of the form: a form that is sent twice is one action. */
  form: string;
  requestId: string;
}

const PAGE_SIZE = 50;
const SEEN_EVERY_MS = 1_000;
const ENTRY = `id, action, uuid, json_build_object('name', operator, 'account', account, 'address', address) AS operator, message, done, total, started_at AS "startedAt", ended_at AS "endedAt",
  CASE WHEN state = 'running' AND seen_at < now() - interval '30 seconds' THEN 'stopped' ELSE state END AS state`;

// Two submissions of one form, in whichever processes they arrive, result in one row.
const begin = statement(
  "begin_operator_action",
  `INSERT INTO operator_actions (action, uuid, form, request_id, operator, account, address)
   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (form) DO NOTHING RETURNING id`,
);
const note = statement(
  "note_operator",
  `INSERT INTO operator_actions (action, form, request_id, operator, account, address, state, message, ended_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now()) ON CONFLICT (form) DO NOTHING`,
);
const findByForm = statement(
  "operator_action_of_form",
  `SELECT id, request_id AS "requestId" FROM operator_actions WHERE form = $1`,
);
const seen = statement(
  "see_operator_action",
  `UPDATE operator_actions SET done = $2, total = $3, seen_at = now() WHERE id = $1 AND state = 'running'`,
);
const end = statement(
  "end_operator_action",
  `UPDATE operator_actions SET done = $2, total = $3, state = $4, message = $5, seen_at = now(), ended_at = now()
   WHERE id = $1 AND state = 'running'`,
);
const find = statement("operator_action", `SELECT ${ENTRY} FROM operator_actions WHERE id = $1`);
const latest = statement(
  "operator_actions",
  `SELECT ${ENTRY} FROM operator_actions WHERE id < $1 ORDER BY id DESC LIMIT ${PAGE_SIZE + 1}`,
);
const ofResource = statement(
  "operator_actions_of_resource",
  `SELECT ${ENTRY} FROM operator_actions WHERE uuid = $1 ORDER BY id DESC LIMIT ${PAGE_SIZE}`,
);

/** The audit trail. Running actions store their progress in it, so that any process can show it. */
export function createAudit(db: Queryable) {
  return {
    async begin({
      action,
      uuid,
      operator,
      form,
      requestId,
    }: ActionRequest): Promise<{ id: number; isNew: boolean }> {
      const values = [action, uuid, form, requestId, operator.name, operator.account, operator.address];
      let tries = 0;
      return retryWhileDatabaseAway(async () => {
        tries += 1;
        const [begun] = await db.query<{ id: number }>(begin, values);
        if (begun) return { id: begun.id, isNew: true };
        const [known] = await db.query<{ id: number; requestId: string }>(findByForm, [form]);
        // If our own earlier try wrote the row and only its acknowledgement was lost, the action is new.
        return { id: known!.id, isNew: tries > 1 && known!.requestId === requestId };
      });
    },
    /** Writes down what took no time. Of those with the same `form`, one is written. */
    async note(
      { action, operator: { name, account, address }, form, requestId }: Omit<ActionRequest, "uuid">,
      { state, message }: Pick<AuditEntry, "state" | "message">,
    ): Promise<void> {
      await db.query(note, [action, form, requestId, name, account, address, state, message]);
    },
    /** Stores the progress of an action that has begun, each second, until its end is stored. */
    follow(id: number) {
      let [done, total] = [0, 0];
      const store = () => void db.query(seen, [id, done, total]).catch(() => undefined);
      const timer = setInterval(store, SEEN_EVERY_MS).unref();
      return {
        onProgress: ((now, of) => ([done, total] = [now, of])) satisfies OnProgress,
        async end({ state, message }: Pick<AuditEntry, "state" | "message">): Promise<void> {
          clearInterval(timer);
          await retryWhileDatabaseAway(() => db.query(end, [id, done, total, state, message]));
        },
      };
    },
    find: async (id: number): Promise<AuditEntry | null> =>
      (await db.query<AuditEntry>(find, [id]))[0] ?? null,
    ofResource: (uuid: string) => db.query<AuditEntry>(ofResource, [uuid]),
    /** The newest first; `next`, passed as `before`, gives the following page. Null: there is none. */
    async page(before: number | null): Promise<{ entries: AuditEntry[]; next: number | null }> {
      const found = await db.query<AuditEntry>(latest, [before ?? Number.MAX_SAFE_INTEGER]);
      const entries = found.slice(0, PAGE_SIZE);
      return { entries, next: found.length > PAGE_SIZE ? entries.at(-1)!.id : null };
    },
  };
}

export type Audit = ReturnType<typeof createAudit>;
