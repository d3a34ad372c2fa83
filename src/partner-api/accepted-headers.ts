import { timingSafeEqual } from "node:crypto";

/** At most this many headers are kept: the same credentials can be written in many ways. */
const MOST_HEADERS = 8;
/** A header with more characters is not kept. */
const LONGEST_HEADER = 512;

/**
 * A cache of the Authorization headers that were accepted. The platform sends the same one with every call, and
 * checking it anew costs as much as reading the body. Headers are padded to one length and compared in constant time,
 * so that the time taken reveals nothing about them.
 */
export function createAcceptedHeaders() {
  const accepted: Buffer[] = [];
  const given = Buffer.alloc(LONGEST_HEADER);

  return {
    has(header: string | undefined): boolean {
      if (header === undefined || header.length > LONGEST_HEADER) return false;
      given.fill(0, given.write(header, "latin1"));
      return accepted.map((each) => timingSafeEqual(each, given)).includes(true);
    },
    add(header: string | undefined): void {
      if (header === undefined || header.length > LONGEST_HEADER || accepted.length >= MOST_HEADERS) return;
      const padded = Buffer.alloc(LONGEST_HEADER);
      padded.write(header, "latin1");
      accepted.push(padded);
    },
  };
}
