import { expect, test } from 'vitest';
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { MemoryLogger } from '../../../src/testing/fakes.ts';
import { CallError } from '../../kit/call-error.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { registerCommands } from './commands.ts';

const APPLICATION = '123456789012345678';

/**
 * The commands of one application, as
 * https://docs.discord.com/developers/interactions/application-commands says: one of the same name and type
 * takes the place of the old one, and what is returned has more fields and lacks those at their default.
 */
class Menu {
  readonly shown = new Map<string, JsonObject>();
  readonly posted: unknown[] = [];

  put(command: JsonObject): JsonObject {
    const { type = 1, name, description, options } = command;
    const text = str(description) ?? '';
    if (type === 1 && (!/^[-_\p{L}\p{N}]{1,32}$/u.test(str(name) ?? '') || text.length < 1 || text.length > 100))
      throw new Error('50035: Invalid Form Body');
    const kept = list(options).map((option) => {
      const { required, ...rest } = obj(option);
      return { ...rest, ...(required === true && { required }), name_localizations: null };
    });
    const stored = {
      ...{ id: '1', application_id: APPLICATION, version: '2', type, name, description, nsfw: false, contexts: null },
      ...(kept.length > 0 && { options: kept }),
    };
    this.shown.set(`${type} ${name}`, stored);
    return stored;
  }

  call = async (method: 'GET' | 'POST', route: string, body?: JsonObject): Promise<unknown> => {
    if (route === '/oauth2/applications/@me') return { id: APPLICATION };
    if (route !== `/applications/${APPLICATION}/commands`) throw new Error(`no such route: ${route}`);
    if (method === 'GET') return [...this.shown.values()];
    this.posted.push(body?.['name']);
    return this.put(body ?? {});
  };
}

const NEW = { name: 'new', args: '[--keep N]', summary: 'start afresh' };
const STOP = { name: 'stop', summary: 'stop the answer' };

async function register(menu: Menu, commands: readonly CommandEntry[]): Promise<readonly unknown[]> {
  const logger = new MemoryLogger();
  menu.posted.length = 0;
  await registerCommands({ call: menu.call, commands, logger, clock: quickClock(), signal: new AbortController().signal });
  expect(logger.lines).toEqual([]);
  return [...menu.posted];
}

test('what is in the menu already, as the platform gives it back, is not put there again', async () => {
  const menu = new Menu();
  expect(await register(menu, [NEW, STOP])).toEqual(['new', 'stop']);
  expect(await register(menu, [NEW, STOP])).toEqual([]);
});

test.each<[string, CommandEntry]>([
  ['another summary', { ...NEW, summary: 'begin anew' }],
  ['other arguments', { ...NEW, args: '[TOPIC]' }],
  ['no arguments any more', { name: 'new', summary: 'start afresh' }],
])('a command with %s is put into the menu again, and it alone', async (_name, changed) => {
  const menu = new Menu();
  await register(menu, [NEW, STOP]);
  expect(await register(menu, [changed, STOP])).toEqual(['new']);
  expect(await register(menu, [changed, STOP])).toEqual([]);
});

test('a command that got arguments is put into the menu again', async () => {
  const menu = new Menu();
  await register(menu, [STOP]);
  expect(await register(menu, [{ ...STOP, args: '[now]' }])).toEqual(['stop']);
});

test('commands of other names, kinds and options stay as other programs made them', async () => {
  const menu = new Menu();
  const others = [
    { name: 'cook', description: 'what we eat' },
    { name: 'new', description: 'a poll', options: [{ type: 3, name: 'question', description: 'What?', required: true }] },
    { type: 3, name: 'stop', description: '' },
  ].map((command) => menu.put(command));
  expect(await register(menu, [NEW, STOP])).toEqual(['stop']);
  expect([...menu.shown.values()]).toEqual(expect.arrayContaining(others));
});

test('the platform takes five commands at a time: the others follow once it wants them', async () => {
  const menu = new Menu();
  const logger = new MemoryLogger();
  const waits: number[] = [];
  let room = 5;
  const call: Menu['call'] = async (method, route, body) => {
    if (method === 'POST' && room-- <= 0) {
      throw new CallError('POST', { kind: 'limited', retryAfterMs: 19_877, scope: 'chat', detail: 'too many requests (user)' });
    }
    return await menu.call(method, route, body);
  };
  const sleep = async (ms: number): Promise<void> => {
    waits.push(ms);
    room = 5;
  };
  const commands = Array.from({ length: 12 }, (_, n) => ({ name: `c${n}`, summary: 'x' }));
  const { signal } = new AbortController();
  await registerCommands({ call, commands, logger, clock: { ...quickClock(), sleep }, signal });
  expect([menu.posted.length, waits, logger.lines]).toEqual([12, [19_877, 19_877], []]);
});
