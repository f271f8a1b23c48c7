import { expect, test } from 'vitest';
import type { SlotStatus, StatusDocument } from '../core/status.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { troublesOf } from './troubles.ts';

const NOW = Date.UTC(2026, 0, 1);
const NONE = { PENDING: 0, SENDING: 0, SENT: 0, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 };

/** Of a daemon that is well, but for what is put over it. */
function document(override: Partial<StatusDocument> = {}): StatusDocument {
  return {
    ...{ version: '1.2.3', pid: 1, startedAt: NOW, uptimeSec: 1, models: [], channels: [], lastErrors: [], degraded: [] },
    model: { id: 'openai/gpt-5-mini', demo: false },
    journal: { inbox: { NEW: 0, RUNNING: 0, PARKED: 0, DONE: 0, DEAD: 0 }, outbox: NONE, refused: [], unsent: [] },
    lanes: { running: 0, waiting: 0 },
    usageToday: { tokensIn: 0, tokensOut: 0, calls: 0, costUsd: 0, unpriced: 0 },
    disk: { freeMb: 9_000, reserveMb: 256 },
    ...override,
  };
}

function channel(state: ChannelStatus['state']): ChannelStatus {
  return { ...{ name: 'mail', type: 'email', account: 'a@b', since: NOW, inboundClass: 'B', sendClass: 'find' }, state };
}

function slot(id: string, circuit: SlotStatus['circuit']): SlotStatus {
  const calls = { successes: 0, failures: 3, consecutiveFailures: 3, errorRate: 1, p95Ms: null, tokensPerSecond: null };
  return { ...calls, id, circuit, latencyMs: null, firstTokenMs: null, score: 0, idleMs: 0 };
}

const failing = { model: 'openai/gpt-5-mini', code: 'GH2101', kind: 'auth', detail: 'the key was refused' };
const at = { at: NOW, code: 'GH1101', detail: 'line 3', hint: 'x' };

/** Each kind of id that a daemon calls degraded (`degradedParts`), and all else an operator has to know. */
test.each<[id: string, override: Partial<StatusDocument>, text: RegExp, fix: RegExp]>([
  [
    'model:demo',
    { model: { id: 'demo', demo: true }, degraded: ['model:demo'] },
    /no real AI/,
    /gatehouse auth set-key PROVIDER .*restart/,
  ],
  [
    'model:openai/gpt-5-mini',
    { modelHealth: { failedInARow: 2, last: failing }, degraded: ['model:openai/gpt-5-mini'] },
    /2 calls failed in a row: GH2101/,
    /key/,
  ],
  [
    'model:b/2',
    { models: [slot('a/1', 'closed'), slot('b/2', 'open')], degraded: ['model:b/2'] },
    /b\/2 is left alone after 3 failures, another one answers/,
    /models test/,
  ],
  ['channel:mail', { channels: [channel('down')], degraded: ['channel:mail'] }, /mail is down/, /channels test mail/],
  ['channel:mail', { channels: [channel('stopped')], degraded: ['channel:mail'] }, /mail is stopped/, /channels test mail/],
  [
    'mcp:files',
    {
      mcp: [{ server: 'files', state: 'down', detail: 'it ended', offered: [], waiting: [], skipped: [] }],
      degraded: ['mcp:files'],
    },
    /files is down: it ended/,
    /mcp test files/,
  ],
  [
    'plugin:greet',
    { plugins: [{ plugin: 'greet', state: 'broken', detail: 'no plugin.json', offered: [] }], degraded: ['plugin:greet'] },
    /greet is broken: no plugin.json/,
    /plugins list/,
  ],
  ['journal', { degraded: ['journal'] }, /nothing is accepted/, /make room/],
  ['sandbox', { sandbox: { problem: 'no bwrap', hint: 'apt install bubblewrap' }, degraded: ['sandbox'] }, /no bwrap/, /apt/],
  ['intake:telegram', { degraded: ['intake:telegram'] }, /telegram is asked to hold/, /explain GH1509/],
  [
    'hold:telegram',
    {
      holds: [{ what: 'telegram', reason: '429', until: NOW + 48_000 }],
      journal: { ...document().journal, unsent: [{ channel: 'telegram', count: 3 }] },
    },
    /^3 answers wait 48 s for telegram \(429\)$/,
    /goes on by itself/,
  ],
  ['budget', { budget: { spentUsd: 2, limitUsd: 2 } }, /limit of today is reached.*2\.00 of/, /budget\.daily_usd/],
  [
    'price',
    { budget: { spentUsd: 0, limitUsd: 2 }, usageToday: { ...document().usageToday, unpriced: 1 } },
    /1 call of unknown price/,
    /price/,
  ],
  ['config', { config: { needsRestart: [], problem: at } }, /GH1101 line 3/, /config check/],
  ['restart', { config: { needsRestart: ['gateway.http.port'] } }, /gateway.http.port/, /restart/],
  ['clock', { clockMovedMs: -3_600_000 }, /set 1 h back/, /timedatectl/],
  ['clock', { clockBehindMs: 3_600_000 }, /1 h behind the newest record/, /set-ntp/],
  ['disk', { disk: { freeMb: 100, reserveMb: 256 } }, /100 MB are free.*256 MB/, /make room/],
  ['disk', { disk: { freeMb: 9_000, reserveMb: 256, syncMs: 150 } }, /disk takes 150 ms/, /local disk/],
  [
    'webhook:/hooks/telegram',
    { webhooks: [{ path: '/hooks/telegram', refused: 3, refusedAt: NOW - 5_000 }] },
    /3 requests at \/hooks\/telegram refused, not signed.*none was taken/,
    /compare the secret/,
  ],
  ['jobs', { jobs: { enabled: 2, disabled: 0, failing: 1 } }, /1 job failed/, /cron list/],
  ['messages', { journal: { ...document().journal, outbox: { ...NONE, UNKNOWN: 1 } } }, /1 answer of which/, /dead list/],
])('%s is a trouble with its cause and its repair (%j)', (id, override, text, fix) => {
  const found = troublesOf(document(override), NOW);
  expect(found).toEqual([{ id, text: expect.stringMatching(text), fix: expect.stringMatching(fix), isBad: expect.any(Boolean) }]);
});

test('a daemon that is well has no trouble', () => {
  expect(troublesOf(document(), NOW)).toEqual([]);
});
