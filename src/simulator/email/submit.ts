/** The least SMTP and LMTP client that can hand over one mail byte for byte, broken ones too. */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

export interface Submission {
  readonly port: number;
  /** `EHLO name` for SMTP, `LHLO name` for LMTP. */
  readonly hello: string;
  readonly from: string;
  readonly to: string;
  readonly raw: string | Buffer;
}

/** Rejects with the server's line when a step is not answered with 2xx or 3xx. */
export async function submit({ port, hello, from, to, raw }: Submission): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(30_000, () => socket.destroy(new Error(`the mail server on port ${port} fell silent`)));
  // The reader of lines tells of an error while it reads; one that comes after the last line changes nothing.
  socket.on('error', () => undefined);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const reply = async () => {
    for (;;) {
      const line = await lines.next();
      if (line.done) throw new Error('the mail server closed the connection');
      if (line.value[3] === '-') continue; // more lines of the same reply follow
      if (!/^[23]/.test(line.value)) throw new Error(line.value);
      return;
    }
  };
  try {
    await reply();
    for (const command of [hello, `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA']) {
      socket.write(`${command}\r\n`);
      await reply();
    }
    socket.write(stuffed(raw));
    await reply();
    socket.write('QUIT\r\n');
  } finally {
    socket.destroySoon();
  }
}

/** CRLF line ends, doubled dots at line starts, the final dot (RFC 5321, 4.5.2). latin1 keeps every byte. */
function stuffed(raw: string | Buffer): Buffer {
  const text = typeof raw === 'string' ? Buffer.from(raw).toString('latin1') : raw.toString('latin1');
  const body = text.replace(/\r?\n/g, '\r\n').replace(/^\./gm, '..');
  return Buffer.from(`${body}${body.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1');
}
