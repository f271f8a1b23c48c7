import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AnyChannelDescriptor, Channel, ChannelHost } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import { WebhookServer } from '../http/webhook-server.ts';
import { FakeClock, inbound, MemoryLogger, recordEvents, until } from '../testing/fakes.ts';
import type { ChannelSetOptions } from './channel-options.ts';
import { ChannelSet, type Registry } from './channels.ts';

/** A channel in memory, and the hosts its lives were given. */
class Played {
  readonly hosts: ChannelHost[] = [];
  /** Taken by the next `create` or `start`; undefined lets it through. */
  readonly creations: (Error | undefined)[] = [];
  readonly starts: (Error | undefined)[] = [];
  readonly startedAt: number[] = [];
  /** Never ends, whatever its signal says. */
  hangs: 'start' | 'stop' | undefined;
  live = 0;
  mostLive = 0;
  stops = 0;

  descriptor(clock: FakeClock): AnyChannelDescriptor {
    return {
      type: 'played',
      settings: z.object({}),
      guarantee: { inbound: 'A', inboundHow: 'in memory', send: 'idem', loss: 'nothing' },
      create: async (_settings, { name }) => {
        const failure = this.creations.shift();
        if (failure) throw failure;
        return this.#channel(name, clock);
      },
    };
  }

  /** The host of the life that runs now. */
  get host(): ChannelHost {
    const host = this.hosts.at(-1);
    if (!host) throw new Error('never started');
    return host;
  }

  #channel(name: string, clock: FakeClock): Channel {
    let started = false;
    return {
      ...{ name, type: 'played', account: 'bot', inboundClass: 'A', sendClass: 'idem' },
      limits: { text: 1_000, unit: 'utf16', caption: 0, uploadBytes: 0, downloadBytes: 0 },
      start: async (host) => {
        this.startedAt.push(clock.now());
        const failure = this.starts.shift();
        if (failure) throw failure;
        if (this.hangs === 'start') await new Promise(() => undefined);
        started = true;
        this.live += 1;
        this.mostLive = Math.max(this.mostLive, this.live);
        this.hosts.push(host);
        host.health('healthy');
      },
      stop: async () => {
        if (started) this.live -= 1;
        started = false;
        this.stops += 1;
        if (this.hangs === 'stop') await new Promise(() => undefined);
      },
      send: async () => ({ kind: 'sent', platformId: '1' }),
    };
  }
}

const NO_WEBHOOKS: ChannelSetOptions['webhooks'] = {
  for: () => ({ serve: () => Promise.reject(new Error('none is served')) }),
};

async function scene(names: readonly string[] = ['a'], webhooks = NO_WEBHOOKS) {
  const [clock, logger, events] = [new FakeClock(0), new MemoryLogger(), recordEvents()];
  const played = new Map(names.map((name) => [name, new Played()]));
  const registry: Registry = Object.fromEntries(
    [...played].map(([name, each]) => [name, async () => each.descriptor(clock)] as const),
  );
  const received: string[] = [];
  const create = async (): Promise<ChannelSet> => {
    const entries = names.map((name) => ({ name, type: name, settings: {} }));
    return await ChannelSet.create(entries, {
      ...{ registry, clock, logger, emit: events.emit, dataDir: '/nowhere', random: () => 1 },
      secret: () => '',
      webhooks,
      redact: (text) => text,
      onAllEnded: () => undefined,
    });
  };
  const host: Parameters<ChannelSet['start']>[0] = (channel, report) => ({
    ...report,
    cursor: async () => undefined,
    receive: async (batch) => {
      for (const message of batch) received.push(`${channel.name} at ${clock.now()}: ${message.text}`);
      return { kind: 'accepted' };
    },
  });
  const open = async (): Promise<ChannelSet> => {
    const set = await create();
    await set.start(host);
    return set;
  };
  const of = (name: string): Played => {
    const one = played.get(name);
    if (!one) throw new Error(`no ${name} here`);
    return one;
  };
  const state = (set: ChannelSet, name: string) => set.status().find((one) => one.name === name)?.state;
  return { clock, logger, events: events.events, create, host, open, of, state, received };
}

