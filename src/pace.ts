/** How long the service waits, and lets others wait. Tests pass shorter times; everybody else gets {@link PACE}. */
export interface Pace {
  /** From the answer to a provision until its grant is exchanged: the platform must have seen the answer first. */
  readonly exchangeAfterMs: number;
  /** How long the vendor's function may take before the answer is "later": the platform waits for 3 s. */
  readonly vendorMs: number;
  /** How long one request may wait for the database in all, so that it is answered before the platform gives up. */
  readonly requestMs: number;
  /** A factor of all pauses between tries (credentials/verdict.ts, and `againInSeconds` of the vendor's). */
  readonly pauses: number;
  /**
   * How long callers of a server that closes may still send requests on open connections, and are told to close them;
   * an answer that was sent has as long to arrive.
   */
  readonly lastOrdersMs: number;
  /** How much longer each wrong password waits for its refusal than the one before, from a certain number on. */
  readonly wrongPasswordMs: number;
  /** How often the log says of one cause that it lasts; 0: each line is written. */
  readonly logAgainMs: number;
}

export const PACE: Pace = {
  exchangeAfterMs: 1_000,
  vendorMs: 2_800,
  requestMs: 8_000,
  pauses: 1,
  lastOrdersMs: 500,
  wrongPasswordMs: 50,
  logAgainMs: 60_000,
};
