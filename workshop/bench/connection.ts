import { once } from "node:events";
import { connect } from "node:net";
import { takeMessage } from "./http-message.ts";

export interface Answer {
  status: number;
  body: string;
}

/** A keep-alive connection that carries one request at a time. */
export interface Connection {
  /** Sends a complete request. Rejects if the connection ends before the answer, or if there is none within 20 s. */
  exchange(request: Buffer): Promise<Answer>;
  close(): void;
}

const LONGEST_ANSWER_MS = 20_000;

export async function openConnection({ hostname, port }: URL): Promise<Connection> {
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true).setEncoding("latin1");
  await once(socket, "connect");
  let received = "";
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;
  const fail = (error: Error) => {
    waiting?.reject(error);
    socket.destroy();
  };
  socket.on("data", (text: string) => {
    received += text;
    const message = takeMessage(received);
    if (!message) return;
    received = "";
    waiting?.resolve({ status: Number(message.head.slice(9, 12)), body: message.body });
  });
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the connection was closed before the answer")));
  socket.setTimeout(LONGEST_ANSWER_MS, () => fail(new Error(`no answer in ${LONGEST_ANSWER_MS / 1000} s`)));

  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}
