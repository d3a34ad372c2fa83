import type { Random } from "../chaos/random.ts";
import { junkKey, junkValue, sizeUpTo } from "./junk.ts";
import { raw } from "./raw-json.ts";

/** A provision request that is being mutated. */
export type Request = Record<string, unknown>;
/** Changes the request in place, or returns its replacement. */
type Mutation = (request: Request, random: Random) => unknown;

/** Mutations of a provision request's members, by their names for the report. */
export const requestMutations: Record<string, Mutation> = {
  "a member is junk": (request, random) => {
    const [object, key] = somewhere(request, random);
    object[key] = junkValue(random);
  },
  "a member is missing": (request, random) => {
    const [object, key] = somewhere(request, random);
    delete object[key];
  },
  "a member too many": (request, random) => {
    const [object] = somewhere(request, random);
    define(object, junkKey(random), junkValue(random));
  },
  "a member is renamed": (request, random) => {
    const [object, key] = somewhere(request, random);
    const value = object[key];
    delete object[key];
    define(object, random.one([junkKey(random), key.toUpperCase(), ` ${key}`]), value);
  },
  "two members change places": (request, random) => {
    const [one, oneKey] = somewhere(request, random);
    const [other, otherKey] = somewhere(request, random);
    if (one[oneKey] === other || other[otherKey] === one) return;
    [one[oneKey], other[otherKey]] = [other[otherKey], one[oneKey]];
  },
  "a uuid of another form": (request, random) => {
    const uuid = String(request["uuid"]);
    request["uuid"] = random.one([
      ...[uuid.toUpperCase(), `{${uuid}}`, `urn:uuid:${uuid}`, uuid.replaceAll("-", ""), ` ${uuid}`, `${uuid}\n`],
      ...[uuid.slice(1), `${uuid}0`, uuid.replace(/.$/, "g"), uuid.replaceAll("-", "\u2010"), [uuid], { uuid }],
      ...[uuid.replace(/^./, "\uff11"), `${uuid}\u0000`, uuid.replace(/-(.)/, "-\u0661")],
    ]); // prettier-ignore
  },
  "another plan": (request, random) => {
    const foreign = ["__proto__", "constructor", "toString", "teapots:basic", "BASIC", " basic", "basic\n", "basіc"];
    request["plan"] = random.one([...["premium", "dedicated"], ...foreign, "🫖".repeat(31), `x${"🫖".repeat(31)}`]);
  }, // prettier-ignore
  "another grant": (request, random) => {
    const grant = request["oauth_grant"] as Request;
    request["oauth_grant"] = random.one<() => unknown>([
      () => null,
      () => undefined,
      () => ({ ...grant, code: random.one(["", "c".repeat(2_048), "c".repeat(2_049), "🫖".repeat(1_024), 17]) }),
      () => ({ ...grant, expires_at: random.one(TIMES) }),
      () => ({ ...grant, type: random.one([null, "refresh_token", "", 1]) }),
      () => [grant],
      () => JSON.stringify(grant),
    ])();
  }, // prettier-ignore
  "many options": (request, random) => {
    const count = sizeUpTo(random, 4_000);
    request["options"] = Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, "v"]));
  },
  "an option of another type": (request, random) => {
    request["options"] = { size: junkValue(random), [junkKey(random)]: junkValue(random) };
  },
  "deep options": (request, random) => {
    const depth = random.one([10, 18, 19, 100, 5_000, 14_000]);
    const [open, close] = random.one(["[ ]", '{"a": }'].map((pair) => pair.split(" ")));
    request["options"] = { deep: raw(`${open!.repeat(depth)}0${close!.repeat(depth)}`) };
  },
  "a body around the body": (request, random) =>
    random.one<() => unknown>([
      () => [request],
      () => ({ resource: request }),
      () => JSON.stringify(request),
      () => junkValue(random),
      () => ({ ...request, self: raw(JSON.stringify(request)) }),
    ])(),
};

const TIMES = [
  ...["", "soon", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z", "275760-09-13T00:00:00Z", "-000001-01-01T00:00:00Z"],
  ...["2026-02-30T00:00:00+0000", "2026-01-01T00:00:00+9999", "2026-01-01T00:00:00-0800", "2026-01-01", "1e3"],
  ...[0, -1, 1e308, null, [], {}, true, "10000-01-01T00:00:00+0000", "1999-12-31T23:59:59Z"],
]; // prettier-ignore

/** The request or an object within it, and the name of one of its members. */
function somewhere(request: Request, random: Random): [Request, string] {
  const objects = [request, ...Object.values(request).filter(isObject)];
  const object = random.chance(0.6) ? request : random.one(objects);
  const keys = Object.keys(object);
  return [object, keys.length > 0 ? random.one(keys) : "uuid"];
}

function isObject(value: unknown): value is Request {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sets a member as JSON.parse does: `__proto__` becomes an ordinary member. */
function define(object: Request, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
