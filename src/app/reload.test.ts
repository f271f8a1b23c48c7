import { expect, test } from 'vitest';
import { z } from 'zod';
import { configSchema } from '../../config/schema.ts';
import type { Candidate, Cost, Reloadable } from '../core/reload.ts';
import type { Config } from './compose/options.ts';
import { fixedPart, livePart, Reloader } from './reload.ts';
import { reloadParts } from './reload-parts.ts';

const { signal } = new AbortController();

interface Section {
  readonly a?: number;
  readonly b?: { readonly c?: number; readonly d?: number };
  readonly e?: number;
}

/** A part that keeps account of what is asked of it. */
function recorded(
  name: string,
  keys: readonly string[],
  done: string[],
  refuses: 'prepare' | 'use' | 'no' = 'no',
): Reloadable<Section> {
  const candidate = (after: Section): Candidate => ({
    use: async () => {
      done.push(`${name} uses ${JSON.stringify(after)}`);
      if (refuses === 'use') throw new Error(`${name} cannot`);
      return undefined;
    },
    end: async (stands) => void done.push(`${name} ${stands ? 'stands' : 'goes back'}`),
  });
  return {
    ...livePart<Section>(name, keys),
    prepare: async (_before, after) => {
      if (refuses === 'prepare') throw new Error(`${name} cannot`);
      return candidate(after);
    },
  };
}

test('every key of the config belongs to exactly one part, and every key of a part is one of the config', () => {
  const parts = reloadParts({ more: [livePart<Config>('log', ['log'])] } as unknown as Parameters<typeof reloadParts>[0]);
  const owned = parts.flatMap(({ name, keys }) => keys.map((key) => ({ name, key })));
  const known = leaves(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema);
  const isBelow = (leaf: string, key: string): boolean => leaf === key || leaf.startsWith(`${key}.`);
  const owners = known.map((leaf) => [leaf, owned.filter(({ key }) => isBelow(leaf, key)).map(({ name }) => name)] as const);
  expect(known.length).toBeGreaterThan(50);
  expect(owners.filter(([, names]) => names.length !== 1)).toEqual([]);
  expect(owned.filter(({ key }) => !known.some((leaf) => isBelow(leaf, key)))).toEqual([]);
});

test('a changed heartbeat wakes the ticker once the changed config is what runs', async () => {
  const reloader = new Reloader(configSchema.parse({}));
  const seen: number[] = [];
  const ticker = { wake: () => void seen.push(reloader.running.heartbeat.every_minutes) };
  reloader.take(reloadParts({ ticker } as unknown as Parameters<typeof reloadParts>[0]));
  await reloader.reload(configSchema.parse({ heartbeat: { every_minutes: 45 } }), new AbortController().signal);
  expect(seen).toEqual([45]);
});

test('every key of the config that runs says what it costs, and none is applied in silence', () => {
  const parts = reloadParts({ more: [livePart<Config>('log', ['log'])] } as unknown as Parameters<typeof reloadParts>[0]);
  const before = configSchema.parse({});
  const after = configSchema.parse({
    model: 'm',
    budget: { daily_usd: 1 },
    log: { level: 'warn' },
    gateway: {
      ...{ max_history: 7, max_attempts: 9, http: { port: 1 }, llm_timeout_secs: 9 },
      channels: [{ type: 'cli', allowed_senders: ['1'] }, { type: 'irc' }],
    },
  });
  const costs = parts.flatMap((part) => part.plan(before, after)).map(({ key, cost }): [string, Cost] => [key, cost]);
  expect(Object.fromEntries(costs)).toEqual({
    'gateway.channels.cli.allowed_senders': 'live',
    'gateway.channels.irc': 'live',
    'gateway.llm_timeout_secs': 'live',
    model: 'live',
    budget: 'live',
    'gateway.max_history': 'live',
    'log.level': 'live',
    'gateway.http.port': 'restart-daemon',
    'gateway.max_attempts': 'nothing',
  });
});