test('a channel that breaks is stopped and made anew, with waits that grow, while the other one goes on', async () => {
  const at = await scene(['a', 'b']);
  await using set = await at.open();
  const [a, b] = [at.of('a'), at.of('b')];
  const before = set.channels.get('a');
  for (const wait of [1_000, 2_000, 4_000]) {
    a.host.ended(new TypeError('a defect'));
    await at.clock.advance(0);
    expect([at.state(set, 'a'), set.canSend('a'), a.live]).toEqual(['down', false, 0]);
    await at.clock.advance(wait - 1);
    expect(a.live).toBe(0);
    await at.clock.advance(1);
    expect([at.state(set, 'a'), set.canSend('a'), a.live]).toEqual(['healthy', true, 1]);
  }
  expect(set.channels.get('a')).not.toBe(before);
  expect([a.startedAt, b.startedAt, b.stops]).toEqual([[0, 1_000, 3_000, 7_000], [0], 0]);
});

test('F33 a channel that breaks as often as it starts, for ten minutes, never holds up another and never lives twice', async () => {
  const at = await scene(['flapping', 'steady']);
  await using _set = await at.open();
  const [flapping, steady] = [at.of('flapping'), at.of('steady')];
  for (let second = 0; second < 600; second += 1) {
    if (flapping.live > 0) flapping.host.ended(new Error('broken again'));
    await steady.host.receive([inbound({ text: String(second) })]);
    await at.clock.advance(1_000);
  }
  expect(at.received).toEqual(Array.from({ length: 600 }, (_, second) => `steady at ${second * 1_000}: ${second}`));
  // 1 + 2 + 4 + … seconds until the cap of five minutes: not one start a second.
  expect([flapping.startedAt.length, flapping.mostLive, steady.startedAt.length]).toEqual([10, 1, 1]);
});

test('one that held for a minute begins with a short wait again', async () => {
  const at = await scene();
  await using _set = await at.open();
  const a = at.of('a');
  for (const wait of [1_000, 2_000, 4_000]) {
    a.host.ended(new Error('x'));
    await at.clock.advance(wait);
  }
  await at.clock.advance(60_000);
  a.host.ended(new Error('x'));
  await at.clock.advance(1_000);
  expect(a.live).toBe(1);
});

test('what may pass is tried again, at creation and at the start', async () => {
  const at = await scene();
  const a = at.of('a');
  a.creations.push(new Error('EMFILE'), undefined);
  a.starts.push(new GatehouseError('GH1004', 'the port is taken'));
  await using set = await at.open();
  expect([at.state(set, 'a'), set.channels.size]).toEqual(['down', 0]);
  await at.clock.advance(1_000);
  expect(at.state(set, 'a')).toBe('down');
  await at.clock.advance(2_000);
  expect([at.state(set, 'a'), a.startedAt, a.stops]).toEqual(['healthy', [1_000, 3_000], 1]);
});

test.each(['GH1101', 'GH1103', 'GH1501', 'GH1506'] as const)(
  'F34 %s is for the operator to mend: told once, and not tried again',
  async (code) => {
    const at = await scene();
    at.of('a').starts.push(new GatehouseError(code, 'no'));
    const other = await scene();
    other.of('a').creations.push(new GatehouseError(code, 'no'));
    for (const { open, clock, events, logger, of } of [at, other]) {
      await using _set = await open();
      await clock.advance(3_600_000);
      expect(events.filter(({ type }) => type === 'channel')).toEqual([
        expect.objectContaining({ state: 'down', detail: expect.stringContaining(code) }),
      ]);
      expect(logger.lines.filter(({ event }) => event === 'channel.failed')).toHaveLength(1);
      expect(of('a').live).toBe(0);
    }
  },
);

