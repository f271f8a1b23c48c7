/** Answers of Twilio's API, in the shape of its OpenAPI description. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';

export interface TwilioMessage {
  readonly sid: string;
  readonly accountSid: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly direction: string;
  status: string;
  /** Epoch ms. */
  readonly at: number;
  readonly media: {
    readonly sid: string;
    readonly mime: string;
    readonly status?: number;
    readonly sha256?: string;
    readonly url?: string;
    readonly name?: string;
  }[];
  readonly statusCallback?: string;
  /** The webhook was never asked: such a message has no date of sending. */
  readonly unsent?: true;
}

export function errorBody(status: number, code: number, message: string): object {
  return { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status };
}

export function messageBody(message: TwilioMessage): object {
  const uri = `/2010-04-01/Accounts/${message.accountSid}/Messages/${message.sid}`;
  const date = new Date(message.at).toUTCString().replace('GMT', '+0000');
  return {
    account_sid: message.accountSid,
    api_version: '2010-04-01',
    body: message.body,
    date_created: date,
    // One that waits in the queue has not been sent; of one that came in it is "when Twilio sent the HTTP
    // request to your webhook".
    date_sent: message.status === 'queued' || message.unsent ? null : date,
    date_updated: date,
    direction: message.direction,
    error_code: null,
    error_message: null,
    from: message.from,
    messaging_service_sid: null,
    num_media: String(message.media.length),
    num_segments: '1',
    price: null,
    price_unit: null,
    sid: message.sid,
    status: message.status,
    subresource_uris: { media: `${uri}/Media.json` },
    to: message.to,
    uri: `${uri}.json`,
  };
}

/** Newest first; by the date alone, as the reference says of the filter. */
export function listBody(all: readonly TwilioMessage[], url: URL, pageSize: number): object {
  const { searchParams: query } = url;
  const [to, from, after] = [query.get('To'), query.get('From'), query.get('DateSent>')];
  const day = after === null ? Number.NEGATIVE_INFINITY : Date.parse(`${after.slice(0, 10)}T00:00:00Z`);
  const fits = all
    .map((message, index) => ({ message, index }))
    .filter(
      ({ message }) =>
        (to === null || message.to === to) &&
        (from === null || message.from === from) &&
        (after === null || (!message.unsent && message.at >= day)),
    )
    .sort((a, b) => Math.floor(b.message.at / 1_000) - Math.floor(a.message.at / 1_000) || b.index - a.index)
    .map(({ message }) => message);
  const start = 1 + fits.findIndex(({ sid }) => `PA${sid}` === query.get('PageToken'));
  const page = fits.slice(start, start + Math.min(pageSize, Number(query.get('PageSize') ?? 50)));
  const last = page.at(-1);
  const next = new URL(url);
  next.searchParams.set('PageToken', `PA${last?.sid}`);
  return {
    ...pageFields(url, start, page.length, pageSize),
    messages: page.map(messageBody),
    next_page_uri: last && start + page.length < fits.length ? `${next.pathname}${next.search}` : null,
  };
}

export function mediaBody(message: TwilioMessage, url: URL): object {
  const date = new Date(message.at).toUTCString().replace('GMT', '+0000');
  return {
    ...pageFields(url, 0, message.media.length, 50),
    next_page_uri: null,
    media_list: message.media.map(({ sid, mime }) => ({
      account_sid: message.accountSid,
      content_type: mime,
      date_created: date,
      date_updated: date,
      parent_sid: message.sid,
      sid,
      uri: `/2010-04-01/Accounts/${message.accountSid}/Messages/${message.sid}/Media/${sid}.json`,
    })),
  };
}

function pageFields(url: URL, start: number, length: number, pageSize: number): object {
  const uri = `${url.pathname}${url.search}`;
  return {
    first_page_uri: uri,
    previous_page_uri: null,
    uri,
    page: 0,
    page_size: pageSize,
    start,
    end: start + Math.max(0, length - 1),
  };
}

export function newSid(prefix: string): string {
  return `${prefix}${randomBytes(16).toString('hex')}`;
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers });
  response.end(text);
}
