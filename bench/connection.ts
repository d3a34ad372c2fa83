import { once } from "node:events";
import { connect } from "node:net";

export interface Answer {
  status: number;
  body: string;
}

/** A connection that is kept alive and carries one request at a time. */
export interface Connection {
  /** Sends a whole request; rejects if the connection ends before the answer, or none comes in 20 s. */
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
    const answer = readAnswer(received);
    if (!answer) return;
    received = "";
    waiting?.resolve(answer);
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

/** A whole answer, or null while more of it is to come. All that is measured here says how long its answers are. */
function readAnswer(received: string): Answer | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd)) ?? [];
  const bodyEnd = headEnd + 4 + Number(length);
  if (received.length < bodyEnd) return null;
  return { status: Number(received.slice(9, 12)), body: received.slice(headEnd + 4, bodyEnd) };
}
