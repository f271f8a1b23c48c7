import { describe, expect, test } from 'vitest';
import type { SessionMessage, SessionStore } from '../src/core/session.ts';

export interface StoreUnderTest extends AsyncDisposable {
  readonly store: SessionStore;
}

/** A message with a deterministic id and time; the later the number, the later the time. */
export function message(n: number, over: Partial<SessionMessage> = {}): SessionMessage {
  const timestamp = new Date(Date.UTC(2026, 0, 2) + n * 1000).toISOString();
  return { id: `m-${n}`, role: n % 2 === 0 ? 'user' : 'assistant', content: `text ${n}`, timestamp, ...over };
}

export function messages(count: number, from = 0): SessionMessage[] {
  return Array.from({ length: count }, (_, index) => message(from + index));
}

/** user, assistant with two calls, both results, answer: the smallest history with a group to keep whole. */
export function toolTurn(from: number): SessionMessage[] {
  const call = (n: number) => ({
    id: `call-${from}-${n}`,
    name: 'read_file',
    arguments: '{"path":"a"}',
    provider_ids: [`theirs-${n}`],
  });
  const provider_state = { provider: 'anthropic', model: 'claude', data: { blocks: [{ type: 'thinking', signature: 's' }] } };
  return [
    message(from, { role: 'user' }),
    message(from + 1, {
      role: 'assistant',
      content: '',
      tool_calls: [call(1), call(2)],
      reasoning_content: 'hm',
      provider_state,
    }),
    message(from + 2, { role: 'tool', tool_call_id: call(1).id }),
    message(from + 3, { role: 'tool', tool_call_id: call(2).id }),
    message(from + 4, { role: 'assistant', media: ['photo.png'] }),
  ];
}

