import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Asks a client that sent `Expect: 100-continue` for its body. To be called once the caller is authenticated, and
 * before anything reads the body: without it such a client waits until the server cuts it off.
 */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() !== "100-continue") return;
  response.writeContinue();
  // So that a second call does not ask again.
  delete headers.expect;
}
