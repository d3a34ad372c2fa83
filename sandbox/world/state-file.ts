import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { defaultBehaviour, type BehaviourSettings, type SandboxSettings } from "../settings.ts";
import { tablesOf, type World } from "./world.ts";

/** Short, for a process that is killed forgets what it has not written, tokens it has issued among it. */
const WRITE_DELAY_MS = 10;

export interface StateFile {
  /** Something changed: written a moment later, together with what else changes until then. */
  changed(): void;
  /** Writes now what is not written yet. */
  flush(): void;
}

interface Snapshot {
  clockOffsetMs: number;
  partnerClientId: string;
  clientSecret: string;
  /** The secret the sandbox was started with: while it is given again, a later reset stays in force. */
  givenClientSecret: string | null;
  formerClientSecrets: string[];
  behaviour: Partial<BehaviourSettings>;
  tables: Record<string, object[]>;
}

/** Keeps a world in a file across restarts: loads what is there, then writes it whole and at once after changes. */
export function openStateFile(path: string, world: World, given: Partial<SandboxSettings>): StateFile {
  if (existsSync(path)) restore(world, JSON.parse(readFileSync(path, "utf8")) as Snapshot, given);
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    // Written beside and renamed: a reader, and a crash, see the old state or the new one, never half.
    writeFileSync(`${path}.new`, JSON.stringify(snapshotOf(world, given)), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  return {
    changed: () => void (timer ??= setTimeout(flush, WRITE_DELAY_MS)),
    flush,
  };
}

function snapshotOf(world: World, given: Partial<SandboxSettings>): Snapshot {
  const { settings } = world;
  const names = Object.keys(defaultBehaviour) as (keyof BehaviourSettings)[];
  return {
    clockOffsetMs: world.clock.offsetMs(),
    partnerClientId: world.partnerClientId,
    clientSecret: settings.clientSecret,
    givenClientSecret: given.clientSecret ?? null,
    formerClientSecrets: world.formerClientSecrets,
    behaviour: Object.fromEntries(names.map((name) => [name, settings[name]])),
    tables: Object.fromEntries(Object.entries(tablesOf(world)).map(([name, table]) => [name, table.all()])),
  };
}

function restore(world: World, snapshot: Snapshot, given: Partial<SandboxSettings>): void {
  world.clock.set(snapshot.clockOffsetMs);
  world.partnerClientId = snapshot.partnerClientId;
  world.formerClientSecrets.push(...snapshot.formerClientSecrets);
  Object.assign(world.settings, snapshot.behaviour, behaviourIn(given));
  if (given.clientSecret === undefined || given.clientSecret === snapshot.givenClientSecret) {
    world.settings.clientSecret = snapshot.clientSecret;
  }
  for (const [name, table] of Object.entries(tablesOf(world))) {
    for (const row of snapshot.tables[name] ?? []) table.add(row as never);
  }
}

function behaviourIn(given: Partial<SandboxSettings>): Partial<BehaviourSettings> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(defaultBehaviour, name)));
}
