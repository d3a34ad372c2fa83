import { KitError } from "../errors.ts";

/** A sealed value was changed, cut, or is opened with another context than it was sealed with. */
export class SealBroken extends KitError {
  constructor(place: string) {
    super(
      "integrity",
      `The sealed value in ${place} does not open: it was changed or does not belong there.`,
    );
  }
}

/** A sealed value names a key that is not in the ring. */
export class KeyMissing extends KitError {
  readonly keyId: string;

  constructor(keyId: string, place: string) {
    super(
      "key_missing",
      `The sealed value in ${place} needs key ${keyId}, which is not among ENCRYPTION_KEY and DECRYPTION_KEYS.`,
    );
    this.keyId = keyId;
  }
}
