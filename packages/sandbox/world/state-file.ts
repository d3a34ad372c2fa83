import { accessSync, constants, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type BehaviourSettings,
  defaultBehaviour,
  type PartnerSettings,
  type SandboxSettings,
} from "../settings.ts";
import { giveClientSecret } from "./client-secret.ts";
import { ownStateFile } from "./state-owner.ts";
import { tablesOf, type World } from "./world.ts";

/** Short, because a process that is killed loses what it has not written, such as tokens it has issued. */
const WRITE_DELAY_MS = 10;
/** After a write that failed. */
const RETRY_MS = 1_000;
/**
 * A large world takes long to write, since it is written as a whole: the pause is four times the last write, so that
 * four fifths of the time remain for other work.
 */
const PAUSE_PER_WRITE = 4;

/** The file is not a state file, or only a part of one. */
export class BrokenStateFile extends Error {
  constructor(path: string, cause: unknown) {
    super(
      `${path} is no state file of the sandbox, or it is damaged: delete it, and the platform begins anew, without what was installed.`,
      { cause },
    );
    this.name = "BrokenStateFile";
  }
}

export interface StateFile {
  /**
   * Schedules a write of what has changed; changes within the delay are written together. Does nothing after `close`.
   */
  changed(): void;
  /** Writes pending changes now, and releases the file. */
  close(): Promise<void>;
}

interface Snapshot {
  clockOffsetMs: number;
  partnerClientId: string;
  clientSecret: string;
  /** The secret that the sandbox was started with: if the same is given again, a reset since then stays in force. */
  givenClientSecret: string | null;
  formerClientSecrets: string[];
  /** The secret that was given last, at the start or at run time; absent in old files. */
  lastGivenClientSecret?: string;
  /** The partner's settings now, and those given at the start: if the same are given again, later changes stay. */
  partner?: { now: PartnerPart; given: PartnerPart };
  behaviour: Partial<BehaviourSettings>;
  tables: Record<string, object[]>;
}

type PartnerPart = Partial<Omit<PartnerSettings, "clientSecret">>;

const partnerNames = [
  "partnerUrl",
  "resourcesPath",
  "addonId",
  "addonPassword",
  "ssoSalt",
  "addonManifest",
] as const satisfies (keyof PartnerPart)[];

/**
 * Keeps a world in a file across restarts: loads the file if it exists, then writes the whole world atomically after
 * changes. Throws {@link BrokenStateFile} if the file cannot be read as a state file; also throws if the folder is not
 * writable or another sandbox uses the file.
 */
export async function openStateFile(
  path: string,
  world: World,
  given: Partial<SandboxSettings>,
): Promise<StateFile> {
  // Fails now, before any state could be lost, if the folder is not writable.
  accessSync(dirname(path), constants.W_OK);
  const letGo = await ownStateFile(path);
  try {
    if (existsSync(path)) load(path, world, given);
  } catch (error) {
    await letGo();
    throw error;
  }
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  let tookMs = 0;
  const flush = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    const started = performance.now();
    // Written to a second file and renamed: a reader, also after a crash, finds the old state or the new one, never
    // half of it.
    writeFileSync(`${path}.new`, JSON.stringify(snapshotOf(world, given)), { mode: 0o600 });
    renameSync(`${path}.new`, path);
    tookMs = performance.now() - started;
  };
  const flushIn = (ms: number) => {
    timer ??= setTimeout(() => {
      try {
        flush();
      } catch (error) {
        console.error(`The state cannot be written, and is tried again: ${(error as Error).message}`);
        flushIn(RETRY_MS);
      }
    }, ms);
  };
  return {
    changed() {
      if (isOpen) flushIn(Math.max(WRITE_DELAY_MS, tookMs * PAUSE_PER_WRITE));
    },
    async close() {
      // From here on another sandbox may own the file.
      isOpen = false;
      try {
        flush();
      } finally {
        await letGo();
      }
    },
  };
}

function load(path: string, world: World, given: Partial<SandboxSettings>): void {
  try {
    restore(world, JSON.parse(readFileSync(path, "utf8")) as Snapshot, given);
  } catch (error) {
    throw new BrokenStateFile(path, error);
  }
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
    lastGivenClientSecret: world.lastGivenClientSecret,
    partner: { now: partnerIn(settings), given: partnerIn(given) },
    behaviour: Object.fromEntries(names.map((name) => [name, settings[name]])),
    tables: Object.fromEntries(Object.entries(tablesOf(world)).map(([name, table]) => [name, table.all()])),
  };
}

function restore(world: World, snapshot: Snapshot, given: Partial<SandboxSettings>): void {
  world.clock.set(snapshot.clockOffsetMs);
  world.partnerClientId = snapshot.partnerClientId;
  world.formerClientSecrets.push(...snapshot.formerClientSecrets);
  Object.assign(world.settings, snapshot.behaviour, behaviourIn(given));
  world.settings.clientSecret = snapshot.clientSecret;
  world.lastGivenClientSecret =
    snapshot.lastGivenClientSecret ?? snapshot.givenClientSecret ?? snapshot.clientSecret;
  if (snapshot.partner) restorePartner(world, snapshot.partner, given);
  for (const [name, table] of Object.entries(tablesOf(world))) {
    for (const row of snapshot.tables[name] ?? []) table.add(row as never);
  }
  if (given.clientSecret !== undefined && given.clientSecret !== snapshot.givenClientSecret)
    giveClientSecret(world, given.clientSecret);
  // The list of add-ons still to be installed is not stored, so an app that was being made cannot be completed.
  for (const { setup } of world.apps.all()) if (setup?.state === "creating") setup.state = "failed";
}

function behaviourIn(given: Partial<SandboxSettings>): Partial<BehaviourSettings> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(defaultBehaviour, name)));
}

function restorePartner(
  world: World,
  before: { now: PartnerPart; given: PartnerPart },
  given: Partial<SandboxSettings>,
): void {
  const isSame = (name: keyof PartnerPart) => isDeepStrictEqual(given[name], before.given[name]);
  // An id that was not given comes from the manifest.
  const isGivenAgain = (name: keyof PartnerPart) =>
    isSame(name) && (name !== "addonId" || isSame("addonManifest"));
  const unchanged = Object.entries(before.now).filter(([name]) => isGivenAgain(name as keyof PartnerPart));
  Object.assign(world.settings, Object.fromEntries(unchanged));
}

function partnerIn(settings: Partial<SandboxSettings>): PartnerPart {
  const there = partnerNames.filter((name) => settings[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, settings[name]]));
}
