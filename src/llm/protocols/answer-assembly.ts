/** Puts the one answer of a call together from the chunks of any wire. Knows nothing of sockets and time. */
import type { Json } from '../../core/message.ts';
import type { ModelAnswer, ModelEvent, ModelFailure, StopReason, Usage } from '../../core/model.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { createRepetitionWatch, repetitionStart } from '../../lib/repetition.ts';
import { createFailure, quote } from '../failure.ts';
import { textTokens } from '../tokens.ts';
import { createThinkSplitter, splitOrphanClose } from './think-tags.ts';
import { type CallPiece, createToolCallAssembly, isJson } from './tool-call-assembly.ts';
import { WireFault } from './wire-guard.ts';

export interface AnswerOptions {
  readonly provider: string;
  readonly model: string;
  /** Estimate, used when the provider reports no usage. */
  readonly inputTokens: number;
}

/** What one chunk brought, in the words that all wires share. */
export interface Piece {
  readonly text?: string;
  readonly reasoning?: string;
  /** Why the model refuses; never shown. */
  readonly refusal?: string;
  readonly calls?: readonly CallPiece[];
  /** How the answer ended. The first one counts. */
  readonly finish?: 'stop' | 'length' | 'filtered';
  /** The count of the whole answer. Replaces what was reported before. */
  readonly usage?: Usage;
  /** What is counted while the answer is still written. */
  readonly usageSoFar?: Usage;
  /** The model that the provider says is answering. */
  readonly model?: string;
}

export interface Added {
  readonly events: readonly ModelEvent[];
  /** Something of the answer arrived. `thinking`: of a thought, and nothing that can be shown. */
  readonly progress: boolean | 'thinking';
}

/** A sign of life, and events that say nothing of the answer. */
export const NOTHING: Added = { events: [], progress: false };

/** Of a chunk that belongs to a thought and brings no words of it. */
export const THINKING: Added = { events: [], progress: 'thinking' };

/** Stands where a model got stuck and repeated itself. */
const LOOP_MARK = '[… the model repeated itself; the rest was cut]';

/** More characters than any model writes; each look for a repetition reads all of them. */
const MOST_LOOKED_AT = 1_000_000;
/** Far more than any model makes; each is compared with those before it. */
const MOST_CALLS = 1_000;
const TOO_MANY_CALLS = createFailure('malformed', {
  message: `more than ${MOST_CALLS} tool calls in one answer`,
  retryable: false,
});

/** Feed it with `add`, then call `end` once. */
export class AnswerAssembly {
  readonly #options: AnswerOptions;
  readonly #splitter = createThinkSplitter();
  readonly #tools = createToolCallAssembly();
  readonly #repetition = createRepetitionWatch();
  #text = '';
  #reasoning = '';
  #refusal = '';
  #finish: Piece['finish'];
  #usage: Usage | undefined;
  #usageSoFar: Usage | undefined;
  #servedModel: string | undefined;
  #loopEnd: number | undefined;
  #pieces = 0;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** The provider said how the answer ended; only the usage may still come. */
  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /** The model repeats itself: break the stream off, the answer is what came before. */
  get looping(): boolean {
    return this.#loopEnd !== undefined;
  }

