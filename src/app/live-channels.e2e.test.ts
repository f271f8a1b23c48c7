// Channels that are added, removed and changed while the real daemon runs: 0 lost, nothing twice.
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import type { ChannelHost, SendResult, Webhook } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { job, MEMBER } from '../testing/jobs.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel, testChannelEntry } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import type { Registry } from './channels.ts';

const { signal } = new AbortController();

type Entry = Readonly<Record<string, unknown>> & { readonly type: string };

/** A platform whose sends, and whose next start, the test holds. */
class Played extends TestChannel {
  hold: Promise<void> | undefined;
  refusal: Error | undefined;
  /** What it does once it has started. */
  first: ((channel: Played) => Promise<unknown>) | undefined;
  stopped = 0;

  override async start(host: Parameters<TestChannel['start']>[0]): Promise<void> {
    if (this.refusal) throw this.refusal;
    await super.start(host);
    await this.first?.(this);
  }

  override async stop(): Promise<void> {
    this.stopped += 1;
    await super.stop();
  }

  override async send(...call: Parameters<TestChannel['send']>): Promise<SendResult> {
    await this.hold;
    if (this.stopped > 0) return { kind: 'unknown', detail: 'closed' };
    return await super.send(...call);
  }
}

async function scene(dataDir: string, channels: readonly Entry[], gate?: Promise<void>) {
  const lives: Played[] = [];
  const refusals: (Error | undefined)[] = [];
  const firsts: Played['first'][] = [];
  const make = (type: string) => (): Played => {
    const life = new Played(type);
    life.refusal = refusals.shift();
    life.first = firsts.shift();
    lives.push(life);
    return life;
  };
  const registry: Registry = Object.fromEntries(['work', 'home'].map((type) => [type, testChannelEntry(make(type))]));
  const secret = (variable: string): string => variable.replace('_COPY', '');
  const model = scriptedModel(async ({ messages }) => {
    const asked = JSON.stringify(messages.at(-1));
    if (asked.includes('slow')) await gate;
    return { text: `answer to ${/question \d+/.exec(asked)?.[0]}` };
  });
  const rig = await testDaemon({ dataDir, model, gateway: { channels }, daemon: { registry, secret } });
  const config = (next: readonly Entry[], more: object = {}) => configSchema.parse({ gateway: { channels: next, ...more } });
  return {
    ...{ rig, model, refusals, firsts, config },
    of: (type: string) => lives.filter(({ name }) => name === type),
    last: (type: string): Played => {
      const found = lives.findLast(({ name }) => name === type);
      if (!found) throw new Error(`no ${type} was made`);
      return found;
    },
    reload: (next: readonly Entry[], more: object = {}) => rig.daemon.reload(config(next, more), signal),
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

const WORK = { type: 'work', allowed_senders: ['*'] };
const HOME = { type: 'home', allowed_senders: ['*'] };

test('a channel that is added answers at once, while the other one is not touched', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [HOME]);
  expect(await at.reload([HOME, WORK])).toEqual([{ key: 'gateway.channels.work', cost: 'live', detail: 'added' }]);
  await at.last('work').deliver({ text: 'question 1' });
  await until('it is answered', () => at.last('work').texts().length === 1);
  expect([at.of('home').length, at.last('home').stopped]).toEqual([1, 0]);
  expect(at.rig.daemon.channels.status().map(({ name, state }) => `${name} ${state}`)).toEqual(['home healthy', 'work healthy']);
});

test('what waits for a channel that is removed stays and is counted, and goes out when the channel is back', async () => {
  await using dir = await tempDir();
  const gate = Promise.withResolvers<void>();
  await using at = await scene(dir.path, [HOME, WORK], gate.promise);
  await at.last('work').deliver({ text: 'slow question 1' });
  await until('it is asked', () => at.model.requests.length === 1);
  const removed = at.last('work');
  expect(await at.reload([HOME])).toEqual([{ key: 'gateway.channels.work', cost: 'live', detail: 'removed' }]);
  gate.resolve();
  const { journal, channels } = at.rig.daemon;
  await until('the answer waits', async () => (await journal.counts()).outbox.PENDING === 1);
  expect((await journal.counts()).unsent).toEqual([{ channel: 'work', count: 1 }]);
  expect([channels.state('work'), removed.stopped, removed.host]).toEqual([undefined, 1, undefined]);
  await at.reload([HOME, WORK]);
  await until('it goes out', () => at.last('work').texts().length === 1);
  expect([removed.texts(), at.last('work').texts()]).toEqual([[], ['answer to question 1']]);
});

