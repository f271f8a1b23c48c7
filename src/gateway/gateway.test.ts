import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { laneKey } from '../core/ids.ts';
import { systemClock } from '../lib/clock.ts';
import { gate, inbound, outbound, tempDir, until } from '../testing/fakes.ts';
import { gif, png } from '../testing/pictures.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const echo = () => scriptedModel((request) => `answer to ${request.messages.at(-1)?.content}`);

describe('a message’s way through the gateway', () => {
  it('answers once, in the chat it came from, and writes the session file', async () => {
    await using dir = await tempDir();
    await using rig = await testDaemon({ dataDir: dir.path, model: echo() });
    await rig.channel.deliver({ text: 'hello' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['answer to hello']);
    await rig.daemon.close();
    const users = await readdir(join(dir.path, 'users'));
    const file = await readFile(join(dir.path, 'users', users[0] ?? '', 'sessions/default.jsonl'), 'utf8');
    expect(
      file
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).content ?? 'header'),
    ).toEqual(['header', 'hello', 'answer to hello']);
  });

  it('recognises a message that is delivered again, also after a restart', async () => {
    await using dir = await tempDir();
    for (const _start of [1, 2]) {
      await using rig = await testDaemon({ dataDir: dir.path, model: echo() });
      expect(await rig.channel.deliver({ platformId: 'same', text: 'hello' })).toEqual({ kind: 'accepted' });
      expect(await rig.channel.deliver({ platformId: 'same', text: 'hello' })).toEqual({ kind: 'accepted' });
      await rig.daemon.gateway.idle();
      expect(rig.channel.texts().length).toBe(_start === 1 ? 1 : 0);
    }
  });

  it('keeps order in a chat also where a batch with a command comes beside another', async () => {
    await using dir = await tempDir();
    await using rig = await testDaemon({ dataDir: dir.path, model: echo() });
    const { host } = rig.channel;
    const one = (platformId: string, text: string) => inbound({ channel: 'test', platformId, text });
    await Promise.all([
      host?.receive([one('1', '/help'), one('2', 'first')]),
      host?.receive([one('3', 'second'), one('4', 'third')]),
    ]);
    await rig.daemon.gateway.idle();
    const answers = rig.channel.texts().filter((text) => text.startsWith('answer'));
    expect(answers).toEqual(['answer to first', 'answer to second', 'answer to third']);
  });

  it('keeps order in a chat and lets chats run side by side', async () => {
    await using dir = await tempDir();
    let running = 0;
    let most = 0;
    const model = scriptedModel(async (request) => {
      // A summary of a long chat is made beside the turns.
      if (request.tools.length === 0) return 'what was said';
      running += 1;
      most = Math.max(most, running);
      await systemClock.sleep(5);
      running -= 1;
      return `re ${request.messages.at(-1)?.content}`;
    });
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { max_concurrent_sessions: 4, bus_capacity: 8 } });
    const chats = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(
      chats.flatMap((chatId) =>
        Array.from({ length: 20 }, (_, n) =>
          rig.channel.deliver({ chatId, senderId: chatId, text: `${n}`, platformId: `${chatId}${n}` }),
        ),
      ),
    );
    await rig.daemon.gateway.idle();
    for (const chatId of chats) expect(rig.channel.texts(chatId)).toEqual(Array.from({ length: 20 }, (_, n) => `re ${n}`));
    expect(most).toBe(4);
  });

  it('lets a new chat wait for at most one turn behind a flooding one', async () => {
    await using dir = await tempDir();
    const order: string[] = [];
    const held = gate();
    const model = scriptedModel(async (request) => {
      order.push(request.messages.at(-1)?.content ?? '');
      await held.opened;
      return 'ok';
    });
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { max_concurrent_sessions: 1, bus_capacity: 8 } });
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => rig.channel.deliver({ chatId: 'flood', text: `flood ${n}`, platformId: `f${n}` })),
    );
    await until('a turn of the flood runs', () => order.length > 0);
    const before = order.length;
    await rig.channel.deliver({ chatId: 'new', text: 'new' });
    held.open();
    await rig.daemon.gateway.idle();
    expect(order.indexOf('new') - before).toBeLessThanOrEqual(2);
    expect(order.filter((text) => text.startsWith('flood'))).toEqual(Array.from({ length: 50 }, (_, n) => `flood ${n}`));
  });

  it('offers the batch back when the journal is above its high-water mark', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(() => ({ hang: true }));
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 2 } });
    await rig.channel.deliver({ chatId: 'a' });
    await rig.channel.deliver({ chatId: 'b' });
    expect((await rig.channel.deliver({ chatId: 'c' })).kind).toBe('busy');
  });

  it('lets /stop and /help in above the high-water mark, so that what fills the journal can be ended', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(() => ({ hang: true }));
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 2 } });
    for (const platformId of ['1', '2']) await rig.channel.deliver({ chatId: 'a', platformId });
    const help = inbound({ channel: 'test', chatId: 'b', platformId: '3', text: '/help' });
    const hello = inbound({ channel: 'test', chatId: 'b', platformId: '4' });
    expect((await rig.channel.host?.receive([help, hello], '4'))?.kind).toBe('busy');
    expect(await rig.channel.host?.cursor()).toBeUndefined();
    expect(await rig.channel.host?.receive([help], '3')).toEqual({ kind: 'accepted' });
    expect(await rig.channel.host?.cursor()).toBe('3');
    expect(await rig.channel.deliver({ chatId: 'a', platformId: '5', text: 'stop' })).toEqual({ kind: 'accepted' });
    expect(await rig.channel.deliver({ chatId: 'b', platformId: '4' })).toEqual({ kind: 'accepted' });
    await until('the stop is answered', () => rig.channel.texts('a').length > 0);
    expect(rig.channel.texts('a')).toEqual(['🛑 Cancelled.']);
  });

  it.each([
    ['chat', (n: number) => ({ chatId: 'flood', senderId: `member-${n}` })],
    ['person', (n: number) => ({ chatId: `flood-${n % 30}`, senderId: 'flooder' })],
  ])('bounds what one %s may have waiting, tells it once, and answers every other', async (what, flood) => {
    await using dir = await tempDir();
    const model = scriptedModel((request) =>
      request.messages.at(-1)?.content.startsWith('flood') ? { hang: true } : `re ${request.messages.at(-1)?.content}`,
    );
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 200 } });
    const offers = Array.from({ length: 300 }, (_, n) =>
      rig.channel.deliver({ ...flood(n), text: `flood ${n}`, platformId: `f${n}` }),
    );
    expect(new Set((await Promise.all(offers)).map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    const others = Array.from({ length: 20 }, (_, n) => ({ chatId: `c${n}`, senderId: `s${n}`, text: `${n}` }));
    for (const other of others) expect((await rig.channel.deliver(other)).kind).toBe('accepted');
    await until('the others are answered', () => others.every(({ chatId }) => rig.channel.texts(chatId).length === 1));
    const told = rig.channel.sent.filter(({ text }) => text.includes('Too many messages'));
    expect(told).toHaveLength(1);
    const { inbox, refused } = await rig.daemon.journal.counts();
    expect(inbox.NEW + inbox.RUNNING).toBeLessThanOrEqual(40);
    expect(refused).toContainEqual({
      channel: 'test',
      reason: `flood:${what}_messages`,
      count: 300 - 1 - inbox.NEW - inbox.RUNNING,
    });
  });

  it('keeps a tenth of the high-water mark for chats with nothing waiting', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(() => ({ hang: true }));
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 20 } });
    const deliver = async (chatId: string) => (await rig.channel.deliver({ chatId })).kind;
    for (let n = 0; n < 18; n += 1) expect(await deliver(`c${n}`)).toBe('accepted');
    expect([await deliver('c0'), await deliver('new'), await deliver('newer'), await deliver('newest')]).toEqual([
      ...['busy', 'accepted', 'accepted', 'busy'],
    ]);
  });

  it('takes nothing more on a channel whose unsent answers have reached the mark, and goes on when they are gone', async () => {
    await using dir = await tempDir();
    await using rig = await testDaemon({ dataDir: dir.path, model: echo(), gateway: { high_water: 3 } });
    const { journal } = rig.daemon;
    const parts = Array.from({ length: 50 }, (_, n) => {
      const part = outbound({ channel: 'test', account: 'former', key: `part ${n}` });
      return { part, lane: laneKey(part), expiresAt: Date.now() + 3_600_000 };
    });
    await journal.enqueue(parts);
    expect((await rig.channel.deliver({ chatId: 'x' })).kind).toBe('busy');
    const [part] = await journal.pending(parts[0]?.lane ?? '', 1);
    await journal.settle(part?.seq ?? 0, { kind: 'expired' });
    expect((await rig.channel.deliver({ chatId: 'x' })).kind).toBe('accepted');
  });

  it('takes a batch that is larger than the high-water mark once there is room at all', async () => {
    await using dir = await tempDir();
    await using rig = await testDaemon({ dataDir: dir.path, model: echo(), gateway: { high_water: 2 } });
    const batch = ['a', 'b', 'c', 'd'].map((chatId) => inbound({ channel: 'test', chatId, platformId: chatId }));
    expect(await rig.channel.host?.receive(batch)).toEqual({ kind: 'accepted' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.sent.map(({ chatId }) => chatId).sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('notes a message as received when it is taken, not each time it is offered in vain', async () => {
    await using dir = await tempDir();
    const seen: string[] = [];
    const daemon = { observe: ({ type }: { type: string }) => void seen.push(type) };
    const model = scriptedModel(() => ({ hang: true }));
    await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 1 }, daemon });
    await rig.channel.deliver({ chatId: 'a' });
    for (let n = 0; n < 3; n += 1) await rig.channel.deliver({ chatId: 'b', platformId: 'b' });
    expect(seen.filter((type) => type === 'received')).toHaveLength(1);
  });

  it('A37 lets another account under the name of a channel read no history of the first, which goes on with its own', async () => {
    await using dir = await tempDir();
    const heard = scriptedModel(({ messages }) =>
      messages.flatMap(({ role, content }) => (role === 'system' ? [] : [content])).join(', '),
    );
    class Account extends TestChannel {
      override readonly account: string;
      constructor(account: string) {
        super('test');
        this.account = account;
      }
    }
    const say = async (account: string, text: string): Promise<readonly string[]> => {
      const channel = new Account(account);
      await using rig = await testDaemon({ dataDir: dir.path, model: heard, channel });
      await channel.deliver({ account, platformId: text, text });
      await rig.daemon.gateway.idle();
      return channel.texts();
    };
    expect(await say('1234567890', 'one')).toEqual(['one']);
    expect(await say('bot-2', 'two')).toEqual(['two']);
    expect(await say('1234567890', 'three')).toEqual(['one, one, three']);
    expect(await say('bot-2', 'four')).toEqual(['two, two, four']);
    const users = await readdir(join(dir.path, 'users'));
    expect(users.sort()).toEqual(['_main%3Atest%2Fbot-2%3Achat-1', '_main%3Atest%3Achat-1']);
  });

  it('keeps the cursor with the batch', async () => {
    await using dir = await tempDir();
    {
      await using rig = await testDaemon({ dataDir: dir.path, model: echo() });
      await rig.channel.deliver({ text: 'x' }, '42');
      await rig.daemon.gateway.idle();
    }
    await using rig = await testDaemon({ dataDir: dir.path, model: echo() });
    expect(await rig.channel.host?.cursor()).toBe('42');
  });

  it('tells the user in plain words and with a code when the model fails, and keeps the message', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(() => ({
      fail: { kind: 'auth', code: 'GH2101', message: 'key sk-123 refused', hint: 'x', retryable: false },
    }));
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ text: 'hello' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual([expect.stringContaining('GH2101')]);
    expect(rig.channel.texts()[0]).not.toContain('sk-123');
    const [letter] = await rig.daemon.journal.dead.list();
    expect(letter?.reason).toContain('GH2101');
  });

  it('answers a dead letter that is replayed', async () => {
    await using dir = await tempDir();
    let fail = true;
    const model = scriptedModel(() =>
      fail ? { fail: { kind: 'server', code: 'GH2103', message: 'x', hint: 'x', retryable: false } } : 'now it works',
    );
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ text: 'hello' });
    await rig.daemon.gateway.idle();
    fail = false;
    const [letter] = await rig.daemon.journal.dead.list();
    await rig.daemon.journal.dead.replay(letter?.id ?? '');
    await rig.daemon.gateway.look();
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts().at(-1)).toBe('now it works');
  });

  it('stops a running turn and what waits behind it at an abort word, and answers only that', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(() => ({ hang: true }));
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.channel.deliver({ text: 'work' });
    await until('the model is asked', () => model.requests.length === 1);
    await rig.channel.deliver({ text: 'more work' });
    await rig.channel.deliver({ text: ' Arrête ' });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['🛑 Annulé.']);
    expect(model.requests.length).toBe(1);
    expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, DONE: 3 });
  });

  it('parks a running turn at shutdown and finishes it at the next start, asking the model once per step', async () => {
    await using dir = await tempDir();
    const hanging = scriptedModel(() => ({ hang: true }));
    {
      await using rig = await testDaemon({ dataDir: dir.path, model: hanging });
      await rig.channel.deliver({ text: 'hello' });
      await until('the model is asked', () => hanging.requests.length === 1);
    }
    const model = echo();
    await using rig = await testDaemon({ dataDir: dir.path, model });
    await rig.daemon.gateway.idle();
    expect(rig.channel.texts()).toEqual(['answer to hello']);
    expect(model.requests.length).toBe(1);
  });

  it('carries over ten messages at /new and none at /reset', async () => {
    await using dir = await tempDir();
    const model = scriptedModel((request) => `${request.messages.filter(({ role }) => role !== 'system').length}`);
    await using rig = await testDaemon({ dataDir: dir.path, model });
    for (const text of ['1', '2', '3', '4', '5', '6', '7', '/new', 'after new', '/reset', 'after reset']) {
      await rig.channel.deliver({ text });
      await rig.daemon.gateway.idle();
    }
    const texts = rig.channel.texts();
    expect(texts.slice(-4)).toEqual([
      'Started afresh. 10 messages were carried over.',
      '11',
      'Started afresh. Nothing was carried over.',
      '1',
    ]);
  });
});

