/** Files that came with a mail. They have no address of their own: the whole mail is fetched again. */
import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { settledOrAborted } from '../../../src/lib/time-limit.ts';
import { ImapSession, type ServerAccess } from '../wire/client.ts';
import { wholeText } from './mail-text.ts';
import { BODY_INDEX, type ParsedMail, parseMail } from './mime.ts';

export interface AttachmentsOptions {
  readonly imap: ServerAccess;
  readonly mailbox: string;
  /** More of a mail is not fetched. */
  readonly maxMessageBytes: number;
  /** A larger attachment is refused with GH1504. */
  readonly capBytes: number;
  /** The connection of the receiving side, while there is one. */
  readonly shared: () => ImapSession | undefined;
  readonly clock: Clock;
}

/** How long the mail of the last file is good for the next one. */
const OPENED_MS = 60_000;
const CHUNK_BYTES = 64 * 1024;

export class Attachments {
  readonly #options: AttachmentsOptions;
  /** The mail whose files are being fetched: one at most, so bounded by `maxMessageBytes`. */
  #opened: { readonly key: string; readonly at: number; readonly mail: ParsedMail } | undefined;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /**
   * Fetches the mail once for all its parts. Rejects with GH1504 for a file that is too large, with GH1505
   * for one that is gone or cannot be fetched, or with `signal.reason`.
   */
  async download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const { capBytes: cap } = this.#options;
    if ((media.size ?? 0) > cap) throw tooLarge(cap);
    const [uidValidity = '', uid = '', index = ''] = media.ref.split(':');
    const mail = await this.#mail(`${uidValidity}:${uid}`, index, () => this.#source(uidValidity, Number(uid), signal));
    const file = mail && fileOf(mail, index);
    if (!file) throw new GatehouseError('GH1505', 'the mail with this attachment is gone');
    const { bytes, mime } = file;
    if (bytes.byteLength > cap) throw tooLarge(cap);
    return { bytes: chunks(bytes), mime, size: bytes.byteLength };
  }

  async #mail(key: string, index: string, fetch: () => Promise<Buffer | undefined>): Promise<ParsedMail | undefined> {
    const kept = this.#opened;
    if (kept?.key === key && this.#options.clock.monotonic() - kept.at < OPENED_MS) return kept.mail;
    const raw = await fetch();
    if (!raw) return undefined;
    const mail = await parseMail(raw);
    // One file is all there is to fetch; of several the next is asked for at once.
    const others = mail.attachments.length - (index === BODY_INDEX ? 0 : 1);
    this.#opened = others > 0 ? { key, at: this.#options.clock.monotonic(), mail } : undefined;
    return mail;
  }

  async #source(uidValidity: string, uid: number, signal: AbortSignal): Promise<Buffer | undefined> {
    const { imap, mailbox, maxMessageBytes } = this.#options;
    const shared = await this.#sharedSource(uidValidity, uid, signal);
    if (shared !== 'lost') return shared;
    try {
      await using session = await ImapSession.logIn(imap, { mailbox, readOnly: true, signal });
      return session.uidValidity === uidValidity ? await session.source(uid, maxMessageBytes) : undefined;
    } catch (cause) {
      signal.throwIfAborted();
      throw new GatehouseError('GH1505', 'the attachment could not be fetched from the IMAP server', { cause });
    }
  }

  /**
   * Over the connection of the receiving side, which spares a login. It may end in the middle, by itself or
   * because intake ends before the turns do: the file is then still to be had over a connection of its own.
   */
  async #sharedSource(uidValidity: string, uid: number, signal: AbortSignal): Promise<Buffer | undefined | 'lost'> {
    signal.throwIfAborted();
    const session = this.#options.shared();
    if (!session) return 'lost';
    try {
      if (session.uidValidity !== uidValidity) return undefined;
      // The wait ends with the signal, the fetch itself with the connection.
      return await settledOrAborted(session.source(uid, this.#options.maxMessageBytes), signal);
    } catch {
      signal.throwIfAborted();
      return 'lost';
    }
  }
}

function fileOf(mail: ParsedMail, index: string): { readonly bytes: Uint8Array; readonly mime: string } | undefined {
  if (index === BODY_INDEX) return { bytes: Buffer.from(wholeText(mail)), mime: 'text/plain' };
  return mail.attachments[Number(index)];
}

function tooLarge(cap: number): GatehouseError {
  return new GatehouseError('GH1504', `the attachment is larger than ${cap} bytes`, {
    hint: 'raise `max_attachment_bytes`, or send a smaller file',
  });
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
