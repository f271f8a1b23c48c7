/**
 * One mailbox on an IMAP server without a single extension (no IDLE, UIDPLUS, MOVE or CONDSTORE), and an SMTP
 * server beside it that puts copies for its owner there. Never shipped.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import hoodiecrow, { type Hoodiecrow } from 'hoodiecrow-imap';
import { SMTPServer } from 'smtp-server';
import { BUSY_RECIPIENT } from '../../simulator/email/config.ts';

export interface PlainServers extends AsyncDisposable {
  readonly imap: Hoodiecrow;
  readonly imapPort: number;
  readonly smtpPort: number;
  /** Puts a mail into the mailbox. `date`: when it arrived; default now. */
  deliver(raw: string, date?: Date): void;
  /** Mails for other people, oldest first. */
  readonly sent: readonly { readonly to: string; readonly raw: string }[];
  /**
   * As a restore from a backup does, which ends every connection: the same mails under new UIDs and a new
   * UIDVALIDITY.
   */
  renumber(): void;
}

export interface PlainOptions {
  /** Login name at both servers, and address of the mailbox. */
  readonly owner: string;
  readonly password: string;
}

export async function startPlainServers({ owner, password }: PlainOptions): Promise<PlainServers> {
  const storage = { INBOX: { uidvalidity: 41 }, '': {} };
  const imap = hoodiecrow({ plugins: [], users: { [owner]: { password } }, storage });
  const sockets = new Set<Socket>();
  imap.server.on('connection', (socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  await new Promise<void>((resolve) => imap.listen(0, '127.0.0.1', resolve));
  const sent: { to: string; raw: string }[] = [];
  const deliver = (raw: string, date?: Date) =>
    void imap.appendMessage('INBOX', [], date, Buffer.from(raw.replace(/\r?\n/g, '\r\n')).toString('latin1'));
  const smtp = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    closeTimeout: 10,
    disableReverseLookup: true,
    onAuth: ({ username, password: given }, _session, done) =>
      username === owner && given === password ? done(null, { user: owner }) : done(smtpError(535, '5.7.8 wrong password')),
    onRcptTo({ address }, _session, done) {
      if (address === BUSY_RECIPIENT) return done(smtpError(450, '4.7.1 too many messages, try again later'));
      done(address.startsWith('nobody@') ? smtpError(550, '5.1.1 no such person') : null);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('end', () => {
        const raw = Buffer.concat(chunks).toString('latin1');
        for (const { address } of session.envelope.rcptTo) {
          if (address === owner) imap.appendMessage('INBOX', [], undefined, raw);
          else sent.push({ to: address, raw });
        }
        done();
      });
    },
  });
  smtp.on('error', () => undefined);
  const listener = smtp.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    imap,
    sent,
    deliver,
    imapPort: (imap.server.address() as AddressInfo).port,
    smtpPort: (listener.address() as AddressInfo).port,
    renumber() {
      for (const socket of sockets) socket.destroy();
      const box = imap.getMailbox('INBOX');
      const mails = box.messages.map(({ raw, internaldate }, index) => ({ raw, internaldate, flags: [], uid: index + 1 }));
      Object.assign(box, { messages: mails, uidvalidity: box.uidvalidity + 1, uidnext: mails.length + 1 });
    },
    async [Symbol.asyncDispose]() {
      // Adapters end their connections before; the listener then closes at once.
      await Promise.all([
        new Promise<void>((resolve) => imap.close(() => resolve())),
        new Promise<void>((resolve) => smtp.close(() => resolve())),
      ]);
    },
  };
}

function smtpError(responseCode: number, words: string): Error {
  return Object.assign(new Error(words), { responseCode });
}
