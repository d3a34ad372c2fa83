import type { OperatorAction } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import {
  anyRow,
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  statement,
  type Stored,
} from "../database/statement.ts";

// What writes an action into the audit trail. SQL, because each command of `kit` that changes something is in the trail, and
// a long one stores its progress (`Database.prisma`).

export interface Operator {
  /** The account's e-mail; `operator` for the password; for a command, the system's user. */
  name: string;
  /** The platform's id of the account; null for the password. */
  account: string | null;
  /** The client's address, or the host on which a command ran; null if there is no client. */
  address: string | null;
}

export interface ActionRequest {
  action: string;
  /** Null if the action is not about one resource. */
  uuid: string | null;
  operator: Operator;
  /** The unique name of the form: a form that is sent twice, to whichever processes, is one action. */
  form: string;
  requestId: string;
}

/** The message holds no secrets. */
export interface ActionEnd {
  /** `interrupted`: by a signal or the stop of its process, with some of its work not begun. */
  state: "done" | "failed" | "interrupted";
  message: string | null;
}

const ACTION = columnsOf<OperatorAction>()("a", "id", "requestId");
type StoredAction = RowOf<typeof ACTION>;

type NewAction = Pick<
  OperatorAction,
  "action" | "uuid" | "operator" | "account" | "address" | "form" | "requestId"
>;
const insert = statement<NewAction, Pick<StoredAction, "id">>("insert_action").sql(
  `INSERT INTO operator_actions (action, uuid, operator, account, address, form, request_id)
   VALUES (:action, :uuid, :operator, :account, :address, :form, :requestId)
   ON CONFLICT (form) DO NOTHING RETURNING id`,
);
const ofForm = statement<Pick<OperatorAction, "form">, StoredAction>("find_action_of_form").sql(
  `SELECT ${ACTION} FROM operator_actions a WHERE a.form = :form`,
);

type Same = Pick<OperatorAction, "action" | "uuid" | "form">;
// Who waits for the lock sees in the next statement what its holder wrote.
const lock = statement<Pick<Same, "action" | "uuid">>("lock_action").sql(
  `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'operator action', :action::text, :uuid::text), 0))`,
);
const running = statement<Same & { stoppedSeconds: number }, StoredAction>("find_running_action").sql(
  `SELECT ${ACTION} FROM operator_actions a
   WHERE a.action = :action AND a.uuid IS NOT DISTINCT FROM :uuid::uuid AND a.form <> :form AND a.state = 'running'
     AND a.seen_at > now() - make_interval(secs => :stoppedSeconds) ORDER BY a.id LIMIT 1`,
);

/**
 * The same as {@link writeAction}, unless the same action of another form runs, perhaps another operator's: then that one,
 * with `isAnother`. Of those who ask at the same moment, one begins it. `stoppedSeconds`: after so long without a sign of
 * it, its process has ended.
 */
export const writeActionAlone = (db: Database, request: ActionRequest, stoppedSeconds: number) =>
  db.transaction(async (tx) => {
    const { action, uuid, form } = request;
    await tx.query(lock, { action, uuid });
    const other = await oneRow(tx, running, { action, uuid, form, stoppedSeconds });
    if (other) return { ...other, isNew: false, isAnother: true };
    return { ...(await writeAction(tx, request)), isAnother: false };
  });

/** The action of this form. `isNew`: it was written just now. */
export async function writeAction(db: Queryable, { operator, ...request }: ActionRequest) {
  const { name, ...who } = operator;
  const isNew = await anyRow(db, insert, { ...request, ...who, operator: name });
  return { ...(await oneRow(db, ofForm, { form: request.form }))!, isNew };
}

type Progress = Pick<Stored<OperatorAction>, "done" | "total">;
type ProgressOf = Pick<Stored<OperatorAction>, "id"> & Progress;

const progress = statement<ProgressOf>("store_action_progress").sql(
  `UPDATE operator_actions SET done = :done, total = :total, seen_at = now() WHERE id = :id AND state = 'running'`,
);

/** Of one that has not ended. */
export const writeProgress = (db: Queryable, id: number, { done, total }: Progress) =>
  db.query(progress, { id, done, total });

const end = statement<ProgressOf & ActionEnd>("end_action").sql(
  `UPDATE operator_actions SET done = :done, total = :total, seen_at = now(), ended_at = now(), state = :state, message = :message
   WHERE id = :id AND state = 'running'`,
);

export const writeEnd = (db: Queryable, id: number, { done, total, state, message }: Progress & ActionEnd) =>
  db.query(end, { id, done, total, state, message });
