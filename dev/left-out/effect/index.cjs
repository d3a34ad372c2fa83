// What @prisma/config calls of `effect`, in the same words: it reads prisma.config.ts with a schema. A newer Prisma that
// calls more of it fails with the name of the function: then add it here, or take the folder out of package.json.

const right = (value) => ({ _tag: "Right", right: value });
const left = (error) => ({ _tag: "Left", left: error });
const isLeft = ({ _tag }) => _tag === "Left";

const Either = {
  right,
  left,
  isLeft,
  map: (change) => (either) => (isLeft(either) ? either : right(change(either.right))),
  flatMap: (next) => (either) => (isLeft(either) ? either : next(either.right)),
  orElse: (instead) => (either) => (isLeft(either) ? instead(either.left) : either),
};

/** A schema is a function: null, or what is wrong with the value at that place. */
const kind = (words, isOne) => (value, place) => (isOne(value) ? null : `${place} is not ${words}`);
const first = (faults) => faults.find(Boolean) ?? null;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function Struct(fields) {
  const schema = (value, place) => {
    if (!isObject(value)) return `${place} is not an object`;
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
    if (unknown) return `${place} has an unknown member ${unknown}`;
    return first(Object.entries(fields).map(([name, check]) => check(value[name], `${place}.${name}`)));
  };
  return Object.assign(schema, { fields, make: (value) => value });
}

const Schema = {
  Any: () => null,
  Boolean: kind("true or false", (value) => typeof value === "boolean"),
  String: kind("a text", (value) => typeof value === "string"),
  NonEmptyString: kind("a text", (value) => typeof value === "string" && value !== ""),
  Array: (check) => (value, place) =>
    Array.isArray(value)
      ? first(value.map((each, index) => check(each, `${place}[${index}]`)))
      : `${place} is not a list`,
  NullOr: (check) => (value, place) => (value === null ? null : check(value, place)),
  optional: (check) => (value, place) => (value === undefined ? null : check(value, place)),
  mutable: (check) => check,
  Struct,
  decodeUnknownEither: (check) => (value) => {
    const fault = check(value, "The configuration");
    return fault ? left(new Error(`${fault}.`)) : right(value);
  },
};

/** Of a member that is not here, the first use says so. */
const named = (whole, members) =>
  new Proxy(members, {
    get(target, name) {
      if (Object.hasOwn(target, name) || typeof name === "symbol") return target[name];
      throw new Error(`Prisma wants ${whole}.${name}, which dev/left-out/effect/index.cjs does not have.`);
    },
  });

module.exports = {
  Either: named("Either", Either),
  Schema: named("Schema", Schema),
  pipe: (value, ...steps) => steps.reduce((result, step) => step(result), value),
};