  add(piece: Piece): Added {
    this.#pieces += 1;
    const { text = '', reasoning = '', refusal = '', calls = [], finish, usage, usageSoFar, model } = piece;
    const events: ModelEvent[] = [];
    this.#refusal += refusal;
    this.#usage = usage ?? this.#usage;
    this.#usageSoFar = usageSoFar ?? this.#usageSoFar;
    this.#servedModel = model ?? this.#servedModel;
    if (reasoning) this.#take({ text: '', reasoning }, events);
    if (text) this.#take(this.#splitter.push(text), events);
    let progress = text + reasoning + refusal !== '' || usage !== undefined || finish !== undefined;
    for (const call of calls) {
      progress = this.#tools.add(call) || progress;
      if (this.#tools.size > MOST_CALLS) throw new WireFault(TOO_MANY_CALLS);
    }
    this.#finish ??= finish;
    return { events, progress };
  }

  /** What is billed so far: the provider's count, else an estimate. Undefined before anything arrived. */
  get usage(): Usage | undefined {
    if (this.#usage?.tokensOut) return this.#usage;
    if (this.#pieces === 0) return undefined;
    const written = textTokens(this.#text + this.#reasoning + this.#refusal + this.#tools.text);
    const counted = this.#usage ?? this.#usageSoFar ?? { tokensIn: this.#options.inputTokens, tokensOut: 0, tokensCached: 0 };
    return { ...counted, tokensOut: Math.max(counted.tokensOut, written) };
  }

  /**
   * Last events of the call: `done` or `failed`, perhaps after a `restart` that corrects the streamed text.
   * `state` is what the provider wants back with this answer.
   */
  end(state?: Json): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    this.#take(this.#splitter.flush(), events);
    if (this.#repetition.flush()) this.#noteLoop();
    const failed = this.#brokenOff();
    if (failed) return [...events, this.#failed(failed)];
    // Also what is taken back below was written, and is billed.
    const usage = this.usage;
    const streamed = this.#text;
    if (this.#loopEnd !== undefined) this.#text = `${streamed.slice(0, this.#loopEnd).trimEnd()} ${LOOP_MARK}`;
    const orphan = splitOrphanClose(this.#text);
    if (orphan.reasoning) {
      this.#text = orphan.text;
      this.#reasoning += orphan.reasoning;
    }
    // Keeps the promise that the texts after the last restart make up the answer's text.
    if (this.#text !== streamed) {
      events.push({ type: 'restart', reason: this.looping ? 'repetition' : 'reasoning' });
      if (this.#text) events.push({ type: 'text', text: this.#text });
    }
    const result = this.#answer(usage, state);
    events.push('kind' in result ? this.#failed(result) : { type: 'done', answer: result });
    return events;
  }

  #failed(failure: ModelFailure): ModelEvent {
    const { usage } = this;
    return { type: 'failed', failure: usage ? { ...failure, usage } : failure };
  }

  #take(split: { text: string; reasoning: string }, events: ModelEvent[]): void {
    if (split.reasoning) {
      this.#reasoning += split.reasoning;
      events.push({ type: 'reasoning', text: split.reasoning });
    }
    if (!split.text) return;
    this.#text += split.text;
    events.push({ type: 'text', text: split.text });
    if (this.#repetition.push(split.text)) this.#noteLoop();
  }

  /** Arguments of a tool repeat themselves for good reasons; once there are any, text is not looked at. */
  #noteLoop(): void {
    if (this.#tools.size === 0 && this.#text.length < MOST_LOOKED_AT) this.#loopEnd = repetitionStart(this.#text);
  }

  #brokenOff(): ModelFailure | undefined {
    if (this.#finish === 'filtered') return createFailure('content-filter', { message: 'the provider withheld the answer' });
    if (this.finished || this.looping) return undefined;
    const when = this.#pieces === 0 ? 'before anything arrived' : 'without a finish reason';
    return createFailure('malformed', { message: `the stream ended ${when}` });
  }

  #answer(usage: Usage | undefined, state: Json | undefined): ModelAnswer | ModelFailure {
    const { provider, model, inputTokens } = this.#options;
    const toolCalls = this.#tools.finish();
    if (!toolCalls) return createFailure('malformed', { message: 'a tool call arrived without a name' });
    // With the limit reached, arguments that are not whole JSON were cut: the same request would be cut
    // again.
    if (this.#finish === 'length' && !toolCalls.every(({ arguments: text }) => isJson(text))) {
      return createFailure('malformed', {
        message: 'the output limit cut the arguments of a tool call',
        hint: 'raise gateway.max_output_tokens',
        retryable: false,
      });
    }
    if (this.#text.trim() === '' && toolCalls.length === 0) return this.#empty();
    const served = this.#servedModel;
    return {
      text: this.#text,
      ...(this.#reasoning ? { reasoning: this.#reasoning } : {}),
      toolCalls,
      stop: stopReason(this.#finish, toolCalls.length),
      usage: usage ?? { tokensIn: inputTokens, tokensOut: 0, tokensCached: 0 },
      provider,
      model,
      ...(served === undefined || served === model ? {} : { servedModel: served }),
      ...(state === undefined || isDeep(state) ? {} : { providerState: { provider, model, data: state } }),
    };
  }

  #empty(): ModelFailure {
    if (this.#refusal) return createFailure('content-filter', { message: 'the model refused' });
    const what = this.#reasoning ? 'only reasoning and no answer' : 'nothing';
    const cut = this.#finish === 'length';
    return createFailure('empty', {
      message: `the model returned ${what} (finish reason ${quote(this.#finish ?? 'none')})`,
      // The same request with the same limit would end the same way, and be billed again.
      ...(cut ? { code: 'GH2119', retryable: false } : {}),
    });
  }
}

/** Tool calls decide: servers say `stop` or `length` with whole tool calls present. */
function stopReason(finish: Piece['finish'], toolCalls: number): StopReason {
  if (toolCalls > 0) return 'tools';
  return finish === 'length' ? 'length' : 'end';
}
