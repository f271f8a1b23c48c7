// What the gateway answers in a lane by itself: commands, and that there is no model.
import type { Model } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { End } from '../runs/ended.ts';
import type { CommandPorts } from './commands/command.ts';
import { commandOf, isPrompt, runCommand } from './commands/index.ts';

/** The demo says once an hour per chat that there is no model (ux.md 3, rule 5). */
const DEMO_NOTICE_EVERY_MS = 3_600_000;

export interface OwnAnswersOptions extends CommandPorts {
  readonly model: Pick<Model, 'demo'>;
  /** True where the demo model may speak: the owner's terminal, or by `allow_demo`. */
  readonly demoAllowed: (channel: string) => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** For `RunnerOptions.instead`. */
export class OwnAnswers {
  readonly #options: OwnAnswersOptions;
  readonly #demoNotices = new Map<string, number>();

  constructor(options: OwnAnswersOptions) {
    this.#options = options;
  }

  readonly of = async (row: RunRow, ready: Promise<unknown>, signal: AbortSignal): Promise<End | undefined> => {
    const { message } = row;
    const isMute = this.#options.model.demo && !this.#options.demoAllowed(channelOf(row));
    if (!message) return isMute ? { state: 'DONE', outcome: 'no-model' } : undefined;
    const command = message.kind === 'message' ? commandOf(message) : undefined;
    if (command) await ready;
    // Answered at once when it is sent; here it is what a waiting message was edited to.
    if (command?.kind === 'help') return { state: 'DONE', outcome: 'help', text: command.answer };
    if (command?.kind === 'why') return { state: 'DONE', outcome: 'why', text: await this.#options.why(message) };
    if (command?.kind === 'personal' || (isPrompt(command) && command.kind !== 'pick' && command.kind !== 'new'))
      return {
        state: 'DONE',
        outcome: 'late-command',
        text: 'A command counts when it is sent. Please send this one as a new message.',
      };
    if (command?.kind === 'model' || command?.kind === 'think' || command?.kind === 'new' || command?.kind === 'compact') {
      const text = await runCommand(command, { ...row, message }, this.#options, signal);
      return text === undefined ? { state: 'DONE', outcome: 'not-permitted' } : { state: 'DONE', outcome: command.kind, text };
    }
    return isMute ? this.#withoutModel(row) : undefined;
  };

  #withoutModel(row: RunRow): End {
    const now = this.#options.clock.monotonic();
    const told = this.#demoNotices.get(row.lane);
    if (told !== undefined && now - told < DEMO_NOTICE_EVERY_MS) return { state: 'DONE', outcome: 'no-model' };
    for (const [lane, at] of this.#demoNotices) if (now - at >= DEMO_NOTICE_EVERY_MS) this.#demoNotices.delete(lane);
    this.#demoNotices.set(row.lane, now);
    const text = 'This bot has no AI model yet. Owner: run `gatehouse setup`.';
    return { state: 'DONE', outcome: 'no-model', text };
  }
}
