// What the session and the chat know of a turn that did not come to its own end. Everything is real but the
// platform and the model.
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import type { Journal } from '../core/journal.ts';
import type { ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import type { Tool } from '../core/tool.ts';
import { systemClock } from '../lib/clock.ts';
import { countingTool } from '../testing/agent-run.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const UNKNOWN = 'Error: outcome unknown: this call was broken off and may have taken effect. Check before repeating it.';
const PAY = { text: 'I will pay.', toolCalls: [{ name: 'pay', arguments: { eur: 9 } }] };
const HANG = { hang: true } as const;

function payTool(run?: Tool['run']): Tool & { readonly runs: number } {
  return countingTool({ name: 'pay', act: 'home', run: run ?? (async () => ({ ok: true, output: 'paid 9 EUR' })) });
}

/** What the model is shown, without the system prompt. */
function shown(request: ModelRequest | undefined): readonly (readonly [string, string])[] {
  return (request?.messages ?? []).slice(1).map(({ role, content }) => [role, content]);
}

/** The lines of the only session in its file. Nothing may be open on the directory. */
async function fileOf(dir: string): Promise<readonly SessionMessage[]> {
  const store = openJsonlStore({ dir, clock: systemClock, onDamage: () => undefined });
  const [info] = await store.list();
  return (await store.load(info?.key ?? ''))?.messages ?? [];
}

interface Setting {
  readonly script: readonly ScriptStep[];
  readonly tool?: Tool;
  readonly gateway?: Record<string, unknown>;
  readonly wrapJournal?: (journal: Journal) => Journal;
}

async function start(dataDir: string, { script, tool = payTool(), gateway = {}, wrapJournal }: Setting) {
  const model = scriptedModel(script);
  const daemon = { extraTools: [() => [tool]], ...(wrapJournal ? { wrapJournal } : {}) };
  const rig = await testDaemon({ dataDir, model, gateway, policy: { members: ['pay'] }, daemon });
  return { ...rig, model, [Symbol.asyncDispose]: rig[Symbol.asyncDispose] };
}

test('a turn that is stopped after a tool ran: the next call of the model sees the call and its result, and the chat is told', async () => {
  await using dir = await tempDir();
  const tool = payTool();
  const providerState = { provider: 'scripted', model: 'model', data: { signature: 's' } };
  {
    await using rig = await start(dir.path, { script: [{ ...PAY, providerState }, HANG, 'Yes, 9 EUR.'], tool });
    await rig.channel.deliver({ text: 'pay the bill' });
    await until('the model sees the result', () => rig.model.requests.length === 2);
    await rig.channel.deliver({ text: '/stop' });
    await rig.channel.deliver({ text: 'did you pay? if not, do it' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['🛑 Cancelled.\nAlready run: pay', 'Yes, 9 EUR.']);
    expect(shown(rig.model.requests[2])).toEqual([
      ['user', 'pay the bill'],
      ['assistant', 'I will pay.'],
      ['tool', 'paid 9 EUR'],
      ['assistant', '[interrupted]'],
      ['user', 'did you pay? if not, do it'],
    ]);
    expect(rig.model.requests[2]?.messages[2]).toMatchObject({ provider_state: providerState, tool_calls: [{ name: 'pay' }] });
  }
  const lines = await fileOf(dir.path);
  expect(lines.map(({ id }) => id)).toEqual([
    ...['m1:in', 'm1#a1', 'm1#t1.0', 'm1#end'].map((id) => `test/bot/${id}`),
    ...['m3:in', 'm3#a1'].map((id) => `test/bot/${id}`),
  ]);
  expect(tool.runs).toBe(1);
});

test('a tool that is stopped while it runs: nobody knows whether it took effect, and model and chat are told so', async () => {
  await using dir = await tempDir();
  let running = false;
  const tool = payTool(async (_args, { signal }) => {
    running = true;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return { ok: false, output: 'Error: broken off' };
  });
  await using rig = await start(dir.path, { script: [PAY, 'I do not know.'], tool });
  await rig.channel.deliver({ text: 'pay the bill' });
  await until('the tool runs', () => running);
  await rig.channel.deliver({ text: 'стоп' });
  await rig.channel.deliver({ text: 'did you pay?' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual(['🛑 Отменено.\nРезультат неизвестен: pay', 'I do not know.']);
  expect(shown(rig.model.requests[1])[2]).toEqual(['tool', UNKNOWN]);
});

test('a turn that a shutdown parked and a stop ends: its steps are in the session, also of calls that never began', async () => {
  await using dir = await tempDir();
  {
    const script = [HANG, { toolCalls: [{ name: 'pay', arguments: { eur: 1 } }] }, { ...PAY, text: 'And 9.' }, HANG];
    await using rig = await start(dir.path, { script });
    await rig.channel.deliver({ text: 'other work', chatId: 'other' });
    await until('the other chat is at work', () => rig.model.requests.length === 1);
    await rig.channel.deliver({ text: 'pay both bills', platformId: 'both' });
    await until('both are paid', () => rig.model.requests.length === 4);
  }
  {
    // Only one turn at a time: the older one, of the other chat, keeps this one from going on.
    await using rig = await start(dir.path, { script: [HANG], gateway: { max_concurrent_sessions: 1 } });
    await until('the other chat is at work', () => rig.model.requests.length === 1);
    await rig.channel.deliver({ text: '/stop', platformId: 'stop' });
    await until('it is answered', () => rig.channel.texts().length === 1);
    expect(rig.channel.texts()).toEqual(['🛑 Cancelled.\nAlready run: pay (2×)']);
  }
  await using rig = await start(dir.path, { script: ['later', 'Both.'], gateway: { max_concurrent_sessions: 1 } });
  await rig.channel.deliver({ text: 'which did you pay?', platformId: 'which' });
  await rig.daemon.gateway.idle();
  expect(shown(rig.model.requests.at(-1))).toEqual([
    ['user', 'pay both bills'],
    ['assistant', ''],
    ['tool', 'paid 9 EUR'],
    ['assistant', 'And 9.'],
    ['tool', 'paid 9 EUR'],
    ['assistant', '[interrupted]'],
    ['user', 'which did you pay?'],
  ]);
});

test('a message that is given up at a start: what its turn did is in the session, and the notice names the tools', async () => {
  await using dir = await tempDir();
  {
    await using rig = await start(dir.path, { script: [PAY, HANG] });
    await rig.channel.deliver({ text: 'pay the bill' });
    await until('the model sees the result', () => rig.model.requests.length === 2);
  }
  const after = (days: number) => ({ clock: { ...systemClock, now: () => systemClock.now() + days * 86_400_000 } });
  // One start ages a message by half of what is allowed: the clock may be wrong.
  {
    await using between = await testDaemon({ dataDir: dir.path, model: scriptedModel([HANG]), daemon: after(1) });
    expect(between.channel.texts()).toEqual([]);
  }
  const model = scriptedModel(['Yes.']);
  await using rig = await testDaemon({ dataDir: dir.path, model, daemon: after(2) });
  await rig.channel.deliver({ text: 'did you pay?', platformId: 'again' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual([
    '⚠️ I could not answer your message: too old (GH2002). It is kept; its owner can run it again.\nAlready run: pay',
    'Yes.',
  ]);
  expect(shown(model.requests[0]).map(([, text]) => text)).toEqual([
    ...['pay the bill', 'I will pay.', 'paid 9 EUR', '[interrupted]'],
    'did you pay?',
  ]);
  expect(await rig.daemon.journal.dead.list()).toHaveLength(1);
});

test('a turn that fails inside the gateway after a tool ran is remembered as one that was stopped is', async () => {
  await using dir = await tempDir();
  {
    await using rig = await start(dir.path, { script: [PAY, HANG] });
    await rig.channel.deliver({ text: 'pay the bill' });
    await until('the model sees the result', () => rig.model.requests.length === 2);
  }
  let failures = 1;
  const wrapJournal = (journal: Journal): Journal =>
    new Proxy(journal, {
      get(target, name) {
        if (name === 'steps' && failures-- > 0) return () => Promise.reject(new Error('a bug'));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  await using rig = await start(dir.path, { script: ['Yes.'], wrapJournal });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual([expect.stringMatching(/^⚠️ .*\(GH2003\).*\nAlready run: pay$/s)]);
  await rig.channel.deliver({ text: 'did you pay?', platformId: 'again' });
  await rig.daemon.gateway.idle();
  expect(shown(rig.model.requests[0])[2]).toEqual(['tool', 'paid 9 EUR']);
});

test('a model that fails after a tool ran: the chat is told what ran, before it asks again', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, { script: [PAY, { fail: 'timeout' }] });
  await rig.channel.deliver({ text: 'pay the bill' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual([expect.stringMatching(/ \(GH2105\)\nAlready run: pay$/)]);
});

test('a model that withholds its answer after a file was attached: the chat has the file', async () => {
  await using dir = await tempDir();
  const attach = { toolCalls: [{ name: 'send_file', arguments: { file_path: 'receipt.txt' } }] };
  const write = { toolCalls: [{ name: 'write_file', arguments: { path: 'receipt.txt', content: 'paid' } }] };
  await using rig = await start(dir.path, { script: [write, attach, { fail: 'content-filter' }] });
  await rig.channel.deliver({ text: 'the receipt, please' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()[0]).toMatch(/ \(GH2111\)\nAlready run: write_file, send_file$/);
  expect(rig.channel.sent.flatMap(({ file }) => file?.name ?? [])).toEqual(['receipt.txt']);
});

test('a turn that is stopped before anything came of it: what was asked is remembered, what only waited is not', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, { script: [HANG, 'Here.'] });
  await rig.channel.deliver({ text: 'a long question' });
  await until('the model is asked', () => rig.model.requests.length === 1);
  await rig.channel.deliver({ text: 'never mind' });
  await rig.channel.deliver({ text: 'stop' });
  await rig.channel.deliver({ text: 'go on' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual(['🛑 Cancelled.', 'Here.']);
  expect(shown(rig.model.requests[1]).map(([, text]) => text)).toEqual(['a long question', '[interrupted]', 'go on']);
});