test('a channel whose settings change in the middle of a send is replaced when the send is over, and answers nothing twice', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [WORK]);
  const [first, sent] = [at.last('work'), Promise.withResolvers<void>()];
  first.hold = sent.promise;
  await first.deliver({ text: 'question 1' });
  await until('it is being sent', () => at.rig.daemon.journal.counts().then(({ outbox }) => outbox.SENDING === 1));
  const reloaded = at.reload([{ ...WORK, settings: { token_env: 'OTHER' } }]);
  // Intake goes on as long as the send takes.
  await first.deliver({ text: 'question 2' });
  expect(first.stopped).toBe(0);
  sent.resolve();
  expect(await reloaded).toEqual([{ key: 'gateway.channels.work', cost: 'restart-part', lost: 0 }]);
  await until('the second is answered', () => at.last('work').texts().length + first.texts().length === 2);
  expect([first.texts(), at.last('work').texts()]).toEqual([['answer to question 1'], ['answer to question 2']]);
  expect((await at.rig.daemon.journal.counts()).outbox).toMatchObject({ SENT: 2, UNKNOWN: 0 });
});

test('two changes in a row while a turn runs cost neither the turn nor its answer', async () => {
  await using dir = await tempDir();
  const gate = Promise.withResolvers<void>();
  await using at = await scene(dir.path, [WORK], gate.promise);
  await at.last('work').deliver({ text: 'slow question 1' });
  await until('it is asked', () => at.model.requests.length === 1);
  await at.reload([{ ...WORK, settings: { n: 1 } }]);
  await at.reload([{ ...WORK, settings: { n: 2 } }]);
  // The platform offers it again, as it may after a replaced connection.
  await at.last('work').deliver({ text: 'slow question 1', platformId: 'm1' });
  gate.resolve();
  await until('it is answered', () => at.last('work').texts().length === 1);
  await at.rig.daemon.gateway.idle();
  expect(at.of('work').map((life) => life.texts())).toEqual([[], [], ['answer to question 1']]);
  expect([at.of('work').map(({ stopped }) => stopped), at.model.requests.length]).toEqual([[1, 1, 0], 1]);
});

test('who may talk, and how many messages a turn is given, hold from the next message on', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [WORK]);
  const channel = at.last('work');
  expect(await at.reload([{ ...WORK, allowed_senders: ['user-2'] }], { max_history: 3 })).toEqual([
    { key: 'gateway.channels.work.allowed_senders', cost: 'live' },
    { key: 'gateway.max_history', cost: 'live' },
  ]);
  await channel.deliver({ text: 'question 1' });
  await channel.deliver({ text: 'question 2', senderId: 'user-2' });
  await until('the other is answered', () => channel.texts().some((text) => text.includes('question 2')));
  expect(channel.texts().filter((text) => text.startsWith('answer'))).toEqual(['answer to question 2']);
  expect([at.of('work').length, channel.stopped]).toEqual([1, 0]);
});

test.each([
  ['a refused login', new GatehouseError('GH1501', 'the token is refused')],
  ['a secret that is not set', new GatehouseError('GH1103', 'environment variable X is not set')],
])('%s refuses the whole candidate, and the channel goes on as before', async (_what, refusal) => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [WORK, HOME]);
  at.refusals.push(refusal);
  const running = at.config([WORK, HOME]);
  await expect(at.reload([{ ...WORK, settings: { n: 1 } }], { max_history: 3 })).rejects.toMatchObject({
    code: refusal.code,
    message: expect.stringContaining(`channel work: ${refusal.message}`),
  });
  const { channels } = at.rig.daemon;
  expect(
    channels
      .status()
      .map(({ name, state }) => `${name} ${state}`)
      .toSorted(),
  ).toEqual(['home healthy', 'work healthy']);
  for (const name of ['work', 'home']) {
    await at.last(name).deliver({ text: 'question 1' });
    await until('it is answered', () => at.last(name).texts().length === 1);
  }
  expect(await at.rig.daemon.reload(running, signal)).toEqual([]);
});

test('the owner that a change names is told of the next trouble', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [WORK, HOME]);
  await at.reload([WORK, HOME], { owner: [{ channel: 'home', chat_id: 'owner' }] });
  at.last('work').host?.ended(new TypeError('a defect'));
  await until('the owner is told', () => at.last('home').texts('owner').length === 1);
  expect(at.last('home').texts('owner')).toEqual([expect.stringMatching(/^⚠️ Channel work is down: a defect/)]);
});

