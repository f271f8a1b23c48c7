/** Wire calls to the WeCom API (https://developer.work.weixin.qq.com/document/path/90664). */
import { openAsBlob } from 'node:fs';
import type { Clock } from '../../../src/core/ports.ts';
import { settledOrAborted } from '../../../src/lib/time-limit.ts';
import { apiFailureOf, CallError, type CallFailure, type ErrorCode, guardCall } from '../../kit/call-error.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../../kit/deadline.ts';
import { num, obj, parseObject, str } from '../../kit/json.ts';
import { readText } from '../../kit/read-text.ts';
import { isProvenUnsent, toFailure } from './failure.ts';

export type MediaType = 'image' | 'voice' | 'video' | 'file';

export interface Upload {
  readonly type: MediaType;
  readonly path: string;
  readonly name: string;
  readonly mime: string;
}

/** The answer to message/send, as far as it is used. */
export interface Sent {
  readonly msgid?: string;
  /** Those of `touser` that got nothing, separated by `|`. */
  readonly invaliduser?: string;
  readonly unlicenseduser?: string;
}

/** Set to true while a message is on its way: an abort by then takes nothing back. */
export interface Progress {
  left: boolean;
}

/** Answers other than files are a few hundred bytes. */
const MAX_ANSWER = 65_536;
/** A token is renewed this long before its end, so that none ends on its way. */
const RENEW_EARLY_SECS = 200;
/** Invalid and expired; also what remains of a token after the secret was changed. */
const STALE_TOKEN: ReadonlySet<ErrorCode | undefined> = new Set([40_014, 42_001, 41_001]);

interface Answer {
  readonly errcode: number;
  readonly errmsg: string;
  readonly [key: string]: unknown;
}

/**
 * One application's calls. They reject with a `CallError`, or with the signal's reason once that aborted;
 * `upload` also with the error of reading the file.
 */
export class WecomClient {
  readonly #options: { readonly corpId: string; readonly secret: string; readonly apiRoot: string; readonly clock: Clock };
  readonly #closing = new AbortController();
  #token: { readonly value: string; readonly until: number } | undefined;
  #fetching: Promise<string> | undefined;

  /** `apiRoot` has no trailing slash. */
  constructor(options: { readonly corpId: string; readonly secret: string; readonly apiRoot: string; readonly clock: Clock }) {
    this.#options = options;
  }

  /**
   * Asks for a new token and, with it, for the application itself: a token is given to any address, calls are
   * answered only to trusted ones.
   */
  async checkCredentials(agentId: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const token = await this.#accessToken(signal, this.#token?.value);
    try {
      await withDeadline({ clock, ms: CALL_TIMEOUT_MS, signal }, (inner) =>
        this.#json('agent/get', { access_token: token, agentid: String(agentId) }, {}, inner),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof CallError ? error : this.#error('agent/get', { kind: 'lost', detail: 'no answer in time' });
    }
  }

  /** `payload` is the whole message; resolves to what the platform says of it. */
  async send(payload: object, progress: Progress, signal: AbortSignal): Promise<Sent> {
    // The platform refuses \u escapes in JSON (40033): what `JSON.stringify` would escape was removed before.
    const body = JSON.stringify(payload);
    return await this.#withToken(signal, async (token) => {
      progress.left = true;
      try {
        const init = { method: 'POST', body, headers: { 'content-type': 'application/json; charset=utf-8' } };
        return toSent(await this.#json('message/send', { access_token: token }, init, signal));
      } catch (error) {
        if (isProvenUnsent(error)) progress.left = false;
        throw error;
      }
    });
  }

