/** Voice notes in groups, on the daemon with everything real but platform, model and transcriber. */
import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import type { AudioFile, Transcriber } from '../core/media-models.ts';
import type { InboundMessage, MediaRef } from '../core/message.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { recordEvents, tempDir, until } from '../testing/fakes.ts';
import { type Script, type ScriptedModel, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const GROUP = 'group-1';
const VOICE: MediaRef = { kind: 'voice', ref: 'v', mime: 'audio/ogg' };
const OPEN = { allowed_senders: ['ada'], allowed_groups: [GROUP], group_patterns: ['\\brobot\\b'], group_voice: true };

let dir: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  dir = await tempDir();
});
afterEach(async () => {
  await dir[Symbol.asyncDispose]();
});

class Scene {
  readonly channel = new TestChannel('test');
  readonly model: ScriptedModel;
  readonly asked: ModelCallContext[] = [];
  readonly events: RunEvent[] = [];
  /** What is said in the next voice notes. */
  readonly says: (string | Error | ((signal: AbortSignal) => Promise<string>))[] = [];
  heard = 0;

  constructor(script: Script = (request) => `echo: ${request.messages.at(-1)?.content}`) {
    this.model = scriptedModel(script);
    this.channel.files.set('v', Buffer.from('OggS sound'));
  }

  async start(entry: Record<string, unknown> = {}, clock: Clock = systemClock): Promise<TestDaemon> {
    const { emit, events } = recordEvents();
    const transcriber = (context: ModelCallContext): Transcriber => {
      this.asked.push(context);
      return { id: 'test/ear', transcribe: (file, signal) => this.#hear(file, signal) };
    };
    const stack = async () => ({ model: this.model, transcriber, [Symbol.asyncDispose]: async () => undefined });
    const observe = (event: RunEvent): void => {
      emit(event);
      this.events.push(...events.splice(0));
    };
    return await testDaemon({
      ...{ dataDir: dir.path, model: this.model, channel: this.channel, entry: { ...OPEN, ...entry } },
      daemon: { model: stack, observe, clock },
    });
  }

  async #hear(_file: AudioFile, signal: AbortSignal): Promise<string> {
    this.heard += 1;
    const said = this.says.shift() ?? '';
    if (said instanceof Error) throw said;
    return typeof said === 'string' ? said : await said(signal);
  }

  async say(words: Scene['says'][number], override: Partial<InboundMessage> = {}): Promise<void> {
    this.says.push(words);
    await this.write('', { media: [VOICE], ...override });
  }

  /** Resolves when it is listened to, which ends with the daemon or the turn. */
  async sayWithoutEnd(): Promise<void> {
    await this.say(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    );
    await until('it listens', () => this.heard === 1);
  }

  /** A process that ends before it understood what was said; what it fetched stays. */
  async endWhileListening(entry: Record<string, unknown> = {}, meanwhile = async (): Promise<void> => undefined): Promise<void> {
    await using rig = await this.start(entry);
    await this.sayWithoutEnd();
    await meanwhile();
    await rig.daemon.close({ turnsMs: 0, deliveryMs: 0 });
    expect(await this.recordings()).toHaveLength(1);
  }

  /** A message that does not wait for what is listened to. */
  async answerBeside(): Promise<void> {
    await this.write('robot, what time is it?', { mentionsBot: true });
    await until('it is answered beside', () => this.channel.texts(GROUP).length === 1);
  }

  async write(text: string, override: Partial<InboundMessage> = {}): Promise<void> {
    await this.channel.deliver({ chatId: GROUP, isGroup: true, senderId: 'ada', senderName: 'Ada', text, ...override });
  }

  outcomes(): string[] {
    return this.events.flatMap((event) => (event.type === 'finished' ? [event.outcome] : []));
  }

  async recordings(): Promise<string[]> {
    const names = await readdir(dir.path, { recursive: true });
    return names.filter((name) => /\/uploads\/[^/]+$/.test(name));
  }
}

test('a voice note that says the name of the agent is answered in a group that wants to be mentioned, and transcribed once', async () => {
  const at = new Scene();
  await using rig = await at.start();
  await at.say('Hey Robot, what time is it?');
  await rig.daemon.gateway.idle();
  const [path] = await at.recordings();
  expect(path).toMatch(/\.ogg$/);
  expect(at.channel.texts(GROUP)[0]?.split('\n')).toEqual([
    'echo: [from Ada] ',
    '[Voice transcription: Hey Robot, what time is it?]',
    expect.stringMatching(/^\[Voice note: uploads\/\w+\.ogg \(audio\/ogg, 10 bytes\)\]$/),
  ]);
  expect(at.heard).toBe(1);
  expect(at.asked[0]).toMatchObject({ channel: 'test', sender: 'test:ada', purpose: 'transcription' });
  expect(at.outcomes()).toEqual(['answered']);
});

