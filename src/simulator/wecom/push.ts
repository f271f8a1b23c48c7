/** The platform's other half: callbacks, signed and encrypted by its package, and repeated. Never shipped. */
import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { encrypt, getSignature } from '@wecom/crypto';
import type { Webhooks } from '../../core/channel.ts';

export interface WecomPushOptions {
  readonly corpId: string;
  readonly agentId: number;
  /** The platform waits 5 s for an answer. */
  readonly timeoutMs?: number;
  readonly pauseMs?: number;
}

/** The elements of a message besides those that every one has; a nested object is a nested element. */
export type WecomFields = { readonly [name: string]: string | number | WecomFields };

export interface Forgery {
  readonly token?: string;
  readonly aesKey?: string;
  readonly receiveId?: string;
  /** Seconds since the epoch. */
  readonly timestamp?: number | string;
}

/** The first attempt and three repeats. */
const ATTEMPTS = 4;

export class WecomPush {
  readonly token = 'callbackToken';
  readonly aesKey = randomBytes(32).toString('base64').slice(0, 43);
  /** The callback address; follows the adapter that serves last. */
  url = 'http://127.0.0.1:9/nowhere';
  /** Messages without a 200 that will come again. */
  pending = 0;
  /** Statuses of all answers, 0 for none. */
  readonly statuses: number[] = [];
  /** How long the next attempt waits for its answer. ms. */
  timeoutMs: number;
  readonly #options: WecomPushOptions;
  readonly #stopping = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #ids = 0n;

  constructor(options: WecomPushOptions) {
    this.#options = options;
    this.timeoutMs = options.timeoutMs ?? 5_000;
  }

  /** Wraps what an adapter is given, so that its address is known here. */
  follow(webhooks: Webhooks): Webhooks {
    return {
      serve: async (handler, options) => {
        const served = await webhooks.serve(handler, options);
        this.url = `${served.localOrigin}${served.path}`;
        return served;
      },
    };
  }

  /** Somebody writes: one after the other, each tried four times. Returns at once. */
  message(from: string, fields: WecomFields): void {
    const xml = this.xml(from, fields);
    this.pending += 1;
    this.#last = this.#last.then(async () => {
      await this.#deliver(xml);
      this.pending -= 1;
    });
  }

  /** Sends no repeats any more. */
  stop(): void {
    this.#stopping.abort(new Error('the platform stopped'));
  }

  /** The plaintext of a callback. `MsgId` is added unless the fields say `MsgType: event`. */
  xml(from: string, fields: WecomFields): string {
    this.#ids += 1n;
    const { corpId, agentId } = this.#options;
    const id = fields['MsgType'] === 'event' ? {} : { MsgId: String(7_000_000_000_000_000_000n + this.#ids) };
    const time = Math.floor(Date.now() / 1_000);
    return elements({ xml: { ToUserName: corpId, FromUserName: from, CreateTime: time, AgentID: agentId, ...id, ...fields } });
  }

  /** What is sent for a plaintext: the query and the body of a POST. */
  seal(plaintext: string, forgery: Forgery = {}): { readonly query: URLSearchParams; readonly body: string } {
    const { token = this.token, aesKey = this.aesKey, receiveId = this.#options.corpId } = forgery;
    const encrypted = encrypt(aesKey, plaintext, receiveId);
    return { query: this.#sign(encrypted, token, forgery.timestamp), body: this.envelope(encrypted) };
  }

  /** A signed body around a ciphertext of the caller's making. */
  sealRaw(encrypted: string): { readonly query: URLSearchParams; readonly body: string } {
    return { query: this.#sign(encrypted, this.token), body: this.envelope(encrypted) };
  }

  envelope(encrypted: string): string {
    return elements({ xml: { ToUserName: this.#options.corpId, AgentID: this.#options.agentId, Encrypt: encrypted } });
  }

  /** One attempt; the status, or 0 without an answer. It also ends with `hangUp`. */
  async post(sealed: { readonly query: URLSearchParams; readonly body: string }, hangUp?: AbortSignal): Promise<number> {
    const signal = AbortSignal.any([AbortSignal.timeout(this.timeoutMs), this.#stopping.signal, ...(hangUp ? [hangUp] : [])]);
    const headers = { 'content-type': 'text/xml', connection: 'close' };
    const init = { method: 'POST', body: sealed.body, headers, signal };
    const status = await fetch(`${this.url}?${sealed.query}`, init).then(
      async (response) => {
        await response.body?.cancel();
        return response.status;
      },
      () => 0,
    );
    this.statuses.push(status);
    return status;
  }

  /** The request that proves whose the address is. */
  async verify(echo: string, forgery: Forgery = {}): Promise<{ readonly status: number; readonly body: string }> {
    const encrypted = encrypt(forgery.aesKey ?? this.aesKey, echo, forgery.receiveId ?? this.#options.corpId);
    const query = this.#sign(encrypted, forgery.token ?? this.token, forgery.timestamp);
    query.set('echostr', encrypted);
    const response = await fetch(`${this.url}?${query}`, { headers: { connection: 'close' } });
    return { status: response.status, body: await response.text() };
  }

  async #deliver(xml: string): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS && !this.#stopping.signal.aborted; attempt += 1) {
      if ((await this.post(this.seal(xml))) === 200) return;
      await sleep(this.#options.pauseMs ?? 1_000, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  #sign(encrypted: string, token: string, timestamp: number | string = Math.floor(Date.now() / 1_000)): URLSearchParams {
    const nonce = String(randomInt(1e9));
    const msg_signature = getSignature(token, timestamp, nonce, encrypted);
    return new URLSearchParams({ msg_signature, timestamp: String(timestamp), nonce });
  }
}

function elements(fields: WecomFields): string {
  return Object.entries(fields)
    .map(([name, value]) => {
      const inner = typeof value === 'object' ? elements(value) : typeof value === 'number' ? value : `<![CDATA[${value}]]>`;
      return `<${name}>${inner}</${name}>`;
    })
    .join('');
}
