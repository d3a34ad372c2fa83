import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const command = `const { runSandbox } = await import("./packages/sandbox/command.ts");
await runSandbox(process.env, ["mcp"]);`;
const fromSources = { words: ["--import", "tsx", "--input-type=module", "--eval", command], cwd: root };
const environment = (settings: Record<string, string>) => ({
  PATH: process.env["PATH"] ?? "",
  SANDBOX_PORT: "0",
  ...settings,
});

interface Message {
  jsonrpc: string;
  id?: number;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** The arguments of node, and the folder that it starts in. */
interface Started {
  words: readonly string[];
  cwd: string;
}

/** `sandbox mcp` as a process, spoken to in lines. `lines` holds every line that it wrote to standard output. */
export function aProcess(settings: Record<string, string> = {}, { words, cwd }: Started = fromSources) {
  const child: ChildProcess = spawn(process.execPath, words, { cwd, env: environment(settings) });
  const lines: string[] = [];
  const waiting = new Map<number, (message: Message) => void>();
  let rest = "";
  child.stdout!.on("data", (chunk: Buffer) => {
    const [last, ...whole] = (rest + chunk.toString()).split("\n").reverse() as [string, ...string[]];
    rest = last;
    for (const line of whole.reverse()) {
      lines.push(line);
      const message = JSON.parse(line) as Message;
      if (message.id !== undefined) waiting.get(message.id)?.(message);
    }
  });
  child.stderr!.resume();
  const ended = once(child, "close") as Promise<[number | null, string | null]>;
  let ids = 0;
  const write = (message: object) =>
    child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  return {
    lines,
    ended,
    write: (text: string) => child.stdin!.write(text),
    notify: (method: string) => write({ method }),
    ask(method: string, params: object = {}): Promise<Message> {
      const id = ++ids;
      const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
      write({ id, method, params });
      return answered;
    },
    closeInput: () => child.stdin!.end(),
    kill: () => child.kill("SIGKILL"),
  };
}

/** How an assistant begins: the handshake of this version. */
export const hello = (protocolVersion: string) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
});

export interface Tool {
  name: string;
  description: string;
  inputSchema: { properties: Record<string, object> };
  annotations: Record<string, boolean>;
}

/** `sandbox mcp` as a process, in use by an assistant after its handshake; another command instead of the sources'. */
export async function anAssistant(settings: Record<string, string> = {}, started?: Started) {
  const child = aProcess(settings, started);
  await child.ask("initialize", hello("2025-11-25"));
  child.notify("notifications/initialized");
  const result = async (method: string, params: object) => {
    const message = await child.ask(method, params);
    if (!message.result) throw new Error(message.error?.message);
    return message.result;
  };
  const tools = async () => (await result("tools/list", {}))["tools"] as Tool[];
  /** Calls a tool, and returns the text of its answer and whether it is an error. */
  async function use(name: string, given: Record<string, unknown> = {}) {
    const { content, isError = false } = await result("tools/call", { name, arguments: given });
    const [first] = content as { text: string }[];
    return { text: first!.text, isError: isError as boolean };
  }
  /** Calls a tool that must work, and returns its answer. */
  async function ask<Answer = Record<string, unknown>>(name: string, given: Record<string, unknown> = {}) {
    const { text, isError } = await use(name, given);
    if (isError) throw new Error(text);
    return JSON.parse(text) as Answer;
  }
  async function close() {
    child.closeInput();
    await child.ended;
  }
  return { tools, use, ask, close };
}