test('one that does not is neither answered nor shown to the model; its outcome is recorded and its recording removed', async () => {
  const at = new Scene();
  await using rig = await at.start();
  await at.say('see you at eight');
  await rig.daemon.gateway.idle();
  expect(at.model.requests).toEqual([]);
  expect(at.channel.sent).toEqual([]);
  expect(at.outcomes()).toEqual(['not-mentioned']);
  expect(await at.recordings()).toEqual([]);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, DONE: 1, DEAD: 0 });
});

test('what was said and written before is background of the first that names the agent, and of no second', async () => {
  const at = new Scene();
  await using rig = await at.start();
  await at.write('shall we meet?');
  await at.say('at eight');
  await at.say('robot, when do we meet?');
  await at.say('robot, thanks');
  await rig.daemon.gateway.idle();
  const [first, second] = at.model.requests.map(({ messages }) => messages.at(-1)?.content.split('\n') ?? []);
  expect(first?.slice(0, 4)).toEqual([
    '[said in this group since you last spoke, not to you:',
    '  [from Ada] shall we meet?',
    '  [from Ada] (by voice) at eight',
    ']',
  ]);
  expect(second?.[0]).toBe('[from Ada] ');
});

test.each<[why: string, entry: Record<string, unknown>, message: Partial<InboundMessage>, outcome: string[]]>([
  ['the config does not ask for it', { group_voice: false }, {}, []],
  ['the group is not allowed', { allowed_groups: ['other'] }, {}, []],
  ['a stranger speaks', {}, { senderId: 'mallory' }, []],
  ['it is music and no voice note', {}, { media: [{ ...VOICE, kind: 'audio' }] }, []],
  ['the adapter refuses the author', {}, { refusal: 'bot-author' }, []],
  ['it is a correction of an earlier message', {}, { kind: 'edit', targetId: 'm0' }, []],
])('A4 nothing is fetched or paid for when %s', async (_why, entry, message, outcome) => {
  const at = new Scene();
  await using rig = await at.start(entry);
  await at.say('robot, what time is it?', message);
  await rig.daemon.gateway.idle();
  expect([at.heard, at.model.requests.length, at.outcomes()]).toEqual([0, 0, outcome]);
  expect(at.channel.sent).toEqual([]);
});

test('one that is addressed in writing, by a reply, or in a group that answers everything, does not wait for its words', async () => {
  const at = new Scene();
  at.channel.files.set('v', Buffer.from('no sound at all'));
  await using rig = await at.start();
  await at.say('', { mentionsBot: true });
  await at.say('', { replyTo: { platformId: 'p1', fromBot: true } });
  await rig.daemon.gateway.idle();
  expect(at.outcomes()).toEqual(['answered', 'answered']);
});

test('F39 a recording that cannot be fetched, is none, or is not understood is recorded as not heard, and the operator is told', async () => {
  const at = new Scene();
  at.channel.files.set('none', Buffer.from('<html>'));
  await using rig = await at.start();
  await at.write('', { media: [{ ...VOICE, ref: 'gone' }] });
  await at.write('', { media: [{ ...VOICE, ref: 'none' }] });
  await at.say(new Error('overloaded'));
  await rig.daemon.gateway.idle();
  expect(at.outcomes()).toEqual(['not-heard', 'not-heard', 'not-heard']);
  expect(at.channel.sent).toEqual([]);
  expect(at.events.flatMap((event) => (event.type === 'failed' ? [event.code] : []))).toEqual(['GH1505', 'GH2114', 'GH2114']);
  expect(await at.recordings()).toEqual([]);
});

test('F39 of two voice notes the one that names the agent is enough, and one that is not understood leaves it open', async () => {
  const at = new Scene();
  await using rig = await at.start();
  const media = [VOICE, { ...VOICE, ref: 'gone' }];
  await at.say('robot, are you there?', { media });
  await at.say('see you at eight', { media });
  await rig.daemon.gateway.idle();
  expect(at.outcomes()).toEqual(['answered', 'not-heard']);
});

test('F3 one that was being listened to when the process ended is listened to again, and its words are not paid for twice', async () => {
  const at = new Scene();
  await at.endWhileListening();
  at.says.push('robot, are you there?');
  await using rig = await at.start();
  await until('it is answered', () => at.channel.texts(GROUP).length === 1);
  await rig.daemon.gateway.idle();
  expect(at.heard).toBe(2);
  expect(at.outcomes()).toEqual(['answered']);
  // A shutdown is no attempt that failed.
  expect(at.events.flatMap((event) => (event.type === 'started' ? [event.attempt] : []))).toEqual([1]);
});

