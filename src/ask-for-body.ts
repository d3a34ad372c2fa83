import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * A client that asked first (`Expect: 100-continue`) may send its body only now. To be called once somebody is let in,
 * and in front of whatever reads a body: unasked, such a client waits until it is cut off.
 */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() !== "100-continue") return;
  response.writeContinue();
  // It is asked once, however many ask.
  delete headers.expect;
}
