import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openDatabase, statement } from "../../src/database/database.ts";
import { checkProvisions } from "../books.ts";
import { measureLoad, contest } from "../contest.ts";
import { NEVER_MS } from "../platform-process.ts";
import { provisions } from "../provisions.ts";
import type { Work } from "./work.ts";

/**
 * The embedded database, which runs in the service's process. It is for development and demonstrations, since it does
 * not flush to the disk: so it has no target, and is shown beside the floor on PostgreSQL, which does.
 */
export const embedded: Work = {
  name: "embedded",
  async measure(bench) {
    const { quick, roundMs } = bench.options;
    await bench.platform.tell({ tokenMs: NEVER_MS });
    const dataDir = mkdtempSync(path.join(tmpdir(), "bench-embedded-"));
    process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
    const floorDatabase = await bench.databases.create();
    const floor = await bench.startFloor("bare-http", bench.settingsFor(floorDatabase));
    const service = await bench.startService("web", bench.settingsFor({ url: "" }, { DATA_DIR: dataDir }));
    const [asked, floorAsked] = [
      provisions({ plan: "dedicated", status: 202 }),
      provisions({ plan: "dedicated", status: 202 }),
    ];
    const plan = { connections: 32, forMs: roundMs };
    const subject = { round: () => measureLoad(service, asked, plan) };
    const outcome = await contest(
      { round: () => measureLoad(floor, floorAsked, plan) },
      subject,
      quick ? 2 : 4,
    );

    const ended = service.stop();
    await bench.platform.tell({ tokenMs: 0 });
    await Promise.all([floor.kill(), ended]);
    const database = await openDatabase({ dataDir, role: "owner", poolSize: 1 });
    const ask = async <Row extends object>(text: string) =>
      (await database.query(statement("bench", text))) as Row[];
    await checkProvisions({ ask }, asked.uuids, 202).finally(() => database.close());
    await floorDatabase.drop();
    return [
      {
        work: "provision answered 202, embedded database",
        unit: "req/s",
        floor: { name: "bare-http", value: outcome.floor.perSecond },
        subject: outcome.subject.perSecond,
        ratio: outcome.ratio,
        target: {},
        sample: outcome.subject,
      },
    ];
  },
};
