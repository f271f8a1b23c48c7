// facts -> the hooks of that event, one after the other -> allowed, replaced or denied
import { errorText } from '../core/errors.ts';
import type { HookAnswer, HookEvent, HookFacts, Hooks } from '../core/hooks.ts';
import type { Logger } from '../core/ports.ts';
import type { Exit, Spawn, Spawner } from '../core/process.ts';
import { entryFits } from '../core/tool-groups.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';

/** A hook that failed so often in a row is not asked any more (spec G4). */
const MAX_FAILURES = 3;
/** Of what a hook says. Bytes. */
const OUTPUT_BYTES = 1024 * 1024;
/** Of the reason that the model and the log are given. UTF-16 units. */
const REASON_CHARS = 500;
/** Hooks that are told something at once, and those that may wait for it. */
const TOLD_AT_ONCE = 4;
const MAX_WAITING = 1_000;
/**
 * Hooks that run at once. The worker keeps this many places for them. The time limit of a hook begins when it
 * starts, not while it waits.
 */
const AT_ONCE = 16;

/** One hook of the config or of a plugin. */
export interface HookSettings {
  /** Where it is said. Default: `hooks[N]`, by its place in the list. */
  readonly key?: string;
  readonly event: HookEvent;
  /** Program and arguments; no shell. A leading `~` is the home directory. */
  readonly command: readonly string[];
  readonly timeoutMs: number;
  /** Entries as those of a policy; empty = every tool. */
  readonly toolFilter: readonly string[];
  /** What a hook that fails comes to. One with `deny` is never disabled. */
  readonly onError: 'allow' | 'deny';
}

export interface HookRunnerOptions {
  /** Asked at each use, so that a changed config holds at once. */
  readonly settings: () => readonly HookSettings[];
  readonly spawner: Pick<Spawner, 'run'>;
  /** Absolute; hooks run there. */
  readonly cwd: string;
  /** The whole environment of a hook. */
  readonly env: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

interface Hook extends HookSettings {
  readonly key: string;
  /** The same as long as the config says the same. */
  readonly id: string;
}

/** Runs the hooks of the config as programs: facts as JSON on stdin, the answer as exit code and stdout. */
export class HookRunner implements Hooks {
  readonly #options: HookRunnerOptions;
  /** Failures in a row, by the id of the hook. */
  readonly #failures = new Map<string, number>();
  readonly #running = new BoundedQueue(AT_ONCE);
  readonly #telling = new BoundedQueue(TOLD_AT_ONCE);
  #waiting = 0;

  constructor(options: HookRunnerOptions) {
    this.#options = options;
  }

  has(event: HookEvent): boolean {
    return this.#options.settings().some((hook) => hook.event === event);
  }

  async ask(facts: HookFacts, signal: AbortSignal): Promise<HookAnswer> {
    for (const hook of this.#hooksFor(facts)) {
      const answer = await this.#askOne(hook, facts, signal);
      if (answer.kind !== 'allow') return answer;
    }
    return { kind: 'allow' };
  }

  tell(facts: HookFacts): void {
    for (const hook of this.#hooksFor(facts)) {
      if (this.#waiting >= MAX_WAITING) {
        this.#options.logger.warn('hook.not-told', { hook: hook.key, event: facts.event, detail: 'too many wait to be told' });
        continue;
      }
      this.#waiting += 1;
      void this.#telling.run(async () => {
        try {
          await this.#askOne(hook, facts, new AbortController().signal);
        } finally {
          this.#waiting -= 1;
        }
      });
    }
  }

  #hooksFor({ event, tool_name: tool }: HookFacts): readonly Hook[] {
    return this.#options
      .settings()
      .map((hook, at) => ({ ...hook, key: hook.key ?? `hooks[${at}]`, id: JSON.stringify(hook) }))
      .filter(
        (hook) =>
          hook.event === event &&
          (tool === undefined || hook.toolFilter.length === 0 || hook.toolFilter.some((entry) => entryFits(entry, tool))) &&
          (hook.onError === 'deny' || (this.#failures.get(hook.id) ?? 0) < MAX_FAILURES),
      );
  }

  async #askOne(hook: Hook, facts: HookFacts, signal: AbortSignal): Promise<HookAnswer> {
    let read: HookAnswer | { readonly problem: string };
    try {
      read = answerOf(await this.#run(hook, facts, signal), hook, facts.event);
    } catch (error) {
      signal.throwIfAborted();
      read = { problem: errorText(error) };
    }
    if (!('problem' in read)) {
      this.#failures.delete(hook.id);
      return read;
    }
    return this.#failed(hook, read.problem);
  }

  #failed(hook: Hook, problem: string): HookAnswer {
    const failures = (this.#failures.get(hook.id) ?? 0) + 1;
    this.#failures.set(hook.id, failures);
    const about = { hook: hook.key, event: hook.event, program: hook.command[0] ?? '', detail: problem, failures };
    if (hook.onError === 'deny') {
      this.#options.logger.warn('hook.failed', { ...about, result: 'denied' });
      return { kind: 'deny', reason: 'a hook of the operator failed', key: hook.key };
    }
    this.#options.logger.warn(failures < MAX_FAILURES ? 'hook.failed' : 'hook.disabled', { ...about, result: 'allowed' });
    return { kind: 'allow' };
  }

  async #run({ command, timeoutMs }: Hook, facts: HookFacts, signal: AbortSignal): Promise<Exit> {
    const { spawner, cwd, env } = this.#options;
    const home = env['HOME'] ?? '~';
    const argv = command.map((word) => (word === '~' || word.startsWith('~/') ? `${home}${word.slice(1)}` : word));
    const limits = { timeoutMs, outputBytes: OUTPUT_BYTES };
    const stdin = `${JSON.stringify(facts)}\n`;
    const program: Spawn = { argv, cwd, env, stdin, limits, sandbox: 'trusted', network: true, owner: 'daemon' };
    return await this.#running.run(() => spawner.run(program, signal), signal);
  }
}

/** Exit 0 allows, 1 refuses where it can, 2 replaces a call's arguments; all else is a failure (spec G4). */
function answerOf(exit: Exit, { key }: Hook, event: HookEvent): HookAnswer | { readonly problem: string } {
  const said = exit.out.trim();
  const isAsked = event.startsWith('before_') || event === 'message_in';
  // A shell that was told to end may still say how.
  if (exit.timedOut) return { problem: ENDED };
  if (exit.code === 0) return { kind: 'allow' };
  if (exit.code === 1 && isAsked)
    return { kind: 'deny', reason: said === '' ? 'it gave no reason' : said.slice(0, REASON_CHARS), key };
  if (exit.code === 2 && event === 'before_tool_call') {
    const isWhole = exit.cut === 0 && isObject(said);
    return isWhole ? { kind: 'replace', args: said } : { problem: 'exit code 2, and what it printed is no JSON object' };
  }
  if (exit.code === null) return { problem: ENDED };
  return { problem: `exit code ${exit.code}: ${exit.err.trim().slice(0, REASON_CHARS)}` };
}

const ENDED = 'it was ended: its time was over, or a signal came';

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
