import { timingSafeEqual } from "node:crypto";

/** More ways of writing the same credentials are not worth remembering, nor longer ones. */
const MOST = 8;
const LONGEST = 512;

/**
 * Authorization headers that were let in. The platform sends the same one with every call, and judging it anew costs as
 * much as reading the body. Each is compared whole and with padding, so how long a look takes says nothing about it.
 */
export function createRemembered() {
  const known: Buffer[] = [];
  const asked = Buffer.alloc(LONGEST);

  return {
    knows(header: string | undefined): boolean {
      if (header === undefined || header.length > LONGEST) return false;
      asked.fill(0, asked.write(header, "latin1"));
      return known.map((each) => timingSafeEqual(each, asked)).includes(true);
    },
    add(header: string | undefined): void {
      if (header === undefined || header.length > LONGEST || known.length >= MOST) return;
      const padded = Buffer.alloc(LONGEST);
      padded.write(header, "latin1");
      known.push(padded);
    },
  };
}
