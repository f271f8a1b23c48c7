import { type ModelServer, startModelServer, stream, textPieces, userText } from '../model-server.ts';
import { SLOW_FROM } from './flood.ts';
import { answerTo } from './traffic.ts';

/** Of what is slow whatever its channel. */
const SLOW_MS = 20_000;

/** An OpenAI-compatible server that answers by the question alone, and takes its time by the channel. */
export class LoadModel implements AsyncDisposable {
  readonly #server: ModelServer;
  readonly #answers: ReadonlySet<string>;
  readonly #slow: Map<string, number>;

  constructor(server: ModelServer, answers: ReadonlySet<string>, slow: Map<string, number>) {
    this.#server = server;
    this.#answers = answers;
    this.#slow = slow;
  }

  static async start(latencyMs: number): Promise<LoadModel> {
    const answers = new Set<string>();
    const slow = new Map<string, number>();
    const server = await startModelServer({
      record: false,
      script: (request) => {
        const asked = answerTo(userText(request));
        if (!asked) return undefined;
        answers.add(asked.answer);
        return stream([textPieces(asked.answer).join('')], {
          latencyMs: asked.number >= SLOW_FROM ? SLOW_MS : (slow.get(asked.channel) ?? latencyMs),
        });
      },
    });
    return new LoadModel(server, answers, slow);
  }

  get baseUrl(): string {
    return `${this.#server.url}/v1`;
  }

  /** Calls from now on take so long for questions of this channel; undefined = as for all others. */
  slow(channel: string, ms: number | undefined): void {
    if (ms === undefined) this.#slow.delete(channel);
    else this.#slow.set(channel, ms);
  }

  /** Whether it was asked this. */
  wasAsked(question: string): boolean {
    return this.#answers.has(answerTo(question)?.answer ?? '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
