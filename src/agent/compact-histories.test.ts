// Random histories, compacted: `npm run compact:histories` plays 100,000 of them.
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { wholeHistory } from '../../sessions/read-only.ts';
import type { Model } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { systemClock } from '../lib/clock.ts';
import { createWire } from '../llm/create.ts';
import { resolveProvider } from '../llm/providers/resolve.ts';
import { expectSound, historyOf } from '../testing/any-history.ts';
import { tempDir } from '../testing/fakes.ts';
import { Memory } from '../testing/strict/memory.ts';
import { STRICT_PEERS, type StrictPeer } from '../testing/strict/peers.ts';
import { type CompactionPlan, planCompaction, SESSION_COMPACTION, summarise, withSummary } from './compact.ts';
import { repairHistory } from './repair.ts';

const RUNS = Number(process.env['COMPACT_HISTORIES'] ?? 150);
const TIMEOUT_MS = 60_000 + RUNS * 500;
/** Each history on a disk costs syncs. */
const ON_DISK = Math.max(10, Math.floor(RUNS / 200));

const held = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(20) });
const byRule = (rule: { readonly from: number; readonly keep: number }, history: ReturnType<typeof historyOf>) =>
  fc.record({ history, held, rule: fc.constant(rule) });
/** Long enough for their rule, where nothing is held. */
const scenario = fc.oneof(
  { weight: 1, arbitrary: byRule(SESSION_COMPACTION, historyOf(40, 60)) },
  { weight: 2, arbitrary: byRule({ from: 13, keep: 8 }, historyOf(13, 60)) },
);

/**
 * Which messages belong together, by the rule of `repairHistory`: the newest call of that id that still
 * waits.
 */
function groupsOf(messages: readonly SessionMessage[]): readonly (readonly number[])[] {
  const open: { readonly id: string; readonly at: number }[] = [];
  const pairs: number[][] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) open.push({ id, at });
    if (message.role !== 'tool') continue;
    const found = open.findLastIndex(({ id }) => id === message.tool_call_id);
    const [caller] = found < 0 ? [] : open.splice(found, 1);
    if (caller) pairs.push([caller.at, at]);
  }
  return pairs;
}

const isSplit = ({ begin, end }: CompactionPlan, pair: readonly number[]): boolean => {
  const inside = pair.map((at) => at >= begin && at < end);
  return inside.some(Boolean) && !inside.every(Boolean);
};

async function summaryOf(messages: readonly SessionMessage[]): Promise<SessionMessage> {
  const models = {
    window: async () => 8_000,
    ask: async () => ({ kind: 'answer', text: 'They talked.', isComplete: true }) as const,
  };
  const made = await summarise({ messages, kind: 'session', name: 'x' }, models, new AbortController().signal);
  if (made.kind !== 'summary') throw new Error('no summary');
  return made.line;
}

/** What the strict server of this provider says to a history; undefined = it takes it. */
function validatorOf({ wire, config }: StrictPeer): (messages: readonly SessionMessage[]) => Promise<unknown> {
  let refusal: unknown;
  const fetchFn = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname, searchParams: query } = new URL(String(url));
    const headers = Object.fromEntries(new Headers(init?.headers));
    const body = JSON.parse(String(init?.body)) as Record<string, unknown>;
    refusal = wire.validate({ method: 'POST', path: pathname, query, headers, body }, new Memory({}));
    return new Response('', { status: 200, headers: { 'content-type': 'text/event-stream' } });
  };
  const target = resolveProvider({ ...config, base_url: `http://127.0.0.1:1${wire.basePath}` });
  const timeouts = { connectMs: 1_000, totalMs: 60_000 };
  const model: Model = createWire(target, 'sk-strict', { timeouts, clock: systemClock, fetch: fetchFn as typeof fetch });
  const tools = ['echo', 'read_file'].map((name) => ({
    name,
    description: name,
    parameters: { type: 'object', properties: {} },
  }));
  return async (messages) => {
    refusal = 'was not asked';
    const context = { session: 's', channel: 'test', sender: 'test:user-1', purpose: 'turn' };
    for await (const _event of model.call({ messages, tools, context }, new AbortController().signal)) void _event;
    return refusal;
  };
}

test(
  'no call is parted from its results, what the model is shown is sound, and every strict server takes it',
  async () => {
    const servers = STRICT_PEERS.map((peer) => ({ name: peer.name, refusalOf: validatorOf(peer) }));
    const system: SessionMessage = {
      id: 'system',
      role: 'system',
      content: 'You are a test.',
      timestamp: '2026-01-01T00:00:00.000Z',
    };
    const asked: SessionMessage = { ...system, id: 'now', role: 'user', content: 'and now?' };
    let [compacted, byConversation] = [0, 0];
    await fc.assert(
      fc.asyncProperty(scenario, async ({ history, held, rule }) => {
        const plan = planCompaction(history, rule, held);
        // Of `RUNS` are those alone that are compacted.
        fc.pre(plan !== undefined);
        compacted += 1;
        if (rule === SESSION_COMPACTION) byConversation += 1;
        expect(groupsOf(history).filter((pair) => isSplit(plan, pair))).toEqual([]);
        expect([plan.begin >= held, plan.end <= history.length - rule.keep]).toEqual([true, true]);
        const replaced = history.slice(plan.begin, plan.end);
        const result = withSummary(history, plan, await summaryOf(replaced));
        expect([...result.slice(0, plan.begin), ...replaced, ...result.slice(plan.begin + 1)]).toEqual(history);
        const shown = repairHistory([system, ...result, asked]);
        expectSound(shown);
        for (const { name, refusalOf } of servers) expect([name, await refusalOf(shown)]).toEqual([name, undefined]);
      }),
      { numRuns: RUNS },
    );
    expect([compacted, byConversation > RUNS * 0.15]).toEqual([RUNS, true]);
  },
  TIMEOUT_MS,
);

test(
  'the archive and the session have every line that was ever there',
  async () => {
    const dir = await tempDir();
    onTestFinished(() => dir[Symbol.asyncDispose]());
    const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
    let n = 0;
    await fc.assert(
      fc.asyncProperty(historyOf(45, 60), historyOf(40, 50), async (first, second) => {
        n += 1;
        const key = `_main:test:${n}`;
        const later = second.map((message) => ({ ...message, id: `l${message.id}` }));
        for (const lines of [first, later]) {
          await store.append(key, lines);
          const { messages } = (await store.load(key)) ?? { messages: [] };
          const plan = planCompaction(messages, SESSION_COMPACTION);
          if (!plan) continue;
          const made = await summaryOf(messages.slice(plan.begin, plan.end));
          await store.rewrite(key, withSummary(messages, plan, { ...made, id: `${made.id}${lines[0]?.id}` }));
        }
        const whole: string[] = [];
        for await (const { id } of wholeHistory(dir.path, key)) whole.push(id);
        expect(new Set(whole)).toEqual(new Set([...whole, ...first.map(({ id }) => id), ...later.map(({ id }) => id)]));
        expect(whole.filter((id) => !id.startsWith('compacted:'))).toHaveLength(first.length + later.length);
      }),
      { numRuns: ON_DISK },
    );
  },
  TIMEOUT_MS,
);
