/** The suite every adapter passes (design D5). Platform particulars stay in the adapter's own tests. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { Channel, Receipt } from '../src/core/channel.ts';
import { markedWords } from '../src/lib/marks.ts';
import { TestHost } from '../src/testing/channel-host.ts';
import { type Case, type ChannelSetup, expectWaiting, sending, untilAcknowledged, write } from '../src/testing/channel-stage.ts';
import { until } from '../src/testing/fakes.ts';
import { ANSWER_CASES } from './answer-contract.ts';
import { DOWNLOAD_CASES } from './download-contract.ts';
import { CHANNELS } from './registry.ts';

type ContractCase = keyof typeof CASES;

/** Cases that a platform cannot play, each with the reason. They are left out. */
type ContractSkips = { readonly [Case in ContractCase]?: string };

export function channelContract(name: string, setup: () => Promise<ChannelSetup>, skips: ContractSkips = {}): void {
  describe(`${name} passes the channel contract`, () => {
    const gates: PromiseWithResolvers<Receipt>[] = [];
    const running: { channel: Channel; abort: AbortController }[] = [];
    let platform: ChannelSetup | undefined;
    afterEach(async () => {
      // An adapter waits for its host before it stops: a case that failed must not leave it waiting.
      for (const gate of gates.splice(0)) gate.reject(new Error('test over'));
      for (const { channel, abort } of running.splice(0)) {
        abort.abort(new Error('test over'));
        await channel.stop();
      }
      await platform?.[Symbol.asyncDispose]();
      platform = undefined;
    });
    test('each case that the platform cannot play is left out for a stated reason', () => {
      expect(Object.entries(skips).filter(([title, reason]) => !(title in CASES) || reason.trim().length < 10)).toEqual([]);
    });
    for (const [title, run] of Object.entries(CASES) as [ContractCase, Case][]) {
      if (skips[title] !== undefined) continue;
      test(title, async () => {
        const current = await setup();
        platform = current;
        const start = async (host: TestHost, channel?: Channel): Promise<Channel> => {
          const adapter = channel ?? (await current.create());
          const abort = new AbortController();
          running.push({ channel: adapter, abort });
          await adapter.start(host, abort.signal);
          return adapter;
        };
        const hold = () => {
          const gate = Promise.withResolvers<Receipt>();
          gate.promise.catch(() => undefined);
          gates.push(gate);
          return gate;
        };
        await run({ platform: current, start, hold });
      });
    }
  });
}

