/** Twilio's REST API: messages that are created and listed, and where their files lie. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { PLATFORM_LIMITS } from '../../../channels/twilio/platform-limits.ts';
import { readAll, sha256 } from '../telegram/wire.ts';
import type { WebhookTarget } from './webhooks.ts';
import { answer, errorBody, listBody, mediaBody, messageBody, newSid, type TwilioMessage } from './wire.ts';

/** What happens to the next `times` requests (default 1) of `call`. The first match wins. */
export interface TwilioFault {
  readonly call: 'send' | 'list' | 'media-list' | 'media' | 'store';
  readonly times?: number;
  /**
   * `error` answers with `status` and Twilio's `code`; `hang`, `drop` and `delay` accept first; `cut` breaks
   * the connection before that. Of `delay` the answer to a send comes after `delayMs`.
   */
  readonly kind: 'error' | 'hang' | 'drop' | 'delay' | 'cut' | 'garbage';
  readonly delayMs?: number;
  readonly status?: number;
  readonly code?: number;
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The account behind the API. Tests change parts of it between two requests. */
export interface RestApiAccount {
  readonly url: string;
  readonly storeUrl: string;
  readonly accountSid: string;
  readonly authToken: string;
  readonly number: string;
  readonly messages: TwilioMessage[];
  readonly calls: string[];
  readonly forms: URLSearchParams[];
  readonly blocked: ReadonlySet<string>;
  readonly redirectTo: ((mediaSid: string) => string) | undefined;
  readonly pageSize: number;
  readonly skewMs: number;
  readonly listLagMs: number;
  readonly onSent: ((sid: string) => void) | undefined;
  readonly target: Pick<WebhookTarget, 'toLocal'> | undefined;
}

export interface RestApiOptions {
  readonly takeFault: (call: TwilioFault['call']) => TwilioFault | undefined;
  /** Aborts when the server closes. */
  readonly signal: AbortSignal;
}

export class TwilioRestApi {
  readonly #account: RestApiAccount;
  readonly #options: RestApiOptions;

  constructor(account: RestApiAccount, options: RestApiOptions) {
    this.#account = account;
    this.#options = options;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    this.#serve(request, response).catch((error: unknown) => {
      if (!response.headersSent) answer(response, 500, errorBody(500, 0, error instanceof Error ? error.message : 'failed'));
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { accountSid, authToken, calls, messages } = this.#account;
    const url = new URL(request.url ?? '/', this.#account.url);
    calls.push(`${request.method} ${url.pathname}${url.search}`);
    const form = new URLSearchParams((await readAll(request)).toString());
    const prefix = `/2010-04-01/Accounts/${accountSid}/Messages`;
    const rest = url.pathname.startsWith(prefix) ? url.pathname.slice(prefix.length) : undefined;
    const [, sid = '', mediaSid] = /^\/((?:SM|MM)\w+)\/Media(?:\/(ME\w+)|\.json)$/.exec(rest ?? '') ?? [];
    const call =
      rest === '.json' ? (request.method === 'POST' ? 'send' : 'list') : mediaSid === undefined ? 'media-list' : 'media';
    const fault = this.#options.takeFault(call);
    if (fault?.kind === 'cut') return void response.destroy();
    if (fault?.kind === 'garbage') return answer(response, 200, '<html>busy</html>');
    if (fault?.kind === 'error') {
      const { status = 400, code = 0, message = 'fault', headers } = fault;
      return answer(response, status, errorBody(status, code, message), headers);
    }
    const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
    if (request.headers.authorization !== authorization) return answer(response, 401, errorBody(401, 20003, 'Authenticate'));
    if (rest === undefined || (rest !== '.json' && sid === '')) return answer(response, 404, errorBody(404, 20404, 'Not found'));
    if (call === 'send') return this.#create(form, response, fault);
    if (fault) return fault.kind === 'drop' ? void response.destroy() : undefined;
    if (call === 'list') {
      const { skewMs, listLagMs: lag, pageSize } = this.#account;
      const date = new Date(Date.now() + skewMs).toUTCString();
      const visible = messages.filter(({ at }) => lag === 0 || at <= Date.now() - lag);
      return answer(response, 200, listBody(visible, url, pageSize), { date });
    }
    const message = messages.find((one) => one.sid === sid);
    if (!message) return answer(response, 404, errorBody(404, 20404, 'Not found'));
    if (mediaSid === undefined) return answer(response, 200, mediaBody(message, url));
    if (!message.media.some((media) => media.sid === mediaSid)) return answer(response, 404, errorBody(404, 20404, 'Not found'));
    const { redirectTo, storeUrl } = this.#account;
    response.writeHead(307, { location: redirectTo?.(mediaSid) ?? `${storeUrl}/${mediaSid}?key=secret` });
    response.end();
  }

  async #create(form: URLSearchParams, response: ServerResponse, fault: TwilioFault | undefined): Promise<void> {
    const { accountSid, number, messages, forms, blocked } = this.#account;
    const [to, from, body] = [form.get('To') ?? '', form.get('From') ?? '', form.get('Body') ?? ''];
    const refuse = (code: number, message: string) => answer(response, 400, errorBody(400, code, message));
    if (!/^\+?\d{3,15}$/.test(to)) return refuse(21211, `Invalid 'To' Phone Number: ${to}`);
    if (from !== number) return refuse(21606, "The 'From' phone number provided is not a valid message-capable number");
    if (body === '' && !form.has('MediaUrl')) return refuse(21602, 'Message body is required.');
    if (body.length > PLATFORM_LIMITS.text.value)
      return refuse(21617, 'The concatenated message body exceeds the 1600 character limit');
    if (blocked.has(to)) return refuse(21610, 'Attempt to send to unsubscribed recipient');
    const urls = form.getAll('MediaUrl');
    const statusCallback = form.get('StatusCallback') ?? undefined;
    const message: TwilioMessage = {
      sid: newSid(urls.length > 0 ? 'MM' : 'SM'),
      ...{ accountSid, from, to, body, direction: 'outbound-api', status: 'queued', at: Date.now() },
      media: [],
      ...(statusCallback !== undefined && { statusCallback }),
    };
    messages.push(message);
    forms.push(form);
    for (const url of urls) await this.#fetch(message, url);
    this.#account.onSent?.(message.sid);
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'drop') return void response.destroy();
    if (fault?.kind === 'delay') await sleep(fault.delayMs ?? 0, undefined, { ref: false });
    answer(response, 201, messageBody(message));
  }

  /** As Twilio does: first the head, then the file. */
  async #fetch(message: TwilioMessage, address: string): Promise<void> {
    const local = this.#account.target?.toLocal(address) ?? address;
    const { signal } = this.#options;
    const head = await fetch(local, { method: 'HEAD', signal, headers: { connection: 'close' } });
    const got = await fetch(local, { signal, headers: { connection: 'close' } });
    const bytes = Buffer.from(await got.arrayBuffer());
    const mime = head.headers.get('content-type') ?? '';
    const name = /filename="([^"]*)"/.exec(got.headers.get('content-disposition') ?? '')?.[1];
    const file = { status: got.status, sha256: sha256(bytes), url: address, ...(name !== undefined && { name }) };
    message.media.push({ sid: newSid('ME'), mime, ...file });
  }
}
