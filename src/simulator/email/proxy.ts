/** Stands before a real mail server (plain text): counts connections, changes a command, loses an answer. */
import { connect, createServer, type Socket } from 'node:net';

export interface MailProxy extends AsyncDisposable {
  readonly port: number;
  /** Open connections from clients. */
  readonly connections: number;
  /** The next thing the client says that matches reaches the server as `by`. */
  replaceNext(said: RegExp, by: string): void;
  /** Swallows the next answer to what ends with `question`, with the connection. The server did its work. */
  cutNextReplyTo(question: string): void;
  /** Each connection on which the server says something that matches is closed instead. */
  cutAt(answer: RegExp): void;
  /** The same, once. */
  cutNextAt(answer: RegExp): void;
  /** From now on nothing of what the server says that matches, or that follows, gets through. */
  stallAt(answer: RegExp): void;
}

/** Disposing it hangs up on everybody and refuses new connections. */
export async function startMailProxy(target: number): Promise<MailProxy> {
  const clients = new Set<Socket>();
  let replace: { readonly said: RegExp; readonly by: string } | undefined;
  let cut: string | undefined;
  let cutAt: RegExp | undefined;
  let cutNextAt: RegExp | undefined;
  let stall: RegExp | undefined;
  const server = createServer((client) => {
    clients.add(client);
    const upstream = connect(target, '127.0.0.1');
    let asked = '';
    client.on('data', (chunk) => {
      const said = chunk.toString('latin1');
      const heard = replace ? said.replace(replace.said, replace.by) : said;
      if (heard !== said) replace = undefined;
      asked = (asked + heard).slice(-20);
      upstream.write(heard, 'latin1');
    });
    let stalled = false;
    upstream.on('data', (chunk) => {
      const said = chunk.toString('latin1');
      stalled ||= stall?.test(said) === true;
      if (stalled) return;
      if (cutNextAt?.test(said)) {
        cutNextAt = undefined;
        client.destroy();
      } else if (cutAt?.test(said)) client.destroy();
      else if (cut !== undefined && asked.endsWith(cut)) {
        cut = undefined;
        client.destroy();
      } else client.write(chunk);
    });
    client.on('close', () => {
      clients.delete(client);
      upstream.destroy();
    });
    client.on('error', () => upstream.destroy());
    upstream.on('close', () => client.end()).on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  let closed: Promise<void> | undefined;
  return {
    port,
    get connections() {
      return clients.size;
    },
    replaceNext: (said, by) => {
      replace = { said, by };
    },
    cutNextReplyTo: (question) => {
      cut = question;
    },
    cutAt: (answer) => {
      cutAt = answer;
    },
    cutNextAt: (answer) => {
      cutNextAt = answer;
    },
    stallAt: (answer) => {
      stall = answer;
    },
    [Symbol.asyncDispose]: () => {
      closed ??= new Promise((resolve) => server.close(() => resolve()));
      for (const client of clients) client.destroy();
      return closed;
    },
  };
}