test('one whose caption is edited before it was listened to is answered if the new words address the agent, and only then', async () => {
  const at = new Scene();
  await using rig = await at.start();
  let go: (words: string) => void = () => undefined;
  at.says.push(() => new Promise((resolve) => (go = resolve)));
  await at.write('', { media: [VOICE], platformId: '1' });
  await until('it listens', () => at.heard === 1);
  for (const platformId of ['2', '3']) await at.say('nothing of note', { text: 'please listen', platformId });
  await at.write('summarise this', { platformId: '2e', kind: 'edit', targetId: '2', mentionsBot: true });
  await at.write('never mind', { platformId: '3e', kind: 'edit', targetId: '3' });
  go('nothing either');
  await rig.daemon.gateway.idle();
  expect(at.outcomes()).toEqual(['not-mentioned', 'answered', 'not-mentioned']);
  expect(at.model.requests.map(({ messages }) => messages.at(-1)?.content.split('\n').slice(0, 2))).toEqual([
    ['[from Ada] summarise this', '[Voice transcription: nothing of note]'],
  ]);
});

test('/stop ends the listening, and nobody is answered', async () => {
  const at = new Scene();
  await using rig = await at.start();
  await at.sayWithoutEnd();
  await at.write('/stop', { mentionsBot: true });
  await rig.daemon.gateway.idle();
  expect(at.model.requests).toEqual([]);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0 });
  expect(await at.recordings()).toEqual([]);
});

test('what an attempt left that the end of the process interrupted is removed, also when it cannot be fetched again', async () => {
  const at = new Scene();
  await at.endWhileListening();
  at.channel.files.clear();
  await using rig = await at.start();
  await rig.daemon.gateway.idle();
  expect(at.outcomes()).toEqual(['not-heard']);
  expect(await at.recordings()).toEqual([]);
});

/** The clock of the day after. */
async function afterADay(): Promise<Clock> {
  const { monotonic, sleep } = systemClock;
  const later = (hours: number): Clock => ({ now: () => systemClock.now() + hours * 3_600_000, monotonic, sleep });
  // A clock that is suddenly a day ahead would make nothing too old: the hours pass under housekeeping.
  for (const hours of [12, 24]) {
    await using opened = await openJournal({ dir: dir.path, clock: later(hours) });
    await opened.prune();
  }
  return later(25);
}

test('one that grew too old before it was listened to is given up without a word to the group, and its recording is removed', async () => {
  const at = new Scene();
  await at.endWhileListening();
  await using rig = await at.start({}, await afterADay());
  await rig.daemon.gateway.idle();
  expect(at.channel.sent).toEqual([]);
  expect(await rig.daemon.journal.dead.list()).toEqual([]);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, DONE: 1, DEAD: 0 });
  expect(at.heard).toBe(1);
  expect(await at.recordings()).toEqual([]);
});

test('one that grew too old is given up without a word also where a message was answered beside it', async () => {
  const at = new Scene();
  await at.endWhileListening({ queue_mode: 'speculative' }, () => at.answerBeside());
  await using rig = await at.start({}, await afterADay());
  await rig.daemon.gateway.idle();
  expect(at.channel.texts(GROUP)).toHaveLength(1);
  expect(await rig.daemon.journal.dead.list()).toEqual([]);
  expect(await at.recordings()).toEqual([]);
});

test('one whose answer had begun goes on after a restart, also where it cannot be fetched any more', async () => {
  const list = { toolCalls: [{ name: 'list_dir', arguments: { path: '.' } }] };
  const at = new Scene([list, { hang: true }, 'done']);
  {
    await using rig = await at.start();
    await at.say('robot, look around');
    await until('the second call', () => at.model.requests.length === 2);
    await rig.daemon.close({ turnsMs: 0, deliveryMs: 0 });
  }
  at.channel.files.clear();
  await using rig = await at.start();
  await rig.daemon.gateway.idle();
  expect([at.outcomes(), at.channel.texts(GROUP)]).toEqual([['answered'], ['done']]);
  expect(at.heard).toBe(1);
});

test('one that was listened to when the process ended is judged by its words, also where a message was answered beside it', async () => {
  const at = new Scene();
  const entry = { queue_mode: 'speculative' };
  await at.endWhileListening(entry, () => at.answerBeside());
  at.says.push('see you at eight');
  await using rig = await at.start(entry);
  await rig.daemon.gateway.idle();
  expect(at.channel.texts(GROUP)).toHaveLength(1);
  expect(at.outcomes()).toEqual(['answered', 'not-mentioned']);
});

test('one whose answer waits before it has begun goes on after that, also where it cannot be fetched any more', async () => {
  const wait = (): ScriptStep => {
    at.channel.files.clear();
    const late = { ok: true, output: 'allow' };
    return { events: [{ type: 'wait', wait: { kind: 'signal', about: 'a yes', due: Date.now() + 20, late } }] };
  };
  const at = new Scene([wait, 'done']);
  await using rig = await at.start();
  await at.say('robot, think');
  await until('it goes on', () => at.outcomes().length > 0);
  await rig.daemon.gateway.idle();
  expect([at.outcomes(), at.channel.texts(GROUP)]).toEqual([['answered'], [expect.stringMatching(/^done/)]]);
});
