// request -> checked -> the run `api/task.CLIENT/HASH`, in one commit
import type { Authority } from '../core/authority.ts';
import { GatehouseError } from '../core/errors.ts';
import { laneKey, shortHash, taskSession } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import type { NewRun } from '../core/new-run.ts';
import type { Clock } from '../core/ports.ts';
import type { RecordedEvent } from '../core/record.ts';
import { type FollowHow, OPEN_STATUSES, type Task, type TaskQuery, type Tasks } from '../core/task.ts';
import type { TaskRequest } from '../core/task-request.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { visibleText } from '../lib/visible-text.ts';
import { follow } from './follow.ts';

/** Each is paid for: more at once than this is the decision of the owner, and of no model. */
const MOST_AT_ONCE = 20;
/** The client of tasks that a model began. */
const MODEL = 'tool';
const LONGEST_TEXT = 100_000;
const LONGEST_TITLE = 80;
const LONGEST_KEEP_DAYS = 3_650;
const CLIENT = /^[A-Za-z0-9_-]{1,32}$/;

export interface TaskBookOptions {
  readonly journal: Pick<Journal, 'commit' | 'tasks' | 'room' | 'record'>;
  readonly clock: Clock;
  /** Of those that say nothing of it. Asked at each use. */
  readonly keepDays: () => number;
  /** Rows below the high-water mark that tasks leave to people. */
  readonly reserve: number;
  /**
   * Runs were cancelled in the journal: the turns that are under way have to end. Absent = no daemon is here.
   */
  readonly look?: () => Promise<void>;
}

/** See `Tasks`. */
export class TaskBook implements Tasks {
  readonly #options: TaskBookOptions;
  /** Calls side by side count each other. */
  readonly #adding = new KeyedMutex();

  constructor(options: TaskBookOptions) {
    this.#options = options;
  }

  async plan(request: TaskRequest): Promise<NewRun> {
    const run = this.#runOf(request);
    const before = await this.#before(run);
    if (!before) await this.#assertAllowed(request);
    return run;
  }

  add(request: TaskRequest): Promise<Task> {
    return this.#adding.runExclusive(request.authority.principal, () => this.#add(request));
  }

