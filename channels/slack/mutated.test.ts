/** Bodies of requests that are signed: by Slack, or by whoever has the signing secret. */
import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../src/core/channel.ts';
import { eventPayload } from '../../src/simulator/slack/workspace.ts';
import { readRequest } from './in/request.ts';

const EVENT = JSON.stringify(eventPayload({ type: 'message', channel: 'D1', user: 'U1', text: 'hi', ts: '1.0001' }, 'Ev1'));
const ACTION = JSON.stringify({ type: 'block_actions', user: { id: 'U1' }, actions: [{ action_id: 'a', value: 'v' }] });
const SEEDS: readonly (readonly [type: string, body: string])[] = [
  ['application/json', EVENT],
  ['application/json', JSON.stringify({ type: 'url_verification', challenge: 'abc' })],
  ['application/x-www-form-urlencoded', `payload=${encodeURIComponent(ACTION)}`],
  ['application/x-www-form-urlencoded', 'command=%2Fx&text=y&user_id=U1&team_id=T1&channel_id=C1'],
  ['application/x-www-form-urlencoded', 'ssl_check=1&token=x'],
];
const PIECES = ['"', '{', '}', '[', ']', '%', '%00', '%ff', '&', '=', 'payload=', 'null', '\0', '\xff', '"__proto__":', '5'];

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('A11 A45 10,000 mutated bodies of signed requests: none breaks the reader, and what is read is an object', () => {
  const draw = generator(9);
  const kinds = new Set<string>();
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    const [type, source] = SEEDS[round % SEEDS.length] ?? ['', ''];
    let body = Buffer.from(source);
    for (let change = draw(3); change >= 0; change -= 1) {
      const at = draw(body.length + 1);
      const put = Buffer.from(PIECES[draw(PIECES.length)] ?? '', 'latin1');
      body = Buffer.concat([body.subarray(0, at), put, body.subarray(at + draw(6))]);
    }
    const headers = { 'content-type': draw(10) === 0 ? 'text/plain' : type };
    const request: WebhookRequest = { method: 'POST', target: '/hooks/slack', query: new URLSearchParams(), headers, body };
    const content = readRequest(request);
    kinds.add(content.kind);
    if (content.kind === 'payload' && typeof content.payload.body !== 'object')
      wrong.push(`${round}: ${typeof content.payload.body}`);
  }
  expect(wrong).toEqual([]);
  expect([...kinds].sort()).toEqual(['challenge', 'other', 'payload']);
});
