/**
 * The pictures of an album are separate messages, but people sent one. The first one waits for the others
 * before it is committed, and what belongs to it is on disk by then: after a kill it is the same album, and
 * none of them is a message of its own.
 */
import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import type { Clock } from '../../../src/core/ports.ts';
import { NO_LONGER_NEEDED } from '../../../src/lib/no-longer-needed.ts';
import { RecentMap } from '../../kit/recent.ts';
import { bareJid } from '../wire/ids.ts';
import type { LoginStore } from '../wire/store.ts';
import type { OpenAhead, Opened } from './gate.ts';
import type { StanzaLine } from './stanza-line.ts';

/**
 * How long the next picture may take, where their number is known and where it is not. All other messages
 * wait meanwhile.
 */
const NEXT_MS = 4_000;
const PERHAPS_NEXT_MS = 1_500;
const LONGEST_MS = 15_000;
const MOST = 100;
/** Pictures whose album is remembered. */
export const MOST_PICTURES = 1_000;
/** `MessageAssociation.AssociationType` and `ProtocolMessage.Type` (WAProto). */
const MEDIA_ALBUM = 1;
const REVOKE = 0;

export interface AlbumsOptions {
  readonly store: LoginStore;
  /** Id of the message that a picture has become part of, by person and picture. Outlives a connection. */
  readonly partOf?: RecentMap<string> | undefined;
  readonly guard: <T>(access: () => T) => T;
  readonly clock: Clock;
  readonly line: Pick<StanzaLine, 'waiting' | 'arrival'>;
  /** Undefined for what is no message. */
  readonly decode: (padded: Uint8Array) => proto.IMessage | undefined;
  /** What is kept of a message that has become part of another. */
  readonly restOf: (message: proto.IMessage) => Uint8Array;
}

export class Albums {
  readonly #options: AlbumsOptions;
  /** How many pictures were announced, by author and id of the announcement. */
  readonly #announced = new RecentMap<number>(MOST);
  readonly #partOf: RecentMap<string>;

  constructor(options: AlbumsOptions) {
    this.#options = options;
    this.#partOf = options.partOf ?? new RecentMap(MOST_PICTURES);
  }

  /**
   * The other pictures of the album that this message begins; none for any other message. From here on they
   * are part of this one, under which they are offered. `signal` aborts when the connection has ended.
   */
  async others(
    first: Opened & { readonly node: BinaryNode; readonly content: proto.IMessage },
    ahead: OpenAhead,
    signal: AbortSignal,
  ): Promise<readonly proto.IMessage[]> {
    const { store, guard, clock, decode, restOf } = this.#options;
    const { node, content } = first;
    const { expectedImageCount, expectedVideoCount } = content.albumMessage ?? {};
    const announced = (expectedImageCount ?? 0) + (expectedVideoCount ?? 0);
    if (announced > 0) this.#announced.set(`${authorOf(node)} ${node.attrs['id']}`, announced);
    const album = albumOf(content);
    if (album === undefined) return [];
    const joined = guard(() => store.joined(first.hash));
    if (joined) return joined.map((padded) => decode(padded) ?? {});
    const found = await this.#collect(first, album, ahead, signal);
    signal.throwIfAborted();
    const others = found.map(({ hash, plaintext, content }) => ({ hash, plaintext, rest: restOf(content) }));
    // None is recorded too: a picture that comes later must not be taken for a part of what was committed
    // without it.
    guard(() => store.join(first.hash, others, clock.now()));
    for (const { id } of found) this.#partOf.set(`${personOf(node)} ${id}`, node.attrs['id'] ?? '');
    return found.map(({ content }) => content);
  }

  /** What takes back one picture of an album, as what takes back all of it; anything else as it is. */
  whole(node: BinaryNode, content: proto.IMessage): proto.IMessage {
    const { protocolMessage } = content;
    const { key, type } = protocolMessage ?? {};
    const id = (type ?? REVOKE) === REVOKE ? this.#partOf.get(`${personOf(node)} ${key?.id}`) : undefined;
    return id === undefined ? content : { ...content, protocolMessage: { ...protocolMessage, key: { ...key, id } } };
  }

  async #collect(first: Opened & { readonly node: BinaryNode }, album: string, ahead: OpenAhead, signal: AbortSignal) {
    const { line, clock } = this.#options;
    const author = authorOf(first.node);
    const announced = this.#announced.get(`${author} ${album}`);
    const found: (Opened & { readonly id: string | undefined; readonly content: proto.IMessage })[] = [];
    const nextMs = announced === undefined ? PERHAPS_NEXT_MS : NEXT_MS;
    const end = clock.monotonic() + LONGEST_MS;
    let next = clock.monotonic() + nextMs;
    let looked = 0;
    while (!signal.aborted) {
      const { arrival } = line;
      while (looked < line.waiting.length) {
        const node = line.waiting[looked];
        looked += 1;
        if (!node || authorOf(node) !== author) continue;
        const other = await this.#open(node, ahead);
        if (other && (other.hash === first.hash || found.some(({ hash }) => hash === other.hash))) continue;
        // The sender has moved on.
        if (!other || albumOf(other.content) !== album) return found;
        found.push({ ...other, id: node.attrs['id'] });
        next = clock.monotonic() + nextMs;
        if (found.length + 1 >= Math.min(announced ?? MOST, MOST)) return found;
      }
      // A message of another author that came meanwhile gives the next picture no more time.
      const waitMs = Math.min(next, end) - clock.monotonic();
      if (waitMs <= 0 || !(await this.#within(arrival, waitMs, signal))) return found;
    }
    return found;
  }

  async #open(node: BinaryNode, ahead: OpenAhead): Promise<(Opened & { readonly content: proto.IMessage }) | undefined> {
    // In a group the key of its author may come first; the first picture brought it already.
    const part = Array.isArray(node.content) ? node.content.findLast(({ tag }) => tag === 'enc') : undefined;
    if (!(part?.content instanceof Uint8Array)) return undefined;
    const opened = await ahead(part.content, part.attrs['type'] ?? '');
    const content = opened && this.#options.decode(opened.plaintext);
    return content && { ...opened, content };
  }

  async #within(arrival: Promise<void>, ms: number, signal: AbortSignal): Promise<boolean> {
    const arrived = new AbortController();
    const timer = this.#options.clock.sleep(ms, AbortSignal.any([signal, arrived.signal])).then(
      () => false,
      () => false,
    );
    const came = await Promise.race([arrival.then(() => true), timer]);
    arrived.abort(NO_LONGER_NEEDED);
    return came;
  }
}

/** Chat, author and device: what they encrypt for us is one sequence. */
function authorOf({ attrs }: BinaryNode): string {
  return `${attrs['from']} ${attrs['participant'] ?? ''} ${attrs['recipient'] ?? ''}`;
}

/** Without the device: a person may take back on one what they sent from another. */
function personOf({ attrs }: BinaryNode): string {
  return bareJid(attrs['participant'] ?? attrs['from'] ?? '');
}

function albumOf({ messageContextInfo, associatedChildMessage }: proto.IMessage): string | undefined {
  const association = (messageContextInfo ?? associatedChildMessage?.message?.messageContextInfo)?.messageAssociation;
  return association?.associationType === MEDIA_ALBUM ? (association.parentMessageKey?.id ?? undefined) : undefined;
}
