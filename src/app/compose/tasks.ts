// tasks: their limits, where their ends are told, who makes them
import type { Authority } from '../../core/authority.ts';
import { chatKey, isTaskSession } from '../../core/ids.ts';
import type { Address } from '../../core/message.ts';
import type { Task } from '../../core/task.ts';
import type { OpenedJournal } from '../../journal/open.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { KEEP_DAYS } from '../../media/prune-uploads.ts';
import { type ConfiguredLimits, type Profiles, profiles } from '../../runs/profile.ts';
import type { RunnerOptions } from '../../runs/runner-options.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { sessionWorkspacePath } from '../../runs/workspace.ts';
import { TaskBook } from '../../tasks/book.ts';
import { removeGoneTopics } from './gone-topics.ts';
import type { Base, LiveConfig } from './options.ts';

type TasksConfig = LiveConfig['tasks'];

/** The limits of every kind of run, as the config has them now. */
export function profilesOf({ max_iterations: maxIterations, gateway, tasks }: LiveConfig): Profiles {
  return profiles({
    ...(maxIterations === undefined ? {} : { maxIterations }),
    sessionTimeoutMs: gateway.session_timeout_secs * 1_000,
    toolTimeoutMs: gateway.tool_timeout_secs * 1_000,
    ...(gateway.max_output_tokens === undefined ? {} : { maxOutputTokens: gateway.max_output_tokens }),
    task: taskLimits(tasks),
  });
}

function taskLimits(tasks: TasksConfig): NonNullable<ConfiguredLimits['task']> {
  return {
    maxIterations: tasks.max_iterations,
    wallClockMs: tasks.timeout_secs * 1_000,
    stepMs: tasks.step_timeout_secs * 1_000,
    callsRun: tasks.max_parallel_tool_calls,
    ...(tasks.max_tokens === undefined ? {} : { maxTokens: tasks.max_tokens }),
  };
}

/** Tasks of people and programs. `look`: as of `TaskBookOptions`. */
export function taskBook(
  { journal, options, live }: Pick<Base, 'journal' | 'options' | 'live'>,
  look?: () => Promise<void>,
): TaskBook {
  return new TaskBook({
    ...{ journal, clock: options.clock },
    keepDays: () => live().tasks.keep_days,
    // Half of what may wait stays for people.
    reserve: Math.floor(options.config.gateway.high_water / 2),
    ...(look ? { look } : {}),
  });
}

/** Where the end of a task is told that cannot be told where it was asked for (P49). */
export function notifiedIn({ channels, live }: Pick<Base, 'channels' | 'live'>): Pick<RunnerOptions, 'elsewhere' | 'isThere'> {
  return {
    isThere: ({ channel, account }) => channels.channels.get(channel)?.account === account,
    elsewhere(who, not) {
      const address = preferredChat(who, live());
      const account = address && channels.channels.get(address.channel)?.account;
      const found: Address | undefined = address && account !== undefined ? { ...address, account } : undefined;
      return found && chatKey(found) !== chatKey(not) ? found : undefined;
    },
  };
}

/** The chat that a person prefers for news of their tasks. */
function preferredChat(
  { principal, role }: Authority,
  { tasks, gateway }: LiveConfig,
): { readonly channel: string; readonly chatId: string } | undefined {
  const own = Object.hasOwn(tasks.notify, principal) ? tasks.notify[principal] : undefined;
  const chat = own ?? (role === 'owner' ? gateway.owner[0] : undefined);
  return chat && { channel: chat.channel, chatId: chat.chat_id };
}

/**
 * Old rows go, and with a task what it left: its conversation, and its files where no other conversation has
 * them. Rejects with the first failure, when all parts had their turn.
 */
export function pruning(base: Pick<Base, 'options' | 'uploads' | 'journal'>, opened: OpenedJournal, transcripts: Transcripts) {
  const { options, uploads } = base;
  const forget = async ({ session, workspace }: Task): Promise<void> => {
    if (!isTaskSession(session)) return;
    await transcripts.remove(session);
    if (workspace === session) await removeTree(sessionWorkspacePath(options.dataDir, session));
  };
  // By the time that rows age by: the files of people cannot be fetched again, and a clock that is ahead
  // takes none (F22).
  const pruneUploads = async (): Promise<void> => await uploads.prune(await opened.agedBefore(KEEP_DAYS));
  const parts = [() => opened.prune(forget), pruneUploads, () => removeGoneTopics(base)];
  return async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const part of parts) await part().catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
}
