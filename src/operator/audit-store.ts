import { statement, type Queryable } from "../database/database.ts";

// What writes an action into the audit trail. Not through Prisma, which takes 100 MB of memory: each command of `kit` that
// changes something is in the trail.

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

const insert = statement(
  "insert_action",
  `INSERT INTO operator_actions (action, uuid, operator, account, address, form, request_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (form) DO NOTHING RETURNING id`,
);
const ofForm = statement(
  "find_action_of_form",
  `SELECT id, request_id AS "requestId" FROM operator_actions WHERE form = $1`,
);

/** The action of this form. `isNew`: it was written just now. */
export async function writeAction(db: Queryable, request: ActionRequest) {
  const { action, uuid, operator, form, requestId } = request;
  const { name, account, address } = operator;
  const isNew = (await db.query(insert, [action, uuid, name, account, address, form, requestId])).length > 0;
  const [stored] = await db.query<{ id: number; requestId: string | null }>(ofForm, [form]);
  return { ...stored!, isNew };
}

const progress = statement(
  "store_action_progress",
  `UPDATE operator_actions SET done = $2, total = $3, seen_at = now() WHERE id = $1 AND state = 'running'`,
);
const end = statement(
  "end_action",
  `UPDATE operator_actions SET done = $2, total = $3, seen_at = now(), ended_at = now(), state = $4, message = $5
   WHERE id = $1 AND state = 'running'`,
);

interface Progress {
  done: number;
  total: number;
}

/** Of one that has not ended. */
export const writeProgress = (db: Queryable, id: number, { done, total }: Progress) =>
  db.query(progress, [id, done, total]);

export const writeEnd = (db: Queryable, id: number, { done, total, state, message }: Progress & ActionEnd) =>
  db.query(end, [id, done, total, state, message]);