/** What every `SessionStore` keeps. `open` gives a fresh, empty store. */
export function sessionStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  const KEY = '_main:telegram:42';
  describe(`${name}: session store contract`, () => {
    test('an absent session loads as undefined, is not listed, and removing it is a no-op', async () => {
      await using it = await open();
      expect(await it.store.load(KEY)).toBeUndefined();
      expect(await it.store.list()).toEqual([]);
      await it.store.remove(KEY);
    });

    test('a released session is whole, and takes no line twice', async () => {
      await using it = await open();
      it.store.release(KEY);
      await it.store.append(KEY, messages(2));
      await it.store.load(KEY);
      it.store.release(KEY);
      await it.store.append(KEY, messages(2, 1));
      expect((await it.store.load(KEY))?.messages).toEqual(messages(3));
    });

    test('appended messages come back in order with every field', async () => {
      await using it = await open();
      await it.store.append(KEY, toolTurn(0));
      await it.store.append(KEY, [message(5, { content: 'quote " \\ \n \u2028 \u0000 é 😀 \ud800' })]);
      const session = await it.store.load(KEY);
      expect(session?.messages).toEqual([...toolTurn(0), message(5, { content: 'quote " \\ \n \u2028 \u0000 é 😀 \ud800' })]);
      expect(session?.header).toMatchObject({ schema_version: 1, session_key: KEY });
    });

    test('the same append again changes nothing, and an overlapping one adds only what is new', async () => {
      await using it = await open();
      await it.store.append(KEY, messages(4));
      await it.store.append(KEY, messages(4));
      await it.store.append(KEY, messages(6));
      await it.store.append(KEY, [message(7), message(7)]);
      expect((await it.store.load(KEY))?.messages).toEqual([...messages(6), message(7)]);
    });

    test('an append of no lines creates an empty session', async () => {
      await using it = await open();
      await it.store.append(KEY, []);
      expect((await it.store.load(KEY))?.messages).toEqual([]);
    });

    test('a session that was loaded does not change under its reader', async () => {
      await using it = await open();
      await it.store.append(KEY, messages(2));
      const before = await it.store.load(KEY);
      await it.store.append(KEY, messages(2, 2));
      expect(before?.messages).toHaveLength(2);
      expect((await it.store.load(KEY))?.messages).toHaveLength(4);
    });

    test('A37 neither topics, case, separators nor long keys let one session see another', async () => {
      await using it = await open();
      const long = `_main:email:${'x'.repeat(300)}`;
      const keys = [KEY, `${KEY}#default`, `${KEY}#`, `${KEY}#a`, `${KEY}#A`, `${KEY}%23a`, `${KEY}/a`, `${KEY}:a`, `${KEY}.`];
      keys.push('..', '.', 'ü', 'u\u0308', `${long}1`, `${long}2`, `${long}1#t`, `_main:x:1#${'t'.repeat(250)}`);
      for (const key of keys) await it.store.append(key, [message(0, { content: key })]);
      for (const key of keys) expect((await it.store.load(key))?.messages).toEqual([message(0, { content: key })]);
      expect((await it.store.list()).map((info) => info.key).sort()).toEqual([...keys].sort());
    });

    test('a fork holds the newest messages, a parent link, and never begins with a tool result', async () => {
      await using it = await open();
      await it.store.append(KEY, toolTurn(0));
      for (const [keep, ids] of Object.entries({ 1: ['m-4'], 2: ['m-4'], 3: ['m-4'], 4: ['m-1', 'm-2', 'm-3', 'm-4'] })) {
        const target = `${KEY}#fork${keep}`;
        const fork = await it.store.fork(KEY, target, Number(keep));
        expect(fork.messages.map(({ id }) => id)).toEqual(ids);
        expect(fork.header).toMatchObject({ session_key: target, parent_key: KEY, topic: `fork${keep}` });
        expect(await it.store.load(target)).toEqual(fork);
      }
      expect((await it.store.load(KEY))?.messages).toEqual(toolTurn(0));
    });

    test('forking an absent session is refused', async () => {
      await using it = await open();
      await expect(it.store.fork(KEY, `${KEY}#a`, 5)).rejects.toMatchObject({ code: 'GH1003' });
    });

    test('a rewrite replaces the messages, keeps the header and takes changes to it', async () => {
      await using it = await open();
      await it.store.append(`${KEY}#work`, messages(5));
      const created = (await it.store.load(`${KEY}#work`))?.header.created_at;
      await it.store.rewrite(`${KEY}#work`, messages(2, 3), { summary: 'so far' });
      await it.store.append(`${KEY}#work`, [message(4), message(5)]);
      const session = await it.store.load(`${KEY}#work`);
      expect(session?.messages).toEqual(messages(3, 3));
      expect(session?.header).toMatchObject({ summary: 'so far', topic: 'work', created_at: created });
      await it.store.rewrite(`${KEY}#work`, [], {});
      expect((await it.store.load(`${KEY}#work`))?.header.summary).toBe('so far');
    });

    test('what a rewrite took out stands in the archive, in order and each line once, with what is put there', async () => {
      await using it = await open();
      expect(await it.store.archived(KEY)).toEqual([]);
      await it.store.append(KEY, messages(4));
      await it.store.rewrite(KEY, messages(1, 3), { cut: 'mark' });
      await it.store.append(KEY, messages(1, 4));
      await it.store.rewrite(KEY, [], {});
      await it.store.archive(KEY, messages(2, 4));
      await it.store.archive(KEY, messages(2, 4));
      expect(await it.store.archived(KEY)).toEqual(messages(6));
      expect((await it.store.load(KEY))?.header).toMatchObject({ cut: 'mark' });
    });

    test('a session is called by what a person says first in it', async () => {
      await using it = await open();
      await it.store.append(KEY, messages(3));
      await it.store.append(KEY, messages(3, 3));
      expect((await it.store.load(KEY))?.header.summary).toBe('text 0');
    });

    test('choices of a session of an earlier version stay through rewrite, append and fork', async () => {
      await using it = await open();
      await it.store.rewrite(KEY, [], { thinking: 'high', model: 'fast' });
      await it.store.append(KEY, messages(3));
      await it.store.rewrite(KEY, messages(2, 1));
      const fork = await it.store.fork(KEY, `${KEY}#fork`, 1);
      for (const session of [await it.store.load(KEY), fork, await it.store.load(`${KEY}#fork`)])
        expect(session?.header).toMatchObject({ thinking: 'high', model: 'fast' });
      expect((await it.store.load(KEY))?.messages).toEqual(messages(2, 1));
      await it.store.append(KEY, [message(3)]);
      expect((await it.store.load(KEY))?.messages).toEqual(messages(3, 1));
    });

    test('rewriting an absent session creates it, and its key cannot be changed by the header', async () => {
      await using it = await open();
      await it.store.rewrite(KEY, messages(2), { session_key: 'other' });
      expect((await it.store.load(KEY))?.header.session_key).toBe(KEY);
      expect(await it.store.load('other')).toBeUndefined();
    });

    test('the list tells count, size and the time of the newest message, the newest session first', async () => {
      await using it = await open();
      await it.store.append('_main:a:1', messages(3));
      await it.store.append('_main:b:2', messages(7));
      const list = await it.store.list();
      expect(list.map(({ key, messages }) => [key, messages])).toEqual([
        ['_main:b:2', 7],
        ['_main:a:1', 3],
      ]);
      expect(list[0]?.updatedAt).toBe(message(6).timestamp);
      expect(list[0]?.bytes).toBeGreaterThan(list[1]?.bytes ?? Number.POSITIVE_INFINITY);
    });

    test('a session of which only the archive is there is listed without messages, and is removed as any other', async () => {
      await using it = await open();
      await it.store.archive(`${KEY}#work`, messages(2));
      expect(await it.store.list()).toMatchObject([{ key: `${KEY}#work`, messages: 0, updatedAt: message(1).timestamp }]);
      await it.store.append(`${KEY}#work`, messages(1, 2));
      expect(await it.store.list()).toMatchObject([{ key: `${KEY}#work`, messages: 1 }]);
      await it.store.remove(`${KEY}#work`);
      expect([await it.store.list(), await it.store.archived(`${KEY}#work`)]).toEqual([[], []]);
    });

    test('a session of which only the archive is there is listed also where its name is too long for a file', async () => {
      await using it = await open();
      const key = `${KEY}#${'工'.repeat(50)}`;
      await it.store.archive(key, messages(2));
      await it.store.archive(key, messages(2, 2));
      expect(await it.store.list()).toMatchObject([{ key, messages: 0, updatedAt: message(3).timestamp }]);
      expect(await it.store.archived(key)).toEqual(messages(4));
    });

    test('a removed session is gone and its key starts afresh', async () => {
      await using it = await open();
      await it.store.append(KEY, messages(3));
      await it.store.rewrite(KEY, messages(1));
      await it.store.append(`${KEY}#a`, messages(1));
      await it.store.remove(KEY);
      expect(await it.store.load(KEY)).toBeUndefined();
      expect((await it.store.list()).map((info) => info.key)).toEqual([`${KEY}#a`]);
      await it.store.append(KEY, messages(1));
      expect((await it.store.load(KEY))?.messages).toEqual(messages(1));
    });

    test('appends to many sessions at once stay apart', async () => {
      await using it = await open();
      const keys = Array.from({ length: 20 }, (_, index) => `_main:x:${index}`);
      await Promise.all(keys.flatMap((key) => messages(5).map((line) => it.store.append(key, [line]))));
      for (const key of keys) expect((await it.store.load(key))?.messages).toEqual(messages(5));
    });
  });
}
