import pg from "./driver.ts";

const { builtins, getTypeParser } = pg.types;

type Parser = (value: string) => unknown;

/**
 * The driver's parsers, but with `bigint` (our serial ids, and every `count(*)`) as a number instead of a string. Given
 * to our connections only: Prisma uses the driver's global parsers and reads a BigInt in its own way.
 */
export const rowValues = {
  getTypeParser(oid: number, format?: "text" | "binary"): Parser {
    return oid === builtins.INT8 && format !== "binary"
      ? wholeNumber
      : (getTypeParser(oid, format) as Parser);
  },
};

function wholeNumber(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new RangeError(`a bigint beyond what a number holds exactly: ${value}`);
  return number;
}
