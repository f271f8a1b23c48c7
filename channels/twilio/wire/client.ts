/** Wire calls to the REST API. The only file that loads the SDK. */
import type { IncomingHttpHeaders } from 'node:http';
import twilio from 'twilio';
import { CallError, type CallFailure } from '../../kit/call-error.ts';
import { Transport } from './transport.ts';

/** A message as the list tells it. */
export interface MessageRecord {
  readonly sid: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly direction: string;
  readonly status: string;
  readonly mediaCount: number;
  /** Epoch ms, whole seconds: when it was sent, or made if that is not known yet; undefined if neither is. */
  readonly at: number | undefined;
}

export interface MessageList {
  readonly messages: readonly MessageRecord[];
  /** The platform's clock, epoch ms. Undefined when the answer did not tell. */
  readonly serverTime: number | undefined;
  /** Absent on the last page. */
  readonly next?: (signal: AbortSignal) => Promise<MessageList>;
}

export interface MediaRecord {
  readonly sid: string;
  readonly mime: string | undefined;
}

export interface SendCall {
  readonly to: string;
  readonly from: string;
  readonly body?: string;
  readonly mediaUrl?: string;
  readonly statusCallback?: string;
}

export interface MessageFilter {
  readonly to: string;
  readonly from?: string;
  /** Default 100. */
  readonly pageSize?: number;
}

const PAGE_SIZE = 100;

/**
 * One account's calls. They reject with a `CallError`, or with the signal's reason once that aborted what may
 * have left.
 */
export class TwilioClient {
  readonly #messages: twilio.Twilio['messages'];
  readonly #transport: Transport;
  readonly #mediaRoot: string;
  readonly #authorization: string;
  readonly #secret: string;

  /** `apiRoot` has no trailing slash. */
  constructor(options: { readonly accountSid: string; readonly authToken: string; readonly apiRoot: string }) {
    const { accountSid, authToken, apiRoot } = options;
    this.#secret = authToken;
    this.#transport = new Transport(apiRoot);
    this.#mediaRoot = `${apiRoot}/2010-04-01/Accounts/${accountSid}/Messages`;
    this.#authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
    // The SDK only calls `request`; its type also names what its own client keeps inside.
    const httpClient = this.#transport as unknown as twilio.RequestClient;
    // The SDK loads most of itself at the first touch. That is now, or it would count against a call's time
    // limit.
    this.#messages = twilio(accountSid, authToken, { httpClient, autoRetry: false }).messages;
  }

  /** Newest first. */
  async list(filter: MessageFilter, signal: AbortSignal): Promise<MessageList> {
    const { to, from, pageSize = PAGE_SIZE } = filter;
    return this.#page('message list', signal, () =>
      this.#messages.page({
        to,
        ...(from !== undefined && { from }),
        pageSize,
      }),
    );
  }

  /** Files of a message; the list of messages only counts them. */
  async media(messageSid: string, signal: AbortSignal): Promise<readonly MediaRecord[]> {
    const found = await this.#call('media list', signal, () => this.#messages(messageSid).media.page({ pageSize: 50 }));
    return found.instances.map(({ sid, contentType }) => ({ sid: String(sid), mime: contentType ?? undefined }));
  }

  /** Resolves to the message's SID. */
  async send(call: SendCall, signal: AbortSignal): Promise<string> {
    const { mediaUrl, ...rest } = call;
    const params = { ...rest, ...(mediaUrl !== undefined && { mediaUrl: [mediaUrl] }) };
    const { sid } = await this.#call('message', signal, () => this.#messages.create(params));
    // A proxy that answers 200 with something else has told us nothing about the message.
    if (typeof sid !== 'string' || sid === '')
      throw new CallError('message', { kind: 'lost', detail: 'an answer without a SID' });
    return sid;
  }

  /** Address and credentials of a file at the platform; the answer is a redirect to where the bytes are. */
  mediaRequest(messageSid: string, mediaSid: string): { readonly url: URL; readonly authorization: string } {
    return { url: new URL(`${this.#mediaRoot}/${messageSid}/Media/${mediaSid}`), authorization: this.#authorization };
  }

  /** Breaks what is under way. Twice is safe. */
  close(): void {
    this.#transport.close();
  }

  async #page(what: string, signal: AbortSignal, run: () => Promise<MessagePage | undefined>): Promise<MessageList> {
    let headers: IncomingHttpHeaders = {};
    const page = await this.#call(what, signal, run, (seen) => {
      headers = seen;
    });
    const serverTime = Date.parse(headers.date ?? '');
    const more = page?.nextPageUrl === undefined ? undefined : page;
    return {
      messages: page?.instances.map(toRecord) ?? [],
      serverTime: Number.isNaN(serverTime) ? undefined : serverTime,
      ...(more && { next: (later: AbortSignal) => this.#page(what, later, () => more.nextPage() ?? Promise.resolve(undefined)) }),
    };
  }

  async #call<T>(
    what: string,
    signal: AbortSignal,
    run: () => Promise<T>,
    onHeaders?: (headers: IncomingHttpHeaders) => void,
  ): Promise<T> {
    signal.throwIfAborted();
    let headers: IncomingHttpHeaders = {};
    try {
      return await this.#transport.run(signal, run, (seen) => {
        headers = seen;
        onHeaders?.(seen);
      });
    } catch (error) {
      const failure = this.#withoutSecret(toFailure(error, headers));
      // An abort before the connection stood is worth telling: nothing was sent.
      if (failure.kind !== 'unreached') signal.throwIfAborted();
      throw new CallError(what, failure);
    }
  }

  /** A proxy in front of the platform may describe a failure by what it was sent. */
  #withoutSecret(failure: CallFailure): CallFailure {
    if (failure.kind !== 'api') return failure;
    return { ...failure, detail: failure.detail.replaceAll(this.#secret, '[token]').slice(0, 300) };
  }
}

type FirstPage = Awaited<ReturnType<twilio.Twilio['messages']['page']>>;
type MessagePage = Pick<FirstPage, 'instances' | 'nextPageUrl' | 'nextPage'>;

function toRecord(message: MessagePage['instances'][number]): MessageRecord {
  return {
    sid: text(message.sid),
    from: text(message.from),
    to: text(message.to),
    body: text(message.body),
    direction: text(message.direction),
    status: text(message.status),
    mediaCount: Number(message.numMedia) || 0,
    at: toTime(message.dateSent) ?? toTime(message.dateCreated),
  };
}

/** The SDK's types promise values where the API may say null. */
function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function toTime(value: unknown): number | undefined {
  const time = value instanceof Date ? value.getTime() : Date.parse(text(value));
  return Number.isNaN(time) ? undefined : time;
}

function toFailure(error: unknown, headers: IncomingHttpHeaders): CallFailure {
  if (error instanceof CallError) return error.failure;
  const { status, code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  // What the SDK throws for any answer that is no success; everything else is an answer it could not read.
  if (typeof status !== 'number') return { kind: 'lost', detail: 'the answer could not be read' };
  const seconds = Number(headers['retry-after']);
  return {
    kind: 'api',
    status,
    detail: typeof message === 'string' ? message : `HTTP ${status}`,
    ...(typeof code === 'number' && { code }),
    ...(headers['retry-after'] !== undefined && seconds >= 0 && { retryAfterMs: Math.min(seconds, 86_400) * 1_000 }),
  };
}
