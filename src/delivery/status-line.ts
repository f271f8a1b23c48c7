/**
 * The words that a chat sees while the model has written nothing yet: what goes on, for how long, and how
 * many tokens it took.
 */
import type { StatusSettings } from '../core/chats.ts';
import type { RunEvent } from '../core/events.ts';
import type { Clock } from '../core/ports.ts';
import { oneLine } from '../lib/one-line.ts';
import { shortCount } from '../lib/short-count.ts';
import { statusWords, WORD_SECS } from '../lib/status-words.ts';

/** Without text of the model for so long, the line is shown (spec D3). */
const QUIET_MS = 2_000;
/** A tool's name is the operator's or a server's to choose. */
const NAME_LENGTH = 40;
/** Of what a tool says of its progress. */
const TEXT_LENGTH = 80;

/**
 * The status of one run. What is newest in the run and matters most is named: a tool, a wait, another model,
 * else a word.
 */
export class StatusLine {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #startedAt: number;
  #quietSince: number;
  /** What is shown of the tools that run now, by their call. */
  readonly #tools = new Map<string, string>();
  #waitsUntil = 0;
  #isRetry = false;
  #isSwitched = false;
  #tokensIn = 0;
  #tokensOut = 0;
  #model = '';
  readonly #settings: StatusSettings;
  readonly #words: readonly string[];

  constructor(clock: Pick<Clock, 'monotonic'>, settings: StatusSettings = {}) {
    this.#clock = clock;
    this.#settings = settings;
    const { greeting } = settings;
    this.#words = [...(greeting === undefined ? [] : [greeting]), ...statusWords(settings)];
    this.#startedAt = clock.monotonic();
    this.#quietSince = this.#startedAt;
  }

  /** Takes every event of the run. */
  observe(event: RunEvent): void {
    const now = this.#clock.monotonic();
    switch (event.type) {
      case 'model.text':
        this.#quietSince = now;
        [this.#isRetry, this.#isSwitched] = [false, false];
        return;
      case 'model.started':
        this.#model = event.model;
        return;
      case 'model.restart':
      case 'model.failed':
        this.#isRetry = true;
        return;
      case 'model.switched':
        this.#isSwitched = true;
        return;
      case 'model.waiting':
        this.#waitsUntil = now + event.waitMs;
        return;
      case 'model.done':
        this.#tokensIn += event.tokensIn;
        this.#tokensOut += event.tokensOut;
        [this.#isRetry, this.#isSwitched] = [false, false];
        return;
      case 'tool.started':
        this.#tools.set(event.callId, nameOf(event.tool));
        return;
      case 'tool.progress':
        // Of a call that is over nothing is shown.
        if (this.#tools.has(event.callId))
          this.#tools.set(event.callId, `${nameOf(event.tool)} ${asCode(event.text, TEXT_LENGTH)}`);
        return;
      case 'tool.done':
      case 'tool.unknown':
        this.#tools.delete(event.callId);
        return;
      default:
    }
  }

  /** Markdown; undefined while the model writes, or has only just stopped. */
  text(): string | undefined {
    const now = this.#clock.monotonic();
    if (now - this.#quietSince < QUIET_MS) return undefined;
    const seconds = Math.floor((now - this.#startedAt) / 1_000);
    const { metrics = true, provider = false } = this.#settings;
    const model = provider && this.#model !== '' ? ` · ${nameOf(this.#model)}` : '';
    const tokens =
      metrics && this.#tokensIn + this.#tokensOut > 0 ? ` · ${shortCount(this.#tokensIn)}↑ ${shortCount(this.#tokensOut)}↓` : '';
    return `${this.#what(now)}… (${seconds}s${model}${tokens})`;
  }

  /** The greeting stands once, the words after it in turn. */
  #word(now: number): string {
    const { greeting, wordSecs = WORD_SECS } = this.#settings;
    const at = Math.floor((now - this.#startedAt) / (wordSecs * 1_000));
    const first = greeting === undefined ? 0 : 1;
    const turns = this.#words.length - first;
    return (at < first || turns <= 0 ? this.#words[at] : this.#words[first + ((at - first) % turns)]) ?? '';
  }

  /** The layers of spec D3, the one that counts most first. */
  #what(now: number): string {
    if (now < this.#waitsUntil) return `⟳ Waiting ${Math.ceil((this.#waitsUntil - now) / 1_000)}s for the model`;
    if (this.#isSwitched) return '⟳ Asking another model';
    if (this.#isRetry) return '⟳ Trying again';
    const [tool, more] = this.#tools.values();
    const others = more === undefined ? '' : ` and ${this.#tools.size - 1} more`;
    if (tool !== undefined) return `⚙ ${tool}${others}`;
    return `✦ ${this.#word(now)}`;
  }
}

function nameOf(tool: string): string {
  return asCode(tool.replace(/\s/g, ''), NAME_LENGTH);
}

/** So that no sign of foreign words is taken for markup. */
function asCode(text: string, length: number): string {
  return `\`${oneLine(text, length).replaceAll('`', '')}\``;
}