test('whoever needs a channel that broke gets the next one, and none where the operator has to mend it', async () => {
  const at = await scene(['a', 'b']);
  const { signal } = new AbortController();
  at.of('b').creations.push(new GatehouseError('GH1101', 'no'));
  await using set = await at.open();
  const before = await set.working('a', signal);
  expect(before).toBe(set.channels.get('a'));
  expect([await set.working('b', signal), await set.working('nobody', signal)]).toEqual([undefined, undefined]);
  at.of('a').host.ended(new Error('broken'));
  await at.clock.advance(0);
  at.of('a').creations.push(new Error('EMFILE'));
  const next = set.working('a', signal);
  const limit = new AbortController();
  const cut = set.working('a', limit.signal);
  limit.abort(new Error('time limit'));
  await expect(cut).rejects.toThrow('time limit');
  await at.clock.advance(1_000);
  expect(at.state(set, 'a')).toBe('down');
  await at.clock.advance(2_000);
  expect(await next).toBe(set.channels.get('a'));
  expect(await next).not.toBe(before);
});

test('what a channel that broke says afterwards does not count', async () => {
  const at = await scene();
  await using set = await at.open();
  const { host } = at.of('a');
  host.ended(new Error('broken'));
  await at.clock.advance(0);
  host.health('healthy');
  expect(at.state(set, 'a')).toBe('down');
});

test('the end of intake ends the loops at once, also in the middle of a wait, and leaves channels for what is still to be sent', async () => {
  const at = await scene(['a', 'b']);
  const set = await at.open();
  at.of('a').host.ended(new Error('broken'));
  await at.clock.advance(0);
  set.stopReceiving();
  await at.clock.advance(0);
  expect([set.canSend('b'), at.of('b').stops]).toEqual([true, 0]);
  await set[Symbol.asyncDispose]();
  await at.clock.advance(600_000);
  expect([at.of('a').live, at.of('b').live, at.of('a').startedAt]).toEqual([0, 0, [0]]);
});

test.each(['start', 'stop'] as const)('a channel whose %s hangs delays the end by seconds, and is named', async (what) => {
  const at = await scene(['a', 'b']);
  const [a, b] = [at.of('a'), at.of('b')];
  a.hangs = what;
  const set = await at.create();
  const starting = set.start(at.host);
  await at.clock.advance(0);
  expect(b.live).toBe(1);
  const [ended, ending] = [{ yet: false }, set[Symbol.asyncDispose]()];
  void ending.then(() => {
    ended.yet = true;
  });
  await at.clock.advance(0);
  expect([ended.yet, b.live]).toEqual([false, 0]);
  await at.clock.advance(2_000);
  await at.clock.advance(3_000);
  await Promise.all([ending, starting]);
  expect(a.stops).toBe(1);
  expect(at.logger.lines.filter(({ event }) => event === 'channel.late')).toMatchObject([
    { level: 'error', data: { channel: 'a', code: 'GH1006', detail: expect.stringContaining(what) } },
  ]);
});

test('a channel whose stop hangs is replaced all the same when it broke', async () => {
  const at = await scene();
  const a = at.of('a');
  await using _set = await at.open();
  a.hangs = 'stop';
  a.host.ended(new Error('a defect'));
  await at.clock.advance(3_000);
  await at.clock.advance(2_000);
  expect(a.hosts).toHaveLength(2);
  a.hangs = undefined;
});

test('from the end of intake on none receives, and what a platform calls it is to call again', async () => {
  await using server = new WebhookServer({ host: '127.0.0.1', port: 0, logger: new MemoryLogger() });
  const at = await scene(['a'], server);
  await using set = await at.open();
  const hook = await server.for('a').serve(async () => ({ status: 200 }));
  expect(set.isReceiving).toBe(true);
  set.stopReceiving();
  // As an adapter does when its signal ends.
  await hook[Symbol.asyncDispose]();
  const status = fetch(`${hook.localOrigin}${hook.path}`, { method: 'POST', body: 'x' }).then((answer) => answer.status);
  await Promise.race([status, until('it waits', () => server.waiting === 1)]);
  await server[Symbol.asyncDispose]();
  expect([set.isReceiving, await status]).toEqual([false, 503]);
});