test('parts whose keys changed take the candidate in order, and what holds then is told key by key', async () => {
  const done: string[] = [];
  const reloader = new Reloader<Section>({ a: 1, b: { c: 1, d: 1 }, e: 1 });
  reloader.take([recorded('one', ['a'], done), recorded('two', ['b'], done), recorded('three', ['e'], done)]);
  const changes = await reloader.reload({ a: 2, b: { c: 1, d: 2 }, e: 1 }, signal);
  expect(changes).toEqual([
    { key: 'a', cost: 'live' },
    { key: 'b.d', cost: 'live' },
  ]);
  const after = JSON.stringify({ a: 2, b: { c: 1, d: 2 }, e: 1 });
  expect(done).toEqual([`one uses ${after}`, `two uses ${after}`, 'two stands', 'one stands']);
  expect(reloader.running).toEqual({ a: 2, b: { c: 1, d: 2 }, e: 1 });
});

test.each(['prepare', 'use'] as const)('a candidate that a part refuses in %s leaves everything as it was', async (when) => {
  const done: string[] = [];
  const running = { a: 1, b: { c: 1 }, e: 1 };
  const reloader = new Reloader<Section>(running);
  reloader.take([recorded('one', ['a'], done), recorded('two', ['b'], done, when), recorded('three', ['e'], done)]);
  await expect(reloader.reload({ a: 2, b: { c: 2 }, e: 2 }, signal)).rejects.toThrow('two cannot');
  expect(reloader.running).toBe(running);
  expect(done.filter((what) => !what.includes('uses'))).toEqual(
    when === 'prepare' ? ['one goes back'] : ['three goes back', 'two goes back', 'one goes back'],
  );
  expect(done.some((what) => what.startsWith('three uses'))).toBe(false);
});

test('what takes a change into use finds it in force, and after a refusal finds the former one again', async () => {
  const seen: unknown[] = [];
  const reloader = new Reloader<Section>({ a: 1 });
  const look = (): void => void seen.push([reloader.running.a, reloader.isChanging]);
  const first: Reloadable<Section> = {
    ...livePart<Section>('first', ['a']),
    prepare: async () => ({
      use: async () => {
        look();
        return undefined;
      },
      end: async () => look(),
    }),
  };
  reloader.take([first]);
  await reloader.reload({ a: 2 }, signal);
  look();
  reloader.take([first, recorded('second', ['e'], [], 'use')]);
  await expect(reloader.reload({ a: 3, e: 1 }, signal)).rejects.toThrow('second cannot');
  look();
  expect(seen).toEqual([
    [2, true],
    [2, true],
    [2, false],
    [3, true],
    [2, true],
    [2, false],
  ]);
});

test('channels take a change after what their messages are answered with and paid by', () => {
  const names = reloadParts({} as unknown as Parameters<typeof reloadParts>[0]).map(({ name }) => name);
  expect(names.slice(0, 3).toSorted()).toEqual(['budget', 'channels', 'models']);
  expect(names.indexOf('channels')).toBe(2);
});

test('what only a restart applies keeps its value, and is named until it is back to it', async () => {
  const reloader = new Reloader<Section>({ a: 1, b: { c: 1 } });
  reloader.take([fixedPart('start', ['b'], 'restart-daemon'), fixedPart('unread', ['e'], 'nothing'), livePart('live', ['a'])]);
  const waiting = { key: 'b.c', cost: 'restart-daemon' };
  expect(await reloader.reload({ a: 1, b: { c: 2 }, e: 5 }, signal)).toEqual([waiting, { key: 'e', cost: 'nothing' }]);
  expect(reloader.running).toEqual({ a: 1, b: { c: 1 }, e: 5 });
  expect(await reloader.reload({ a: 2, b: { c: 2, d: 3 }, e: 5 }, signal)).toEqual([
    waiting,
    { key: 'b.d', cost: 'restart-daemon' },
    { key: 'a', cost: 'live' },
  ]);
  expect(reloader.running).toEqual({ a: 2, b: { c: 1 }, e: 5 });
  expect(await reloader.reload({ a: 2, b: { c: 1 }, e: 5 }, signal)).toEqual([]);
});

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function leaves({ properties }: JsonSchema, path = ''): readonly string[] {
  if (!properties) return [path];
  return Object.entries(properties).flatMap(([key, child]) => leaves(child, path === '' ? key : `${path}.${key}`));
}