test('as many turns run at once as a change allows', async () => {
  await using dir = await tempDir();
  const gate = Promise.withResolvers<void>();
  await using at = await scene(dir.path, [WORK, HOME], gate.promise);
  await at.reload([WORK, HOME], { max_concurrent_sessions: 1 });
  for (const chatId of ['1', '2']) await at.last('work').deliver({ text: `slow question ${chatId}`, chatId });
  await until(
    'one runs and one waits',
    () => at.rig.daemon.lanes.stats().running === 1 && at.rig.daemon.lanes.stats().waiting === 1,
  );
  await at.reload([WORK, HOME], { max_concurrent_sessions: 10 });
  await at.last('work').deliver({ text: 'slow question 3', chatId: '3' });
  await until('all run', () => at.rig.daemon.lanes.stats().running === 3);
  gate.resolve();
  await at.rig.daemon.gateway.idle();
});

test('what a platform calls us with while its channel is replaced waits for the next one', async () => {
  await using dir = await tempDir();
  const [closing, closed, urls] = [gate(), gate(), [] as string[]];
  let lives = 0;
  const registry: Registry = {
    work: testChannelEntry(({ webhooks }) => {
      lives += 1;
      const [life, channel] = [lives, new TestChannel('work')];
      let hook: Webhook | undefined;
      const start = async (host: ChannelHost): Promise<void> => {
        hook = await webhooks.serve(async () => ({ status: 200, body: `life ${life}` }));
        urls.push(`${hook.localOrigin}${hook.path}`);
        await TestChannel.prototype.start.call(channel, host);
      };
      const stop = async (): Promise<void> => {
        await hook?.[Symbol.asyncDispose]();
        if (life > 1) return;
        closing.open();
        await closed.opened;
      };
      return Object.assign(channel, { start, stop });
    }),
  };
  const gateway = { channels: [WORK], webhooks: { port: 0 } };
  await using rig = await testDaemon({
    dataDir: dir.path,
    model: scriptedModel(() => ({ text: '' })),
    gateway,
    daemon: { registry },
  });
  const changed = configSchema.parse({ gateway: { ...gateway, channels: [{ ...WORK, settings: { n: 1 } }] } });
  const reloaded = rig.daemon.reload(changed, signal);
  await closing.opened;
  const call = fetch(urls[0] ?? '', { method: 'POST', body: 'x' });
  closed.open();
  expect(await (await call).text()).toBe('life 2');
  expect(await reloaded).toEqual([{ key: 'gateway.channels.work', cost: 'restart-part', lost: 0 }]);
});

test('a candidate without any channel is refused', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [WORK]);
  await expect(at.reload([])).rejects.toMatchObject({ code: 'GH1101' });
  expect(at.rig.daemon.channels.state('work')).toBe('healthy');
});

test('two channels that hold one token are refused at the start and in a change, and a channel may be renamed', async () => {
  await using dir = await tempDir();
  const held = { ...WORK, settings: { token_env: 'TOKEN' } };
  const copy = { ...WORK, name: 'copy', settings: { token_env: 'TOKEN_COPY' } };
  const refused = { code: 'GH1101', message: expect.stringContaining('TOKEN_COPY holds the token of channel work') };
  await using other = await tempDir();
  await expect(scene(other.path, [held, copy])).rejects.toMatchObject(refused);
  await using at = await scene(dir.path, [held]);
  await expect(at.reload([held, copy])).rejects.toMatchObject(refused);
  expect(at.rig.daemon.channels.state('work')).toBe('healthy');
  await at.reload([copy]);
  expect(at.rig.daemon.channels.state('copy')).toBe('healthy');
});

test('the end of the daemon breaks a change off: a channel that was to go ends its send, and one that came works on', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [WORK, HOME]);
  const [first, sent, stop] = [at.last('work'), gate(), new AbortController()];
  first.hold = sent.opened;
  await first.deliver({ text: 'question 1' });
  await until('it is being sent', () => at.rig.daemon.journal.counts().then(({ outbox }) => outbox.SENDING === 1));
  const change = at.config([
    { ...WORK, settings: { n: 1 } },
    { ...HOME, settings: { n: 1 } },
  ]);
  const over = at.rig.daemon.reload(change, stop.signal).catch((error: unknown) => error);
  await until('one of them is replaced', () => at.of('home').length === 2 && at.last('home').host);
  stop.abort(new Error('the daemon is stopping'));
  const late = new Promise((resolve) => setTimeout(resolve, 2_000, 'still waits'));
  expect(await Promise.race([over, late])).toEqual(new Error('the daemon is stopping'));
  expect(at.of('work').map(({ stopped, host }) => [stopped, host !== undefined])).toEqual([
    [0, true],
    [1, false],
  ]);
  sent.open();
  await at.last('home').deliver({ text: 'question 2' });
  await until('both are sent', () => first.texts().length + at.last('home').texts().length === 2);
});