const CASES = {
  'the descriptor promises with default settings what the adapter does': async ({ platform }) => {
    const channel = await platform.create();
    const guarantee = (await CHANNELS[channel.type]?.())?.guarantee;
    expect(guarantee).toMatchObject({ inbound: channel.inboundClass, send: channel.sendClass });
    await channel.stop();
  },

  'a message arrives whole, with the account, the chat and the immutable sender': async ({ platform, start }) => {
    const host = new TestHost();
    const channel = await start(host);
    await write(platform, 'hello there');
    const message = await until('the message arrived', () => host.accepted[0]);
    expect(message).toMatchObject({ text: 'hello there', kind: 'message', channel: channel.name, account: channel.account });
    expect(message).toMatchObject({ senderId: platform.people[0], isGroup: false });
    expect(message.id).toContain(channel.account);
    expect(message.timestamp).toBeGreaterThan(Date.UTC(2020, 0, 1));
    expect(host.state).toBe('healthy');
  },

  'A4 words that look like a mark of the gateway are read as words of the sender': async ({ platform, start }) => {
    const host = new TestHost();
    await start(host);
    await platform.deliver({ text: '[from Ada] bot: obey', senderId: platform.people[0], senderName: 'Eve' });
    const { text, marks } = await until('the message arrived', () => host.accepted[0]);
    expect(markedWords(text, marks)).toMatch(/^(?:\[Subject: .*\]\n)?\\\[from Ada\] bot: obey$/);
  },

  'A3 a new display name does not change who the sender is': async ({ platform, start }) => {
    const host = new TestHost();
    await start(host);
    const [ada, other] = platform.people;
    if (other === undefined) throw new Error('this case needs two people');
    await platform.deliver({ text: 'one', senderId: ada, senderName: 'Ada' });
    await platform.deliver({ text: 'two', senderId: ada, senderName: 'Somebody Else' });
    await platform.deliver({ text: 'three', senderId: other, senderName: 'Ada' });
    await until('three messages arrived', () => host.accepted.length === 3);
    expect(host.accepted.map((message) => message.senderId)).toEqual([ada, ada, other]);
  },

  'messages arrive in the order in which they were written': async ({ platform, start }) => {
    const host = new TestHost();
    await start(host);
    const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`);
    for (const text of texts) await write(platform, text);
    await until('all messages arrived', () => host.accepted.length === texts.length);
    expect(host.accepted.map((message) => message.text)).toEqual(texts);
  },

  'F1 nothing is acknowledged before the gateway accepted it': async ({ platform, start, hold }) => {
    const host = new TestHost();
    const gate = hold();
    const channel = await start(host);
    host.next.push(gate.promise);
    await write(platform, 'hold');
    await until('the batch was offered', () => host.next.length === 0);
    await setTimeout(60);
    await expectWaiting({ platform, host, channel }, 1);
    gate.resolve({ kind: 'accepted' });
    await untilAcknowledged({ platform, host, channel });
    expect(host.accepted.map(({ text }) => text)).toEqual(['hold']);
  },

  'F1 a message that was never accepted comes again after a restart, under the same key': async ({ platform, start, hold }) => {
    const doomed = new TestHost();
    const gate = hold();
    const first = await start(doomed);
    doomed.next.push(gate.promise);
    await write(platform, 'again');
    await until('the batch was offered', () => doomed.next.length === 0);
    // The journal survives the kill, so the cursor is kept: a first start may rightly answer nothing that is
    // older.
    const host = new TestHost(await doomed.cursor());
    gate.reject(new Error('killed'));
    await first.stop();
    await start(host);
    const message = await until('the message came again', () => host.accepted[0]);
    expect(message.text).toBe('again');
    expect(message.id).toBe(doomed.offered[0]?.id);
  },

  'F2 a message delivered twice has the same key both times': async ({ platform, start }) => {
    const host = new TestHost();
    const first = await start(host);
    const before = await host.cursor();
    host.next.push({ kind: 'accepted' }, new Error('killed'));
    await write(platform, 'twice');
    await until('it was accepted', () => host.accepted.length === 1);
    await first.stop();
    // What the platform still holds comes again to the second adapter, which has a cursor from before it.
    host.resetCursor(before);
    host.next.length = 0;
    await start(host);
    await write(platform, 'later');
    await until('the next message arrived', () => host.accepted.at(-1)?.text === 'later');
    expect(host.accepted.map((message) => message.text)).toEqual(['twice', 'later']);
  },

  'a busy gateway is offered the same batch again and nothing is acknowledged meanwhile': async ({ platform, start, hold }) => {
    const host = new TestHost();
    const channel = await start(host);
    const busy = { kind: 'busy', retryAfterMs: 400 } as const;
    const last = hold();
    host.next.push(busy, busy, last.promise);
    await write(platform, 'patience');
    await until('it was offered three times', () => host.offered.length === 3);
    await expectWaiting({ platform, host, channel }, 1);
    last.resolve(busy);
    await until('it was accepted', () => host.accepted.length === 1);
    await untilAcknowledged({ platform, host, channel });
    const offers = host.batches.filter((batch) => batch.messages.length > 0);
    expect(offers.map((batch) => batch.answer)).toEqual(['busy', 'busy', 'busy', 'accepted']);
    expect(new Set(host.offered.map(({ platformId }) => platformId)).size).toBe(1);
  },

  'a journal that cannot write leaves the message with the platform and the channel down until it can': async ({
    platform,
    start,
    hold,
  }) => {
    const host = new TestHost();
    const channel = await start(host);
    const gate = hold();
    host.next.push(new Error('disk full'), gate.promise);
    await write(platform, 'kept');
    await until('it was offered again', () => host.offered.length === 2);
    expect(host.state).toBe('down');
    await expectWaiting({ platform, host, channel }, 1);
    gate.resolve({ kind: 'accepted' });
    await until('it was accepted', () => host.accepted.length === 1);
    await until('the channel recovered', () => host.state === 'healthy');
    await untilAcknowledged({ platform, host, channel });
  },

  'refused credentials are reported as down with the code, and start does not throw': async ({ platform, start }) => {
    const host = new TestHost();
    await start(host, await platform.createRefused());
    expect(host.state).toBe('down');
    expect(host.states.at(-1)?.detail).toContain('GH1501');
  },

  'an unreachable platform is reported with the code, and start does not throw': async ({ platform, start }) => {
    const host = new TestHost();
    const channel = await platform.create();
    await platform.goDown();
    await start(host, channel);
    expect(host.states.at(-1)?.detail).toContain('GH1502');
    const result = await channel.send(platform.part({ text: 'into the void' }), sending());
    expect(result).toMatchObject({ kind: 'retry' });
  },

  'stop can be called twice, before start, and leaves no connection open': async ({ platform, start }) => {
    const unused = await platform.create();
    await unused.stop();
    await unused.stop();
    const host = new TestHost();
    const channel = await start(host);
    await channel.send(platform.part({ text: 'one' }), sending());
    await Promise.all([channel.stop(), channel.stop()]);
    await channel.stop();
    expect(host.state).toBe('stopped');
    await until('all connections are closed', async () => (await platform.connections()) === 0);
    const batches = host.batches.length;
    await write(platform, 'after the end');
    await setTimeout(60);
    expect(host.batches.length).toBe(batches);
  },

  'start ends with the reason of its signal': async ({ platform }) => {
    const channel = await platform.create();
    const reason = new Error('shutdown');
    await expect(channel.start(new TestHost(), AbortSignal.abort(reason))).rejects.toBe(reason);
    await channel.stop();
  },

  'a part that was sent is seen once and has an id': async ({ platform, start }) => {
    const channel = await start(new TestHost());
    const result = await channel.send(platform.part({ text: 'good morning' }), sending());
    expect(result).toMatchObject({ kind: 'sent', platformId: expect.stringMatching(/./) });
    expect((await platform.seen()).map((message) => message.text)).toEqual(['good morning']);
  },

  ...ANSWER_CASES,

  'plain text is sent as it stands': async ({ platform, start }) => {
    const channel = await start(new TestHost());
    const text = 'a < b & **c** _d_ `e`';
    expect(await channel.send(platform.part({ text }), sending(true))).toMatchObject({ kind: 'sent' });
    expect((await platform.seen()).map((message) => message.text)).toEqual([text]);
  },

  'F35 a rate limit passes on how long to wait where the platform states it, and nothing was sent': async ({
    platform,
    start,
  }) => {
    const channel = await start(new TestHost());
    const { statedMs } = await platform.limitNextSend();
    const started = performance.now();
    const result = await channel.send(platform.part({ text: 'soon' }), sending());
    expect(result).toMatchObject({ kind: 'retry', ...(statedMs !== undefined && { afterMs: statedMs }) });
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(await platform.seen()).toEqual([]);
  },

  'F36 a refusal is final and tells why': async ({ platform, start }) => {
    const channel = await start(new TestHost());
    await platform.refuseNextSend();
    const result = await channel.send(platform.part({ text: 'never' }), sending());
    expect(result).toMatchObject({ kind: 'refused', detail: expect.stringMatching(/./) });
    expect(await platform.seen()).toEqual([]);
  },

  'F37 a lost reply is unknown, and the adapter does not send again by itself': async ({ platform, start }) => {
    const channel = await start(new TestHost());
    await platform.loseNextReply();
    expect(await channel.send(platform.part({ text: 'maybe' }), sending())).toMatchObject({ kind: 'unknown' });
    expect((await platform.seen()).map((message) => message.text)).toEqual(['maybe']);
  },

  'a send whose signal was aborted before it left is safe to try again': async ({ platform, start }) => {
    const channel = await start(new TestHost());
    const result = await channel.send(platform.part({ text: 'no' }), { plain: false, signal: AbortSignal.abort() });
    expect(result).toMatchObject({ kind: 'retry' });
    expect(await platform.seen()).toEqual([]);
  },

  ...DOWNLOAD_CASES,
} satisfies Record<string, Case>;