describe('files', () => {
  it('A23: are stored under a name of ours, and their text names the path', async () => {
    await using dir = await tempDir();
    const model = scriptedModel((request) => request.messages.at(-1)?.content ?? '');
    const channel = new TestChannel('test');
    channel.files.set('f1', Buffer.from('data'));
    await using rig = await testDaemon({ dataDir: dir.path, model, channel });
    const media = [{ kind: 'document', ref: 'f1', name: '../../etc/pass wd.TXT', mime: 'text/plain' }] as const;
    await channel.deliver({ text: 'look', media });
    await rig.daemon.gateway.idle();
    expect(channel.texts()[0]).toMatch(
      /^look\n\[File: uploads\/[0-9a-f]{16}\.txt \(text\/plain, 4 bytes\), named “pass wd.TXT” by its sender\]$/,
    );
  });

  it('F39 that cannot be had, or are bombs, leave the text answered with a note to the model and one to the person', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(['nice', 'better']);
    const channel = new TestChannel('test');
    channel.files.set('large', Buffer.alloc(2_000));
    channel.files.set('bomb', png(50_000, 50_000));
    await using rig = await testDaemon({ dataDir: dir.path, model, channel });
    await channel.deliver({
      text: 'look',
      media: [
        { kind: 'photo', ref: 'gone' },
        { kind: 'voice', ref: 'large' },
        { kind: 'photo', ref: 'bomb' },
      ],
    });
    await rig.daemon.gateway.idle();
    const [request] = model.requests;
    expect(request?.messages.at(-1)?.content.split('\n')).toEqual([
      'look',
      '[Photo could not be fetched (GH1505); it is not available]',
      '[Voice note could not be fetched (GH1504); it is not available]',
      '[Photo was refused (GH1507); it is not available]',
    ]);
    expect(request?.images).toBeUndefined();
    expect(channel.texts()[0]?.split('\n')).toEqual([
      'nice',
      '',
      '⚠️ Photo: a file could not be fetched from the platform (GH1505); send it again.',
      '⚠️ Voice note: a file is larger than the channel may carry (GH1504); send a smaller file.',
      '⚠️ Photo: a picture would take too much memory to open (GH1507); send it smaller.',
    ]);
    // The session keeps what the model said, and no words of ours in its mouth.
    await channel.deliver({ text: 'and now?' });
    await rig.daemon.gateway.idle();
    expect(model.requests[1]?.messages.find(({ role }) => role === 'assistant')?.content).toBe('nice');
  });

  it('that are pictures are shown to the model with the message they came with, and with no later one', async () => {
    await using dir = await tempDir();
    const model = scriptedModel(['a cat', 'you are welcome']);
    const channel = new TestChannel('test');
    const cat = gif(20, 20);
    channel.files.set('cat', cat);
    channel.files.set('report', Buffer.from('%PDF-1.7'));
    await using rig = await testDaemon({ dataDir: dir.path, model, channel });
    const media = [{ kind: 'document', ref: 'report' } as const, { kind: 'photo', ref: 'cat' } as const];
    await channel.deliver({ text: 'what is this?', media });
    await channel.deliver({ text: 'thanks' });
    await rig.daemon.gateway.idle();
    const [first, second] = model.requests;
    const shown = [...(first?.images ?? [])];
    expect(shown).toEqual([[first?.messages.at(-1)?.id, [{ mime: 'image/gif', base64: cat.toString('base64') }]]]);
    expect(second?.images).toBeUndefined();
    expect(second?.messages.map(({ content }) => content).join()).toContain('[Photo: uploads/');
  });
});
