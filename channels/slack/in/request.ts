/**
 * Requests of the platform in mode `http`: verified over the bytes that came, then read
 * (https://docs.slack.dev/authentication/verifying-requests-from-slack).
 */
import { createHmac } from 'node:crypto';
import type { WebhookRequest } from '../../../src/core/channel.ts';
import { equalSecrets } from '../../../src/lib/equal-secrets.ts';
import { parseObject, str } from '../../kit/json.ts';
import type { SlackPayload } from './payload.ts';

/** The platform's own advice; a stamp from the future is as wrong as an old one. */
const MAX_AGE_SECS = 300;

/** Why a request is not to be believed; undefined when it is. Nothing of the body has been read by then. */
export function refuseRequest(request: WebhookRequest, signingSecret: string, nowMs: number): string | undefined {
  const stamp = request.headers['x-slack-request-timestamp'];
  const signature = request.headers['x-slack-signature'];
  if (signingSecret === '') return 'there is no signing secret';
  if (stamp === undefined || signature === undefined) return 'the request is not signed';
  if (!/^\d{1,12}$/.test(stamp)) return 'the time stamp is no number';
  if (Math.abs(nowMs / 1_000 - Number(stamp)) > MAX_AGE_SECS) return 'the time stamp is off by more than five minutes';
  const expected = createHmac('sha256', signingSecret).update(`v0:${stamp}:`).update(request.body).digest('hex');
  return equalSecrets(signature, `v0=${expected}`) ? undefined : 'the signature is wrong';
}

export type WebhookContent =
  | { readonly kind: 'payload'; readonly payload: SlackPayload }
  | { readonly kind: 'challenge'; readonly challenge: string }
  /** Signed, and nothing for us: acknowledge. */
  | { readonly kind: 'other'; readonly what: string };

/** Reads a verified request: events are JSON, buttons a form with JSON, commands a form. Never throws. */
export function readRequest({ headers, body }: WebhookRequest): WebhookContent {
  const text = body.toString('utf8');
  if (!(headers['content-type'] ?? '').toLowerCase().startsWith('application/x-www-form-urlencoded')) {
    const event = parseObject(text);
    if (event?.['type'] === 'url_verification') return { kind: 'challenge', challenge: str(event['challenge']) ?? '' };
    // Held back events are told of without an inner event.
    if (event?.['type'] === 'app_rate_limited') {
      return { kind: 'payload', payload: { kind: 'event', body: { ...event, event: { type: event['type'] } } } };
    }
    return event?.['type'] === 'event_callback'
      ? { kind: 'payload', payload: { kind: 'event', body: event } }
      : { kind: 'other', what: str(event?.['type']) ?? 'no type' };
  }
  const form = new URLSearchParams(text);
  const wrapped = form.get('payload');
  if (wrapped !== null) {
    const action = parseObject(wrapped);
    return action ? { kind: 'payload', payload: { kind: 'action', body: action } } : { kind: 'other', what: 'no JSON' };
  }
  return form.has('command')
    ? { kind: 'payload', payload: { kind: 'command', body: Object.fromEntries(form) } }
    : { kind: 'other', what: form.has('ssl_check') ? 'ssl_check' : 'form' };
}