test('what a channel receives as soon as it is up is judged by the config that it came with', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, [HOME]);
  at.firsts.push((work) => work.deliver({ text: 'question 1', senderId: 'ada' }));
  await at.reload([HOME, WORK], { owner: [{ channel: 'work', chat_id: 'ada' }] });
  await until('it is answered', () => at.last('work').texts().length > 0);
  // Offered to owners alone, in a chat of theirs.
  expect(at.model.requests[0]?.tools?.map(({ name }) => name)).toContain('write_file');
});

test('what a channel forbids stays forbidden to its message that waits while the channel is taken out', async () => {
  await using dir = await tempDir();
  const gate = Promise.withResolvers<void>();
  const home = { ...HOME, allowed_senders: ['user-1'] };
  const work = { ...WORK, allowed_senders: ['user-1'], tool_policy: { deny: ['read_file'] } };
  await using at = await scene(dir.path, [home, work], gate.promise);
  await at.reload([home, work], { max_concurrent_sessions: 1 });
  await at.last('home').deliver({ text: 'slow question 1' });
  await until('it is asked', () => at.model.requests.length === 1);
  await at.last('work').deliver({ text: 'question 2' });
  await at.reload([home], { max_concurrent_sessions: 1 });
  gate.resolve();
  await until('the other one is asked', () => at.model.requests.length === 2);
  const offered = at.model.requests.map(({ tools }) => tools.some(({ name }) => name === 'read_file'));
  expect(offered).toEqual([true, false]);
});

test('a job of an owner that is due while owner and channel go stays on', async () => {
  await using dir = await tempDir();
  const sent = gate();
  await using at = await scene(dir.path, [HOME, WORK]);
  await at.reload([HOME, WORK], { owner: [{ channel: 'work', chat_id: 'ada' }] });
  const { journal } = at.rig.daemon;
  at.last('work').hold = sent.opened;
  await at.last('work').deliver({ text: 'question 1' });
  await until('it is being sent', () => journal.counts().then(({ outbox }) => outbox.SENDING === 1));
  const reloaded = at.reload([HOME]);
  const [authority, nextDue] = [{ ...MEMBER, principal: 'work:ada', role: 'owner' } as const, systemClock.now()];
  await journal.commit([{ kind: 'job', job: job({ authority, nextDue }) }]);
  // It is looked at when it comes, and each second.
  await new Promise((resolve) => setTimeout(resolve, 500));
  sent.open();
  await reloaded;
  const looked = await until('it is looked at', () => journal.jobs.get('ab12cd34').then((it) => it?.lastStatus && it));
  expect(looked).toMatchObject({ enabled: true, lastStatus: 'error: there is no channel work' });
});

test('who is taken off a list is refused at once, while another channel of the change still ends a send', async () => {
  await using dir = await tempDir();
  const sent = gate();
  await using at = await scene(dir.path, [WORK, HOME]);
  at.last('work').hold = sent.opened;
  await at.last('work').deliver({ text: 'question 1' });
  await until('it is being sent', () => at.rig.daemon.journal.counts().then(({ outbox }) => outbox.SENDING === 1));
  const reloaded = at.reload([
    { ...WORK, settings: { n: 1 } },
    { ...HOME, allowed_senders: ['ada'] },
  ]);
  await until('the change is being taken', () => !at.rig.daemon.channels.canSend('work'));
  await at.last('home').deliver({ text: 'question 2', senderId: 'eve' });
  await until('it is answered', () => at.last('home').texts().length > 0);
  sent.open();
  await reloaded;
  expect(at.last('home').texts()).toEqual([expect.stringMatching(/^This assistant is private/)]);
});

test('what a removed channel forbids stays forbidden when a wider entry of its name is refused', async () => {
  await using dir = await tempDir();
  const gate = Promise.withResolvers<void>();
  const home = { ...HOME, allowed_senders: ['user-1'] };
  const work = { ...WORK, allowed_senders: ['user-1'] };
  await using at = await scene(dir.path, [home, { ...work, tool_policy: { deny: ['read_file'] } }], gate.promise);
  await at.reload([home, { ...work, tool_policy: { deny: ['read_file'] } }], { max_concurrent_sessions: 1 });
  await at.last('home').deliver({ text: 'slow question 1' });
  await until('it is asked', () => at.model.requests.length === 1);
  await at.last('work').deliver({ text: 'question 2' });
  await at.reload([home], { max_concurrent_sessions: 1 });
  at.refusals.push(new GatehouseError('GH1501', 'the token is refused'));
  await expect(at.reload([home, work], { max_concurrent_sessions: 1 })).rejects.toThrow('refused');
  gate.resolve();
  await until('the other one is asked', () => at.model.requests.length === 2);
  expect(at.model.requests.map(({ tools }) => tools.some(({ name }) => name === 'read_file'))).toEqual([true, false]);
});
