import { createRequire } from "node:module";
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { namingValidator } from "./arguments.ts";
import type { Connection } from "./connection.ts";
import { type ControlTool, controlTool } from "./control-tools.ts";
import { type Operation, readOperations, type Schema } from "./operations.ts";
import { isTooLong, readable } from "./readable.ts";

const INSTRUCTIONS = `The sandbox plays a cloud platform for a service that is sold as an add-on. Start one with startSandbox, or use a
running one with attachSandbox. Then act as the customer (createApp, install, changePlan, deprovision) or as the platform
(revoke, resetClientSecret, advanceClock, fault), and read in ledger what went between the platform and the service.
Secrets are masked there.`;

type Arguments = Record<string, unknown>;
type Run = (given: Arguments, signal: AbortSignal) => Promise<unknown>;
type About = Pick<ControlTool, "name" | "description" | "inputSchema" | "annotations">;

/** An MCP server with a tool for each call of the control API, and three for the sandbox that they act on. */
export function createMcpServer(connection: Connection): McpServer {
  const { version } = createRequire(import.meta.url)("addon-platform-sandbox/package.json") as {
    version: string;
  };
  const server = new McpServer({ name: "addon-platform-sandbox", version }, { instructions: INSTRUCTIONS });
  const add = ({ name, description, inputSchema, annotations }: About, run: Run) =>
    server.registerTool(
      name,
      { description, annotations, inputSchema: fromJsonSchema<Arguments>(inputSchema, namingValidator) },
      (given, { mcpReq }) => answered(() => run(given, mcpReq.signal)),
    );
  const operations = readOperations();
  for (const [about, run] of sandboxTools(connection, operations)) add(about, run);
  for (const operation of operations) {
    const tool = controlTool(operation);
    add(tool, (given, signal) => callWithin(tool, connection, given, signal));
  }
  return server;
}

async function answered(run: () => Promise<unknown>) {
  try {
    return { content: [{ type: "text" as const, text: readable(await run()) }] };
  } catch (error) {
    return { content: [{ type: "text" as const, text: (error as Error).message }], isError: true };
  }
}

/** Makes the call; of a list that is read in pages it asks for half as much until the answer fits. */
async function callWithin(
  tool: ControlTool,
  connection: Connection,
  given: Arguments,
  signal: AbortSignal,
): Promise<unknown> {
  const answer = await connection.call(tool.request(given), signal);
  const { properties } = tool.inputSchema as { properties: Record<string, Schema> };
  const limit = Number(given["limit"] ?? properties["limit"]?.["default"] ?? 1);
  if (limit === 1 || !isTooLong(answer)) return answer;
  return callWithin(tool, connection, { ...given, limit: Math.floor(limit / 2) }, signal);
}

/** The tools that choose the sandbox. To start one takes the same members as to change who the partner is. */
function sandboxTools(connection: Connection, operations: Operation[]): [About, Run][] {
  const { properties } = operations.find(({ operationId }) => operationId === "changePartner")!.body!;
  const port = {
    type: "integer",
    minimum: 0,
    maximum: 65_535,
    description: "Where it listens; 0: any free port. Absent: SANDBOX_PORT, or 4000.",
  };
  const url = { type: "string", description: "Its address, such as http://localhost:4000." };
  return [
    [
      about(
        "startSandbox",
        "Starts a sandbox in this process, which ends with it.\nSettings that are not given come from the environment of this server. The answer has the credentials that were generated: start your service with them.",
        { ...properties, port },
      ),
      (given) => connection.start(given),
    ],
    [
      about(
        "attachSandbox",
        "Uses a sandbox that runs on this machine, such as that of `npm run dev`.",
        { url },
        ["url"],
      ),
      (given, signal) => connection.attach(given["url"] as string, signal),
    ],
    [
      about(
        "stopSandbox",
        "Stops the sandbox that startSandbox started, or leaves the one that is used.",
        {},
        [],
        true,
      ),
      () => connection.stop(),
    ],
  ];
}

function about(
  name: string,
  description: string,
  properties: object,
  required: string[] = [],
  destructiveHint = false,
): About {
  return {
    name,
    description,
    inputSchema: { type: "object", properties, required, additionalProperties: false },
    annotations: { readOnlyHint: false, destructiveHint, idempotentHint: false, openWorldHint: false },
  };
}
