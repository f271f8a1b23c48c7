/** Messages that this device could not be given: the phone sends on their content when it is asked. */
import type { proto, WAMessage } from '@whiskeysockets/baileys';
import { errorText } from '../../../src/core/errors.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { RecentMap } from '../../kit/recent.ts';
import { bareJid } from '../wire/ids.ts';

/** More than can be waiting at a time. */
const MAX_ASKED = 500;

export class SentOn {
  readonly #decode: (bytes: Uint8Array) => proto.IWebMessageInfo;
  readonly #logger: Logger;
  /** By id. The phone leaves out some of the addresses that came with the message. */
  readonly #asked = new RecentMap<WAMessage>(MAX_ASKED);

  constructor(options: { readonly decode: (bytes: Uint8Array) => proto.IWebMessageInfo; readonly logger: Logger }) {
    this.#decode = options.decode;
    this.#logger = options.logger;
  }

  /** A message that came without content. */
  missing(message: WAMessage): void {
    this.#asked.set(message.key.id ?? '', message);
  }

  /**
   * What is in a decrypted message. Only our own phone can send something on: others could make up what
   * people wrote.
   */
  in({ key, category }: WAMessage, { protocolMessage }: proto.IMessage): readonly WAMessage[] {
    const results = protocolMessage?.peerDataOperationRequestResponseMessage?.peerDataOperationResult ?? [];
    if (key.fromMe !== true || category !== 'peer') return [];
    return results.flatMap(({ placeholderMessageResendResponse: sent }) => {
      if (!sent?.webMessageInfoBytes) return [];
      try {
        const info = this.#decode(sent.webMessageInfoBytes);
        if (!info.key) return [];
        const asked = this.#asked.get(info.key.id ?? '');
        const known = asked && isSame(asked.key, info.key) ? asked : undefined;
        const { message, messageTimestamp = null } = info;
        return message ? [{ ...(known ?? { ...info, key: info.key }), message, messageTimestamp }] : [];
      } catch (error) {
        this.#logger.warn('whatsapp.message-unreadable', { id: key.id, error: errorText(error) });
        return [];
      }
    });
  }
}

/** Senders choose ids: one that repeats the id of another's message must not get its words. */
function isSame(asked: WAMessage['key'], { remoteJid, participant }: proto.IMessageKey): boolean {
  const within = (jid: string | null | undefined, ...names: readonly (string | null | undefined)[]): boolean =>
    names.some((name) => bareJid(name ?? '') === bareJid(jid ?? ''));
  if (!within(remoteJid, asked.remoteJid, asked.remoteJidAlt)) return false;
  return !asked.participant || within(participant, asked.participant, asked.participantAlt);
}
