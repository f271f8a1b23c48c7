// ask -> the run `api/NAME/KEY`, in one commit -> its end, or what it waits for -> the client
import { z } from 'zod';
import { type Authority, PRIVATE, UNTRUSTED } from '../../core/authority.ts';
import type { Emit, RunEvent } from '../../core/events.ts';
import type { Journal } from '../../core/journal.ts';
import { clientLane, clientPrincipal, clientRunKey, clientSession } from '../../core/mcp-client.ts';
import type { NewRun } from '../../core/new-run.ts';
import type { Clock } from '../../core/ports.ts';
import type { PromptedRun } from '../../core/prompted-run.ts';
import { OF_PEOPLE } from '../../core/wait.ts';
import { mark, words } from '../../lib/marks.ts';
import { oneLine } from '../../lib/one-line.ts';
import { startTimer } from '../../lib/timer.ts';
import { waitsForText } from '../../runs/told.ts';
import { CallRefusal, type ClientAnswer, type ClientCall, type ClientTool, clientTool, named, waitSecs } from './client-call.ts';

/** A run may end in a way that this process is not told of, by a command: it is looked at this often. */
const LOOK_MS = 5_000;
/** Longest question of a run that is shown to the client. UTF-16 units. */
const QUESTION_CHARS = 500;
const MOST_CHARS = 500_000;

export interface AsksOptions {
  readonly journal: Pick<Journal, 'commit' | 'prompted' | 'waits' | 'room' | 'load'>;
  /** Called for every event of every run until it is disposed. */
  readonly observe: (observer: Emit) => Disposable;
  /** What became of words that were sent; undefined = the id is not that of any. */
  readonly sent: (id: string, call: ClientCall) => Promise<ClientAnswer | undefined>;
  /** Runs were cancelled in the journal: the turns that are under way have to end. */
  readonly look: () => Promise<void>;
  /** Rows that clients leave to people, and what one client may have waiting. Asked at each use. */
  readonly limits: () => { readonly reserve: number; readonly runs: number; readonly bytes: number };
  readonly clock: Clock;
}

const askSchema = z.strictObject({
  text: z.string().min(1).max(MOST_CHARS).describe('What to do or to answer.'),
  session: named(64).optional().describe('Name of a conversation of yours. Default: one and the same.'),
  key: named(128).optional().describe('Of your choice: a second ask with it is the same ask, and does nothing anew.'),
  wait_secs: waitSecs.optional().describe('Wait no longer than this; the work goes on. Default: until it is over.'),
});

const resultSchema = z.strictObject({
  id: z.string().min(1).max(600).describe('As ask gave it.'),
  wait_secs: waitSecs.default(0).describe('Wait so long for it.'),
});

/** Asks of clients. Nothing of one is kept here: who waits is told from the journal. */
export class Asks {
  readonly #options: AsksOptions;
  /** By key of the run, who waits for it. */
  readonly #listeners = new Map<string, Set<(event: RunEvent) => void>>();
  readonly #observing: Disposable;

  readonly tools: readonly ClientTool[] = [
    clientTool(
      {
        name: 'ask',
        description: 'Ask the agent of this Gatehouse to do or answer something, and wait for its answer.',
        schema: askSchema,
      },
      (args, call) => this.#ask(args, call),
    ),
    clientTool(
      { name: 'result', description: 'What became of an ask, or of words that were sent.', schema: resultSchema },
      ({ id, wait_secs: secs }, call) => this.#result(id, secs, call),
    ),
  ];

