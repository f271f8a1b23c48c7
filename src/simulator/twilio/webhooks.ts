/** Webhooks as Twilio posts them, signed by its own SDK: the crypto under test is not the one that signs. */
import { Agent, request as requestHttp } from 'node:http';
import twilio from 'twilio';

export interface WebhookTarget {
  /** As entered in the console: what is signed. */
  readonly publicUrl: string;
  /** The same place on this machine. */
  readonly toLocal: (url: string) => string;
}

export interface SignedPost {
  readonly fields: Readonly<Record<string, string>>;
  readonly authToken: string;
  readonly signal: AbortSignal;
  /** Default: the public URL. */
  readonly url?: string;
  /** Laid over the headers; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent instead of the form that was signed. */
  readonly body?: string;
}

/** One after the other over one connection, so that the order of writing is the order of arrival. */
const agent = new Agent({ keepAlive: false, maxSockets: 1 });

/** Status 0: no answer came. */
export function postWebhook(target: WebhookTarget, post: SignedPost): Promise<{ status: number; type?: string; body: string }> {
  const url = post.url ?? target.publicUrl;
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
  headers['x-twilio-signature'] = twilio.getExpectedTwilioSignature(post.authToken, url, post.fields);
  for (const [name, value] of Object.entries(post.headers ?? {})) {
    if (value === undefined) delete headers[name];
    else headers[name] = value;
  }
  const body = post.body ?? new URLSearchParams(post.fields).toString();
  return new Promise((resolve) => {
    const request = requestHttp(target.toLocal(url), { method: 'POST', headers, agent, signal: post.signal }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      const type = response.headers['content-type'];
      response.on('close', () => resolve({ status: response.statusCode ?? 0, body: text, ...(type !== undefined && { type }) }));
    });
    request.on('error', () => resolve({ status: 0, body: '' }));
    request.end(body);
  });
}

/** A JSON body is not signed; its hash in the address is. */
export function jsonUrl(publicUrl: string, body: string): string {
  return `${publicUrl}?bodySHA256=${twilio.getExpectedBodyHash(body)}`;
}
