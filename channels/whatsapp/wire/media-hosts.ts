import type { BinaryNode } from '@whiskeysockets/baileys';
import type { Clock } from '../../../src/core/ports.ts';
import { CallError } from '../../kit/call-error.ts';

/** Where files can be stored, and the token for it. */
export interface MediaPlace {
  readonly hosts: readonly string[];
  readonly auth: string;
}

/**
 * Where files can be stored, kept for as long as the platform says. A question that failed is asked again:
 * the SDK's own cache would keep its failure for as long as the connection stands.
 */
export class MediaHosts {
  readonly #clock: Clock;
  readonly #ask: (question: BinaryNode) => Promise<BinaryNode | undefined>;
  #kept: { readonly place: MediaPlace; readonly until: number } | undefined;

  /** `ask` resolves to undefined where no answer came in time. */
  constructor(clock: Clock, ask: (question: BinaryNode) => Promise<BinaryNode | undefined>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Rejects as `ask` does, and with a `CallError` where the answer is none. */
  async place(): Promise<MediaPlace> {
    if (this.#kept && this.#kept.until > this.#clock.monotonic()) return this.#kept.place;
    const attrs = { type: 'set', xmlns: 'w:m', to: 's.whatsapp.net' };
    const answer = childrenOf(await this.#ask({ tag: 'iq', attrs, content: [{ tag: 'media_conn', attrs: {} }] }));
    const told = answer.find(({ tag }) => tag === 'media_conn');
    // Nothing of the file has left: the question can be asked again.
    if (!told) throw new CallError(undefined, { kind: 'unreached', detail: 'the server does not say where files are stored' });
    const hosts = childrenOf(told).flatMap(({ tag, attrs: { hostname } }) => (tag === 'host' && hostname ? [hostname] : []));
    const place = { hosts, auth: told.attrs['auth'] ?? '' };
    this.#kept = { place, until: this.#clock.monotonic() + (Number(told.attrs['ttl']) || 0) * 1_000 };
    return place;
  }
}

function childrenOf(node: BinaryNode | undefined): readonly BinaryNode[] {
  return Array.isArray(node?.content) ? node.content : [];
}