  /** Resolves to the media id, valid for three days. */
  async upload({ type, path, name, mime }: Upload, signal: AbortSignal): Promise<string> {
    const file = await openAsBlob(path, { type: mime });
    return await this.#withToken(signal, async (token) => {
      const form = new FormData();
      form.set('media', file, name);
      const answer = await this.#json('media/upload', { access_token: token, type }, { method: 'POST', body: form }, signal);
      const id = answer['media_id'];
      if (typeof id !== 'string' || id === '')
        throw this.#error('media/upload', { kind: 'lost', detail: 'the answer has no media id' });
      return id;
    });
  }

  /** The response is unread and its status is 200. */
  async fetchMedia(mediaId: string, signal: AbortSignal): Promise<Response> {
    return await this.#withToken(signal, async (token) => {
      const response = await this.#fetch('media/get', { access_token: token, media_id: mediaId }, {}, signal);
      // A file comes as an attachment; JSON that is none is the platform's refusal.
      const type = response.headers.get('content-type') ?? '';
      if (response.headers.has('content-disposition') || !/json|^text\/plain/i.test(type)) return response;
      await this.#read('media/get', response, signal);
      throw this.#error('media/get', { kind: 'lost', detail: 'the answer holds no file' });
    });
  }

  /** Ends calls under way. Twice is safe. */
  close(): void {
    this.#closing.abort(new Error('the client is closed'));
  }

  /** Runs again with a fresh token when the platform refuses this one (spec I4): such a call did nothing. */
  async #withToken<T>(signal: AbortSignal, run: (token: string) => Promise<T>): Promise<T> {
    const token = await this.#accessToken(signal);
    try {
      return await run(token);
    } catch (error) {
      if (!STALE_TOKEN.has(apiFailureOf(error)?.code)) throw error;
      return await run(await this.#accessToken(signal, token));
    }
  }

  /** `stale`: a token not to be given again. All who wait share one call, which none of them can abort. */
  async #accessToken(signal: AbortSignal, stale?: string): Promise<string> {
    signal.throwIfAborted();
    if (this.#token && (this.#token.value === stale || this.#options.clock.monotonic() >= this.#token.until))
      this.#token = undefined;
    if (this.#token) return this.#token.value;
    this.#fetching ??= this.#fetchToken().finally(() => {
      this.#fetching = undefined;
    });
    return await settledOrAborted(this.#fetching, signal);
  }

  async #fetchToken(): Promise<string> {
    const { corpId, secret, clock } = this.#options;
    const answer = await withDeadline({ clock, ms: CALL_TIMEOUT_MS, signal: this.#closing.signal }, (signal) =>
      this.#json('gettoken', { corpid: corpId, corpsecret: secret }, {}, signal),
    ).catch((error: unknown) => {
      throw error instanceof CallError ? error : this.#error('gettoken', { kind: 'lost', detail: 'no answer in time' });
    });
    const { access_token: value, expires_in: seconds } = answer;
    if (typeof value !== 'string' || value === '')
      throw this.#error('gettoken', { kind: 'lost', detail: 'the answer has no token' });
    const valid = typeof seconds === 'number' && seconds > 0 ? seconds : 7_200;
    this.#token = { value, until: clock.monotonic() + Math.max(valid / 2, valid - RENEW_EARLY_SECS) * 1_000 };
    return value;
  }

  async #json(method: string, query: Query, init: RequestInit, signal: AbortSignal): Promise<Answer> {
    return await this.#read(method, await this.#fetch(method, query, init, signal), signal);
  }

  /** The query holds the credentials: no URL is ever in an error, and no redirect is followed with it. */
  #fetch(method: string, query: Query, init: RequestInit, signal: AbortSignal): Promise<Response> {
    const url = `${this.#options.apiRoot}/cgi-bin/${method}?${new URLSearchParams(query)}`;
    // A connection for each call: a request written to one that the other side just closed is a request
    // no one can tell the fate of.
    const headers = { ...(init.headers as Record<string, string> | undefined), connection: 'close' };
    return this.#guard(method, signal, async () => {
      const response = await fetch(url, { ...init, headers, redirect: 'error', signal });
      const { status } = response;
      if (status === 200) return response;
      await response.body?.cancel();
      throw this.#error(method, { kind: 'http', status, detail: `HTTP ${status} instead of an answer` });
    });
  }

  /** Rejects for every answer but a success. */
  async #read(method: string, response: Response, signal: AbortSignal): Promise<Answer> {
    const { body } = response;
    const text = await this.#guard(method, signal, async () => (body ? await readText(body, MAX_ANSWER) : ''));
    const answer = toAnswer(text);
    if (!answer) throw this.#error(method, { kind: 'lost', detail: 'the answer is not one of the WeCom API' });
    const { errcode: code, errmsg } = answer;
    if (code !== 0) throw this.#error(method, { kind: 'api', code, detail: errmsg });
    return answer;
  }

  #guard<T>(method: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return guardCall(signal, run, (error) => this.#error(method, toFailure(error)));
  }

  /** What the platform says may quote the call, credentials included. */
  #error(method: string, failure: CallFailure): CallError {
    if (failure.kind !== 'api') return new CallError(method, failure);
    let { detail } = failure;
    for (const hidden of [this.#options.secret, this.#token?.value]) if (hidden) detail = detail.replaceAll(hidden, '[secret]');
    detail = detail.replace(/\p{Cc}+/gu, ' ').slice(0, 300);
    return new CallError(method, { ...failure, detail }, `${failure.code} ${detail}`.trim());
  }
}

type Query = Readonly<Record<string, string>>;

function toAnswer(text: string): Answer | undefined {
  const answer = obj(parseObject(text));
  const errcode = num(answer['errcode']);
  return errcode === undefined ? undefined : { ...answer, errcode, errmsg: str(answer['errmsg']) ?? '' };
}

function toSent(answer: Answer): Sent {
  const sent: Record<string, string> = {};
  for (const name of ['msgid', 'invaliduser', 'unlicenseduser']) {
    const value = answer[name];
    if (typeof value === 'string' && value !== '') sent[name] = value;
  }
  return sent;
}