  async #add(request: TaskRequest): Promise<Task> {
    const { journal } = this.#options;
    const run = this.#runOf(request);
    const before = await this.#before(run);
    if (before) return before;
    await this.#assertAllowed(request);
    await journal.commit([{ kind: 'run', run }]);
    const task = await journal.tasks.get(run.key);
    if (task) return task;
    throw wrong('a task with this key was made before, and is kept no more', 'choose a new key for each task');
  }

  list(who: Authority, query: TaskQuery): Promise<readonly Task[]> {
    return this.#options.journal.tasks.list(who.role === 'owner' ? query : { ...query, principal: who.principal });
  }

  async show(who: Authority, words: string): Promise<{ readonly task: Task; readonly children: readonly Task[] }> {
    const task = await this.#find(who, words);
    return { task, children: await this.#options.journal.tasks.children(task.number) };
  }

  async cancel(who: Authority, words: string): Promise<Task> {
    const { journal, look } = this.#options;
    const task = await this.#find(who, words);
    if (!isOpen(task)) return task;
    await journal.commit([{ kind: 'cancel', run: task.key }]);
    await look?.();
    return await this.#find(who, String(task.number));
  }

  async planResume(who: Authority, words: string): Promise<Task> {
    const task = await this.#find(who, words);
    assertMayResume(task);
    // One that is resumed is at work as a new one is.
    if (who.role !== 'owner') await this.#assertFewOpen(task.principal);
    return task;
  }

  async resume(who: Authority, words: string): Promise<Task> {
    const { principal } = await this.#find(who, words);
    return await this.#adding.runExclusive(principal, async () => {
      const task = await this.planResume(who, words);
      await this.#options.journal.commit([{ kind: 'resume', run: task.key }]);
      return await this.#find(who, String(task.number));
    });
  }

  async *follow(who: Authority, words: string, options: FollowHow): AsyncIterable<RecordedEvent> {
    yield* follow(await this.#find(who, words), { ...this.#options, ...options });
  }

  #runOf(request: TaskRequest): NewRun {
    const { client, key, authority, taint = 0, session, replyTo, from, maxTokens, maxIterations } = request;
    const { text, title } = wordsOf(request);
    if (!CLIENT.test(client))
      throw wrong(`${JSON.stringify(client.slice(0, 40))} is no name of a program`, 'use letters and digits');
    const id = shortHash(`${authority.principal}\n${key}`);
    const limits = {
      ...(maxTokens === undefined ? {} : { maxTokens: figure('token budget', maxTokens) }),
      ...(maxIterations === undefined ? {} : { maxIterations: figure('number of model calls', maxIterations) }),
    };
    const { keepDays = this.#options.keepDays() } = request;
    return {
      // A client of the config has no `.` in its name, so that no key of one is a task's.
      key: `api/task.${client}/${id}`,
      source: { kind: 'api', client: `task.${client}` },
      profile: 'task',
      lane: taskLane(id, replyTo),
      session: taskSession(id, session),
      ...(session === undefined ? {} : { workspace: session }),
      prompt: {
        ...{ text, media: [], at: new Date(this.#options.clock.now()).toISOString() },
        ...(Object.keys(limits).length === 0 ? {} : { limits }),
        ...(from ? { from } : {}),
      },
      ...(replyTo ? { replyTo } : {}),
      ...{ authority, taint },
      record: { title, keepDays: Math.min(figure('number of days', keepDays), LONGEST_KEEP_DAYS) },
    };
  }

  async #before(run: NewRun): Promise<Task | undefined> {
    const before = await this.#options.journal.tasks.get(run.key);
    if (before && before.text !== run.prompt.text)
      throw wrong('this key was used for another task', 'choose a new key for each task');
    return before;
  }

  async #assertAllowed({ authority: { role, principal }, client }: TaskRequest): Promise<void> {
    const { journal, reserve } = this.#options;
    if (role === 'guest') throw new GatehouseError('GH1710', 'guests have no tasks', { hint: 'ask the owner' });
    if (journal.room() <= reserve)
      throw new GatehouseError('GH1710', 'so much waits here that people go first', { hint: 'try again later' });
    if (role === 'owner' && client !== MODEL) return;
    await this.#assertFewOpen(principal);
  }

  async #assertFewOpen(principal: string): Promise<void> {
    if ((await this.#options.journal.tasks.countOpen(principal)) < MOST_AT_ONCE) return;
    throw new GatehouseError('GH1710', `a person has at most ${MOST_AT_ONCE} tasks at once`, {
      hint: 'cancel one, or wait until one is over',
    });
  }

  async #find(who: Authority, words: string): Promise<Task> {
    const wanted = words.trim().replace(/^#/, '');
    const number = /^[1-9]\d{0,14}$/.test(wanted) ? Number(wanted) : undefined;
    const task = await this.#options.journal.tasks.get(number ?? wanted);
    // Another person's task is none for them: they are not told that there is one.
    if (task && (who.role === 'owner' || task.principal === who.principal)) return task;
    throw new GatehouseError('GH1003', `there is no task ${wanted.slice(0, 100)}`, {
      hint: '`gatehouse tasks list` and /tasks show what there is',
    });
  }
}

function isOpen({ status }: Pick<Task, 'status'>): boolean {
  return OPEN_STATUSES.includes(status);
}

/** Rejects with GH1711 for a task that did not fail. */
function assertMayResume(task: Task): void {
  if (task.profile !== 'task') throw wrong(`${task.number} is part of task ${task.parent}`, 'resume that one');
  if (task.status !== 'failed')
    throw wrong(`task ${task.number} is ${task.status}, and did not fail`, 'ask for it anew with `gatehouse tasks add` or /task');
}

/**
 * A lane of its own, so that no message waits behind a task. Where it answers in a chat the lane is counted
 * to that chat, and `/stop` there ends it too; `#` is in no lane of a thread.
 */
function taskLane(id: string, to: TaskRequest['replyTo']): string {
  if (!to) return `task/${id}`;
  const { channel, account, chatId } = to;
  return `${laneKey({ channel, account, chatId })}/#task:${id}`;
}

function wordsOf({ text: said, title }: TaskRequest): { readonly text: string; readonly title: string } {
  const text = visibleText(said).trim();
  if (text === '') throw wrong('the task says nothing to do', 'say what to do in a sentence');
  if (text.length > LONGEST_TEXT)
    throw wrong(`a task has at most ${LONGEST_TEXT} characters`, 'put long material into a file and name it');
  return { text, title: titleOf(title ?? text) };
}

function titleOf(words: string): string {
  const line = visibleText(words).replace(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= LONGEST_TITLE ? line || 'unnamed' : `${characters.slice(0, LONGEST_TITLE - 1).join('')}…`;
}

function figure(what: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw wrong(`${value} is no ${what}`, 'name a whole number above 0');
}

function wrong(message: string, hint: string): GatehouseError {
  return new GatehouseError('GH1711', message, { hint });
}