  constructor(options: AsksOptions) {
    this.#options = options;
    this.#observing = options.observe((event) => {
      const listeners = event.messageId === undefined ? undefined : this.#listeners.get(event.messageId);
      for (const listener of listeners ?? []) listener(event);
    });
  }

  [Symbol.dispose](): void {
    this.#observing[Symbol.dispose]();
  }

  async #ask(
    { text, session, key = undefined, wait_secs: secs }: z.output<typeof askSchema>,
    call: ClientCall,
  ): Promise<ClientAnswer> {
    const { journal, look } = this.#options;
    const run = this.#runOf({ text: promptOf(call.client, text), session, key: key ?? call.key }, call);
    const before = await journal.prompted.of(run.key);
    if (before && before.text !== run.prompt.text)
      throw new CallRefusal(`the key ${JSON.stringify(key)} was used for another text: choose a new one for each ask`);
    if (!before) {
      this.#checkRoom(call.client, run);
      await journal.commit([{ kind: 'run', run }]);
    }
    try {
      return await this.#answerOf(run.key, secs === undefined ? Number.POSITIVE_INFINITY : secs * 1_000, call);
    } catch (error) {
      if (!call.signal.aborted || call.isGone()) throw error;
      await journal.commit([{ kind: 'cancel', run: run.key }]);
      await look();
      return { text: 'Cancelled.', id: run.key, state: 'cancelled' };
    }
  }

  async #result(id: string, secs: number, call: ClientCall): Promise<ClientAnswer> {
    // Only its own: the key begins with its name, and a name holds no `/`.
    if (!id.startsWith(clientRunKey(call.client, ''))) throw new CallRefusal('no ask of yours has this id');
    return (await this.#options.sent(id, call)) ?? (await this.#answerOf(id, secs * 1_000, call));
  }

  #runOf(
    { text, session, key }: { readonly text: string; readonly session: string | undefined; readonly key: string },
    { client, settings }: ClientCall,
  ): NewRun {
    const { mode, allow, deny, chats } = settings;
    const authority: Authority = {
      ...{ principal: clientPrincipal(client), role: 'member', mode },
      // Those of now: what the config takes away later it takes away as well, and gives nothing more.
      policies: allow.length + deny.length > 0 ? [{ allow, deny }] : [],
    };
    return {
      key: clientRunKey(client, key),
      source: { kind: 'api', client },
      profile: 'session',
      lane: clientLane(client, session),
      session: clientSession(client, session),
      prompt: { text, media: [], at: new Date(this.#options.clock.now()).toISOString() },
      authority,
      // What it may read of people may stand in what it asks.
      taint: UNTRUSTED | (chats.length > 0 ? PRIVATE : 0),
    };
  }

  #checkRoom(client: string, { prompt }: NewRun): void {
    const { journal } = this.#options;
    const { reserve, runs, bytes } = this.#options.limits();
    const load = journal.load('sender', clientPrincipal(client));
    if (load.messages >= runs || load.bytes + prompt.text.length > bytes)
      throw new CallRefusal(`too much of yours waits (${load.messages} asks): ask again when some of it is answered`);
    if (journal.room() <= reserve) throw new CallRefusal('so much waits here that people go first: ask again later');
  }

  /** Rejects with the reason of the call's signal. */
  async #answerOf(id: string, waitMs: number, call: ClientCall): Promise<ClientAnswer> {
    const { journal, clock } = this.#options;
    const until = clock.monotonic() + waitMs;
    using news = this.#listen(id, call);
    for (;;) {
      call.signal.throwIfAborted();
      const run = await journal.prompted.of(id);
      if (!run)
        throw new CallRefusal(
          `nothing is known of ${JSON.stringify(id)} any more: answers are kept for a week, and each key counts once`,
        );
      const known = run.outcome === undefined ? await this.#waitsOf(run, id) : answerIn(run, id);
      if (known) return known;
      const left = until - clock.monotonic();
      if (left <= 0) return { text: 'The agent is still at work: ask for the result later.', id, state: 'running' };
      await news.next(Math.min(left, LOOK_MS));
    }
  }

  /** Undefined = it goes on by itself. */
  async #waitsOf({ seq, state }: PromptedRun, id: string): Promise<ClientAnswer | undefined> {
    if (state !== 'PARKED') return undefined;
    const open = (await this.#options.journal.waits.of(seq)).filter(({ isOpen, kind }) => isOpen && OF_PEOPLE.includes(kind));
    if (open.length === 0) return undefined;
    const asked = open.flatMap(({ question }) => (question ? [`“${oneLine(question.text, QUESTION_CHARS)}”`] : []));
    const what = waitsForText([...new Set(open.map(({ kind }) => kind))]);
    const text = [`This waits for ${what}.`, ...asked, 'It goes on by itself then: ask for the result later.'].join('\n');
    return { text, id, state: 'waiting' };
  }

  #listen(id: string, { signal, progress }: ClientCall): Disposable & { next(ms: number): Promise<void> } {
    let wake: () => void = () => undefined;
    let isNews = false;
    const tell = (): void => {
      isNews = true;
      wake();
    };
    const listener = (event: RunEvent): void => {
      const step = stepOf(event);
      if (step !== undefined) progress?.(step);
      if (event.type === 'finished' || event.type === 'parked') tell();
    };
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    signal.addEventListener('abort', tell, { once: true });
    return {
      next: async (ms) => {
        if (isNews || signal.aborted) {
          isNews = false;
          return;
        }
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const stop = startTimer(this.#options.clock, ms, () => {
          progress?.('at work');
          resolve();
        });
        await promise;
        stop();
        isNews = false;
      },
      [Symbol.dispose]: () => {
        signal.removeEventListener('abort', tell);
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(id);
      },
    };
  }
}

/** What the model reads. It must know that no person has just written. */
function promptOf(client: string, text: string): string {
  return `${mark(`Asked by the program ${client}, an MCP client. No person wrote this.`)}\n\n${words(text)}`;
}

/** Of a run that is over. */
function answerIn({ outcome = '', result }: PromptedRun, id: string): ClientAnswer {
  if (outcome === 'cancelled') return { text: 'It was cancelled.', id, state: 'cancelled', isError: true };
  if (!result) return { text: `It ended without an answer (${outcome}).`, id, state: 'failed', isError: true };
  return result.ok ? { text: result.output, id, state: 'answered' } : { text: result.output, id, state: 'failed', isError: true };
}

/** What is told of a run while it is under way: never words of it. */
function stepOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'started':
      return 'begun';
    case 'model.started':
      return `asks the model (${event.iteration})`;
    case 'tool.started':
      return `uses ${event.tool}`;
    case 'tool.asked':
      return `asks a person about ${event.tool}`;
    default:
      return undefined;
  }
}
