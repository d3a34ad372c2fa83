import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { openDatabase, statement, type DatabaseSettings } from "../../src/database/database.ts";
import { messageOf } from "../../src/errors.ts";
import { program } from "./program.ts";

/** A process of its own with the database open, as another web process or the command line would be. */
export type DatabaseProcess = {
  readonly pid: number;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Runs the statement in a transaction that never ends. */
  beginAndStay(text: string): Promise<unknown>;
  /** Kills, pauses or resumes the process without giving it a chance to react. */
  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
  /** Closes the database and ends the process. */
  close(): Promise<void>;
};

/** Resolves when the process has opened the database; rejects if it could not. */
export async function aDatabaseProcess(settings: DatabaseSettings): Promise<DatabaseProcess> {
  const child = fork(program("test/support/database-process.ts"), [JSON.stringify(settings)], {
    execArgv: [],
  });
  const gone = once(child, "exit");
  const asked = new Map<number, (answer: Answer) => void>();
  child.on("message", (answer: Answer) => asked.get(answer.id)?.(answer));
  void gone.then(() => asked.forEach((answer, id) => answer({ id, error: "the process has ended" })));
  const answerTo = (id: number) =>
    new Promise<Answer["rows"]>((resolve, reject) => {
      asked.set(id, ({ rows, error }) => (error === undefined ? resolve(rows) : reject(new Error(error))));
    });
  const ask = (request: Omit<Request, "id">) => {
    const id = asked.size;
    child.send({ id, ...request });
    return answerTo(id);
  };
  await answerTo(OPENED);
  return {
    pid: child.pid as number,
    query: async (text, values = []) => (await ask({ text, values })) ?? [],
    beginAndStay: (text) => ask({ text, values: [], stay: true }),
    signal: (signal) => void child.kill(signal),
    close: async () => {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

type Request = { id: number; text: string; values: unknown[]; stay?: boolean };
type Answer = { id: number; rows?: Record<string, unknown>[]; error?: string };

/** The id of the first answer, which is sent unasked: whether the database could be opened. */
const OPENED = 0;

async function serve(settings: DatabaseSettings): Promise<void> {
  const send = (answer: Answer): void => void process.send?.(answer);
  const database = openDatabase(settings);
  const answer = async ({ text, values, stay, id }: Request): Promise<void> => {
    const asked = statement(`test_${id}`, text);
    if (!stay) return send({ id, rows: await database.query(asked, values) });
    await database.transaction(async (tx) => {
      send({ id, rows: await tx.query(asked, values) });
      await new Promise(() => undefined);
    });
  };
  process.on("message", (request: Request) => {
    answer(request).catch((error: unknown) => send({ id: request.id, error: messageOf(error) }));
  });
  process.once("disconnect", () => void database.close());
  send({ id: OPENED });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve(JSON.parse(process.argv[2] as string) as DatabaseSettings);
}
