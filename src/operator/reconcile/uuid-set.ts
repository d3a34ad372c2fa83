/** More are not held: the table then takes 71 MB. */
export const MOST_UUIDS = 3_000_000;

const FEWEST_SLOTS = 1_024;
/** A fuller table would be slow to search. */
const FULLEST = 0.75;

/** A set of uuids at 16 bytes each: as texts a million would take more than 100 MB. */
export type UuidSet = ReturnType<typeof createUuidSet>;

export function createUuidSet() {
  let slots = new Uint32Array(4 * FEWEST_SLOTS);
  let isUsed = new Uint8Array(FEWEST_SLOTS);
  let size = 0;

  /** Where the words stand, or would: an open hash table with linear probing. */
  function slotOf([a, b, c, d]: Words): number {
    const last = isUsed.length - 1;
    for (let slot = mixed(a, b, c, d) & last; ; slot = (slot + 1) & last) {
      const at = 4 * slot;
      const isSame = slots[at] === a && slots[at + 1] === b && slots[at + 2] === c && slots[at + 3] === d;
      if (!isUsed[slot] || isSame) return slot;
    }
  }

  function put(slot: number, words: Words): void {
    slots.set(words, 4 * slot);
    isUsed[slot] = 1;
  }

  function grow(): void {
    const [before, wasUsed] = [slots, isUsed];
    slots = new Uint32Array(2 * before.length);
    isUsed = new Uint8Array(2 * wasUsed.length);
    for (let slot = 0; slot < wasUsed.length; slot += 1) {
      if (!wasUsed[slot]) continue;
      const words = before.subarray(4 * slot, 4 * slot + 4) as unknown as Words;
      put(slotOf(words), words);
    }
  }

  return {
    size: () => size,
    has: (uuid: string): boolean => isUsed[slotOf(wordsOf(uuid))] === 1,
    /** False: it was there before. The uuid is one that `readUuid` gave. */
    add(uuid: string): boolean {
      const words = wordsOf(uuid);
      const slot = slotOf(words);
      if (isUsed[slot]) return false;
      put(slot, words);
      size += 1;
      if (size > FULLEST * isUsed.length) grow();
      return true;
    },
  };
}

type Words = readonly [number, number, number, number];

function wordsOf(uuid: string): Words {
  const word = (hex: string) => Number.parseInt(hex, 16);
  return [
    word(uuid.slice(0, 8)),
    word(uuid.slice(9, 13) + uuid.slice(14, 18)),
    word(uuid.slice(19, 23) + uuid.slice(24, 28)),
    word(uuid.slice(28)),
  ];
}

/** Uuids may be counted up, or alike but for a part: each word decides about each bit. */
function mixed(...words: Words): number {
  let hash = 0;
  for (const word of words) {
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
