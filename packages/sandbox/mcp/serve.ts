import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { LedgerEntry } from "../index.ts";
import { createConnection } from "./connection.ts";
import { createMcpServer } from "./server.ts";

/**
 * Serves the sandbox's control side to an assistant, as an MCP server on standard input and output, until the input ends
 * or a signal comes; then it closes the sandbox that it started. Throws if `SANDBOX_URL` is no address.
 */
export function serveMcp(environment: NodeJS.ProcessEnv, onEntry: (entry: LedgerEntry) => void): void {
  const connection = createConnection(environment, onEntry);
  const served = serveStdio(() => createMcpServer(connection), {
    onerror: (error) => console.error(`MCP: ${error.message}`),
  });
  let closing: Promise<void> | undefined;
  const close = () => void (closing ??= connection.close().then(() => served.close()));
  for (const event of ["end", "close"]) process.stdin.once(event, close);
  process.stdout.once("error", close);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, close);
}
